"""What an artifact committee asks for, each item checked by a validator that is not ours: `make evidence`.

Validators are no part of the environment: each is installed at its pinned version, from wheels alone, into a folder of
its own under .venv/validators. `--full` adds what takes minutes and gigabytes: the dry run with hashes against a plain
registry, and a bare Debian that runs `make quick`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import jsonschema
import yaml

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
VALIDATORS = {
    "cffconvert": "2.0.0",
    "check-jsonschema": "0.39.0",
    "eossr": "2.3.1",
    "mlcroissant": "1.1.1",
    "roc-validator": "0.13.0",
    "rocrate": "0.14.0",  # holds RO-Crate's own context 1.1
    "twine": "7.0.0",
}
DATA_ONLY = ("cffconvert", "eossr", "rocrate")  # of these only a file is read
FROM_SOURCE = {"mlcroissant": "jsonpath-rw"}  # what a validator needs and no registry has a wheel of
# roc-validator with RO-Crate's context from a file, so that it needs no network: CONTEXT validate ...
ROC = """
import json, pathlib, sys
import requests
from rocrate_validator.utils import http

context = json.dumps({"@context": json.loads(pathlib.Path(sys.argv.pop(1)).read_text())["@context"]})
get = http.HttpRequester.__getattr__


def answer(self, name):
    def read(url, *words, **options):
        if str(url) != "https://w3id.org/ro/crate/1.1/context":
            return get(self, name)(url, *words, **options)
        response = requests.Response()
        response.status_code, response.url, response._content = 200, url, context.encode()
        response.headers["Content-Type"] = "application/ld+json"
        return response

    return read if name in ("get", "head", "fetch_fresh") else get(self, name)


http.HttpRequester.__getattr__ = answer
http.HttpRequester.get = lambda self, url, **options: answer(self, "get")(url, **options)
http.HttpRequester.head = lambda self, url, **options: answer(self, "head")(url, **options)
from rocrate_validator.cli import cli

