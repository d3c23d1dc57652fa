"""A finished run as a Workflow Run RO-Crate (https://w3id.org/ro/wfrun/workflow): what ran, on what, and what came out.

Packed are the workflow, the configuration and the tables of the run. Data, splits, predictions and models are not: data
sets are named by their sha256, so that a crate of a run on MIMIC-III holds aggregates alone.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml

from benchmarks import ROOT
from benchmarks.data.files import replacing
from benchmarks.results.folder import Results
from benchmarks.results.privacy import refuse_credentialed
from soden import __version__

Entity = dict[str, Any]
# The workflow, as it lies in this clone; patterns are relative to it.
SOURCES = [
    "Snakefile",
    "workflow/Snakefile",
    "workflow/**/*.smk",
    "workflow/**/*.rst",
    "workflow/**/*.yaml",
    "config/*",
    "environment.yml",
]
SOURCES += ["requirements*.txt", "LICENSE", "NOTICE", "README.md", "CITATION.cff"]
# The run's results: nothing here has a row of one subject. Whatever is not named is left out.
OUTPUTS = ["trials.parquet", "*.csv", "tables/*", "report.html"]
# Folders of the machine that the run was made on; no reader needs them.
PRIVATE = (("known",), ("data", "folder"), ("data", "cache"), ("data", "mimic", "raw"))
WFRUN, CRATE = "https://w3id.org/ro/wfrun", "https://w3id.org/ro/crate/1.1"
WORKFLOW_CRATE = "https://w3id.org/workflowhub/workflow-ro-crate/1.0"
CONTEXT = [f"{CRATE}/context", {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"}]
PROFILES = (f"{WFRUN}/process/0.5", f"{WFRUN}/workflow/0.5", WORKFLOW_CRATE)
PARAMETER = {"conformsTo": {"@id": "https://bioschemas.org/profiles/FormalParameter/1.0-RELEASE"}}
MEDIA = {".csv": "text/csv", ".html": "text/html", ".json": "application/json", ".md": "text/markdown"}


def write(run: Results, out: Path) -> Path:
    """Write `out`, a zip file whose root is the crate; the same run gives the same bytes."""
    refuse_credentialed(run.path, "no research object is made of it")
    files = read(ROOT, SOURCES) | read(run.path, OUTPUTS, "run/")
    files |= {"run/config.json": _json(published(run.config)), "run/environment.json": _json(run.environment)}
    files["ro-crate-metadata.json"] = _json({"@context": CONTEXT, "@graph": graph(run, files)})
    with replacing(out) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name), files[name], zipfile.ZIP_DEFLATED)
    return out


def read(folder: Path, patterns: Iterable[str], prefix: str = "") -> dict[str, bytes]:
    """The files that match one of the patterns, by their name in the crate."""
    paths = sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})
    return {prefix + path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def published(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration without the paths of the machine it was run on."""
    copy: dict[str, Any] = json.loads(json.dumps(config))
    for *sections, key in PRIVATE:
        part = copy
        for section in sections:
            part = part.get(section, {})
        if part.get(key):
            part[key] = ""
    return copy