sys.exit(cli())
"""
Check = Callable[[Path], str]
CHECKS: list[tuple[str, str, str, Check, bool]] = []


class Skipped(Exception):
    """The check could not be made here, and why."""


def check(item: str, file: str, validator: str, full: bool = False) -> Callable[[Check], Check]:
    """Add a row; the function returns its result and raises if the file does not hold."""

    def add(function: Check) -> Check:
        CHECKS.append((item, file, validator, function, full))
        return function

    return add


def run(*words: str | Path, cwd: Path = ROOT, **environ: str) -> str:
    """The output of a command; its last lines are the error if it fails."""
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, capture_output=True, text=True, env=os.environ | environ
    )
    if done.returncode:
        raise ValueError(" ".join((done.stdout + done.stderr).strip().splitlines()[-3:]))
    return done.stdout


def our_tests(file: str, words: str) -> None:
    """Run the tests of a file whose names hold these words, joined by `or`; raise if one fails or none was run."""
    run(sys.executable, "-m", "pytest", "-q", f"tests/{file}", "-k", words, "-m", "not slow")


def validator(name: str) -> Path:
    """The folder of an installed validator: an environment, or the unpacked package where only its files are read."""
    folder = ROOT / ".venv" / "validators" / f"{name}-{VALIDATORS[name]}"
    if not (folder / "ready").exists():
        options = ["--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
        if name in DATA_ONLY:
            pip = [sys.executable, "-m", "pip", "install", *options, "--no-deps", "--target", str(folder)]
        else:
            venv.create(folder, with_pip=True, clear=True)
            pip = [str(folder / "bin" / "python"), "-m", "pip", "install", *options]
        if name in FROM_SOURCE:
            pip += ["--no-binary", FROM_SOURCE[name], "pyarrow"]  # pyarrow: what it reads parquet files with
        try:
            run(*pip, f"{name}=={VALIDATORS[name]}")
        except ValueError as error:
            raise Skipped(f"{name}=={VALIDATORS[name]} could not be installed: {error}") from error
        (folder / "ready").touch()
    return folder


@check("Citation", "CITATION.cff", "schema 1.2.0 of cffconvert")
def citation(_: Path) -> str:
    schema = json.loads((validator("cffconvert") / "cffconvert" / "schemas" / "1.2.0" / "schema.json").read_text())
    content = yaml.load((ROOT / "CITATION.cff").read_text(), Loader=yaml.BaseLoader)
    content["preferred-citation"] |= {key: int(content["preferred-citation"][key]) for key in ("year", "volume")}
    jsonschema.Draft7Validator(schema).validate(content)
    return f"valid, version {content['version']}"


@check("Software metadata", "codemeta.json", "terms of codemeta, from eossr")
def codemeta(_: Path) -> str:
    file = validator("eossr") / "eossr" / "metadata" / "schema" / "codemeta.json"
    terms = set(json.loads(file.read_text())["@context"])
    content = json.loads((ROOT / "codemeta.json").read_text())
    unknown = {key for key in content if not key.startswith("@")} - terms
    if unknown:
        raise ValueError(f"no terms of codemeta: {sorted(unknown)}")
    return f"all {len(content)} terms known"


@check("Deposit", ".zenodo.json", "none in the registry; fields by our test")
def zenodo(_: Path) -> str:
    our_tests("workflow/test_metadata.py", "exist or one_place")
    return "fields are those of the deposit interface; not deposited, no DOI"


@check("Trials as data", "results/croissant.json", "mlcroissant")
def croissant(_: Path) -> str:
    run(validator("mlcroissant") / "bin" / "mlcroissant", "validate", "--jsonld", "results/croissant.json")
    read = (
        "import mlcroissant, sys; d = mlcroissant.Dataset(sys.argv[1]); "
        "print(*(f'{r.uuid} {sum(1 for _ in d.records(r.uuid)):,} rows' for r in d.metadata.record_sets), sep=', ')"
    )
    return "valid; " + run(validator("mlcroissant") / "bin" / "python", "-c", read, "results/croissant.json").strip()


def _crate(name: str, folder: Path) -> str:
    """Pack a kept or finished run and validate the crate."""
    run(sys.executable, "-m", "benchmarks", "report", name, "--crate", "--out", folder)
    context = validator("rocrate") / "rocrate" / "data" / "ro-crate.jsonld"
    words = [validator("roc-validator") / "bin" / "python", "-c", ROC, context, "-y", "validate"]
    words += ["--profile-identifier=workflow-run-crate", "--output-format=json", f"--output-file={folder / 'found'}"]
    done = subprocess.run([*words, folder / "crate.zip"], cwd=folder, capture_output=True, text=True)
    if not (folder / "found").exists():
        raise ValueError(done.stdout + done.stderr)
    issues = [issue["message"] for issue in json.loads((folder / "found").read_text())["issues"]]
    if issues or done.returncode:
        raise ValueError("; ".join(issues))
    with zipfile.ZipFile(folder / "crate.zip") as archive:
        return f"valid, {len(archive.namelist())} files"


@check("Provenance", "crate of the reference", "roc-validator")
def crate_of_the_reference(folder: Path) -> str:
    return _crate("reference", folder)


@check("Provenance", "crate of the newest quick run", "roc-validator")
def crate_of_quick(folder: Path) -> str:
    if not (ROOT / "results" / "quick" / "cells.csv").is_file():
        raise Skipped("no results/quick: `make quick` first")
    return _crate("quick", folder)


@check("Provenance", "no credentialed data in a crate", "our test")
def crate_of_mimic(_: Path) -> str:
    our_tests("report/test_crate.py", "credentialed or patient")
    return "none packed"


@check("Package", "wheel and source archive", "two builds compared")
def builds(folder: Path) -> str:
    for name in ("one", "two"):
        run(sys.executable, ".ci/dist.py", "--out", folder / name)
    one, two = ({path.name: path.read_bytes() for path in (folder / name).iterdir()} for name in ("one", "two"))
    if one != two:
        raise ValueError("the builds differ")
    return "same bytes: " + ", ".join(f"{name} {sha256(content).hexdigest()[:12]}" for name, content in one.items())


@check("Package", "their metadata", "twine check --strict")
def package(folder: Path) -> str:
    run(sys.executable, ".ci/dist.py", "--out", folder / "dist")
    out = run(validator("twine") / "bin" / "twine", "--no-color", "check", "--strict", *(folder / "dist").iterdir())
    return f"{out.count('PASSED')} of 2 passed"


@check("Licences", "NOTICE", "our test: soden without scikit-survival")
def licence(_: Path) -> str:
    our_tests("workflow/test_metadata.py", "scikit_survival")
    return "import, fit and predict work with it blocked"


@check("Pins", "requirements*.txt", "our test: every pin a wheel with a hash")
def pins(_: Path) -> str:
    our_tests("workflow/test_packaging.py", "hash or kept_here")
    texts = [path.read_text() for path in ROOT.glob("requirements*.txt")]
    return f"{sum(len(re.findall('--hash=', text)) for text in texts):,} hashes, no setup code"


@check("Workflow", "Snakefile", "snakemake --lint")
def lint(_: Path) -> str:
    run(BIN / "snakemake", "--lint")
    return "clean"


@check("Workflow", "Snakefile, workflow/", "snakefmt --check")
def formatted(_: Path) -> str:
    run(BIN / "snakefmt", "--check", "Snakefile", "workflow")
    return "clean"


@check("Continuous integration", ".github/workflows/ci.yml", "check-jsonschema; not run, there is no forge")
def workflow(_: Path) -> str:
    tool = validator("check-jsonschema") / "bin" / "check-jsonschema"
    run(tool, "--builtin-schema", "vendor.github-workflows", ".github/workflows/ci.yml")
    return "valid"


@check("Install with hashes", "requirements*.txt", "pip, dry run on a plain registry", full=True)
def dry_run(folder: Path) -> str:
    report = folder / "report.json"
    options = ["--dry-run", "--ignore-installed", "--require-hashes", "--no-cache-dir", "--quiet", "--report", report]
    files = [word for name in ("", "-dev", "-torch-cuda") for word in ("-r", f"requirements{name}.txt")]
    run(
        sys.executable, "-m", "pip", "install", *options, *files,
        PIP_CONFIG_FILE=os.devnull, PIP_FIND_LINKS="", PIP_EXTRA_INDEX_URL="", TMPDIR=str(folder),
    )  # fmt: skip
    return f"{len(json.loads(report.read_text())['install'])} packages, every hash right"


@check("Bare machine", "tests/support/bare_machine.sh", "Debian 12, make quick", full=True)
def bare(folder: Path) -> str:
    if os.geteuid():
        raise Skipped("needs root, for chroot")
    return next(
        line for line in run("tests/support/bare_machine.sh", folder / "machine").splitlines() if "Done in" in line
    )


def main() -> None:
    """Make all checks, print the table, exit 1 if one does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="also what takes minutes and gigabytes")
    parser.add_argument("--only", default="", help="items whose name or file matches this pattern")
    args = parser.parse_args()
    failed = False
    print("| item | file | validator | result |\n|---|---|---|---|")
    for item, file, by, function, full in CHECKS:
        if not re.search(args.only, f"{item} {file}"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                result = function(Path(folder)) if args.full or not full else "not asked for: --full"
            except Skipped as why:
                result = f"skipped: {why}"
            except Exception as error:
                result, failed = f"FAILED: {' '.join(str(error).split())}", True
        print(f"| {item} | {file} | {by} | {result} |", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