def graph(run: Results, files: Mapping[str, bytes]) -> list[Entity]:
    """The entities of ro-crate-metadata.json.

    A run made here has the times of its files. Of a kept run git sets them anew, so it has no times but the date of the
    version that it was published with.
    """
    citation = yaml.safe_load(files["CITATION.cff"])
    licence = named(f"https://spdx.org/licenses/{citation['license']}", "CreativeWork", citation["license"])
    inputs = [dataset(name, note) for name, note in sorted(run.notes.items())]
    versions = sorted(run.environment.get("libraries", {}).items())
    libraries = [named(f"pkg:pypi/{name}@{v}", "SoftwareApplication", name, softwareVersion=v) for name, v in versions]
    kinds = {"config": "File", "datasets": "PropertyValue", "trials": "File"}
    parameters = [named(f"#{n}", "FormalParameter", n, additionalType=kind) | PARAMETER for n, kind in kinds.items()]
    described = [file(name, content) for name, content in sorted(files.items())]
    by_name = {entity["@id"]: entity for entity in described}
    owned = {"license": {"@id": licence["@id"]}, "creator": {"@id": "#authors"}, "author": {"@id": "#authors"}}
    by_name["Snakefile"] |= owned | {
        "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
        "name": "From raw data to the paper's tables and figures",
        "programmingLanguage": {"@id": "#language"},
        "input": refer(parameters[:2]),
        "output": {"@id": "#trials"},
        "version": __version__,
        "conformsTo": {"@id": "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"},
        "softwareRequirements": refer(libraries),
    }
    by_name["README.md"]["about"] = {"@id": "./"}
    by_name["run/config.json"]["exampleOfWork"] = {"@id": "#config"}
    by_name["run/trials.parquet"]["exampleOfWork"] = {"@id": "#trials"}
    results = [by_name[name] for name in by_name if name.startswith("run/") and name != "run/config.json"]
    cost = f"{len(run.trials):,} trials, {run.trials['cpu_seconds'].sum() / 3600:.1f} CPU hours"
    status = "http://schema.org/CompletedActionStatus"
    action = named("#run", "CreateAction", f"Run {run.name}", description=cost, actionStatus=status) | {
        "instrument": {"@id": "Snakefile"},
        "agent": {"@id": "#authors"},
        "object": refer([by_name["run/config.json"], *inputs]),
        "result": refer(results),
    }
    date = str(citation["date-released"])
    if "run/commits.csv" in files:  # a kept run, older than the workflow it is packed with
        action["description"] += "; run/commits.csv names the commits of the code that made them"
    if (run.path / "trials").is_dir():  # it was made here
        times = [path.stat().st_mtime for path in run.path.rglob("*") if path.is_file() and path.suffix != ".zip"]
        date = moment(max(times))
        action |= {"startTime": moment(min(times)), "endTime": date}
    root = named("./", "Dataset", f"SODEN benchmark, run {run.name}", datePublished=date) | {
        "description": "A run of the SODEN paper's benchmark: trials, scores, tests, tables, and the workflow.",
        "publisher": {"@id": "#authors"},
        "conformsTo": [{"@id": profile} for profile in PROFILES],
        "mainEntity": {"@id": "Snakefile"},
        "mentions": {"@id": "#run"},
        "hasPart": refer(described),
    }
    root |= owned
    about = named("ro-crate-metadata.json", "CreativeWork", "RO-Crate metadata")
    about |= {"about": {"@id": "./"}, "conformsTo": [{"@id": CRATE}, {"@id": WORKFLOW_CRATE}]}
    works = [named(url, "CreativeWork", url.split("/")[-2], version=url.split("/")[-1]) for url in PROFILES]
    authors = named("#authors", "Organization", ", ".join(author["name"] for author in citation["authors"]))
    language = named("#language", "ComputerLanguage", "Snakemake", url="https://snakemake.github.io")
    return [about, root, action, authors, language, licence, *works, *parameters, *inputs, *libraries, *described]


def named(identifier: str, kind: str, name: str, **further: str) -> Entity:
    """An entity with a name."""
    return {"@id": identifier, "@type": kind, "name": name} | further


def refer(entities: Iterable[Entity]) -> list[dict[str, str]]:
    """References to these."""
    return [{"@id": entity["@id"]} for entity in entities]


def file(name: str, content: bytes) -> Entity:
    """A packed file."""
    hashed = {"contentSize": str(len(content)), "sha256": sha256(content).hexdigest()}
    return named(name, "File", name, encodingFormat=MEDIA.get(Path(name).suffix, "application/octet-stream"), **hashed)


def dataset(name: str, note: Mapping[str, Any]) -> Entity:
    """A data set that went in: named by its sha256, never packed."""
    said = f"{note['mark'] or 'real'} data, {note.get('summary', {}).get('n', 0):,} subjects; not in this crate"
    entity = named(f"#data-{name}", "PropertyValue", f"sha256 of {name}", value=note["sha256"], description=said)
    return entity | {"exampleOfWork": {"@id": "#datasets"}}


def moment(seconds: float) -> str:
    """A file's time as RO-Crate wants it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _json(content: Any) -> bytes:
    return (json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()
