"""Put data sets and their splits into a run's folder; a data set that cannot be had is noted, and the run goes on."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from benchmarks import data
from benchmarks.config import Config
from benchmarks.data.files import replacing
from benchmarks.data.settings import data_folders, default_cache
from benchmarks.data.splits import make_split, source_of
from benchmarks.results import privacy
from benchmarks.study.cost import MEASURED
from benchmarks.study.plan import MIMIC, n_splits, raw_tables, variable

SOURCE = "source.txt"  # beside the splits: released or drawn, which `auto` does not say


def begin(run: Path) -> None:
    """Write config.json as the workflow passes it, and keep the table of costs that the run was expected to have."""
    text, path = os.environ.get(variable(run.name), ""), run / "config.json"
    if not text or (path.is_file() and path.read_text() == text):
        return
    privacy.make_folder(run)
    shutil.copy(MEASURED, run)
    with replacing(path) as part:
        part.write_text(text)


def data_settings(config: Config, run: Path | None = None) -> data.DataSettings:
    """The loaders' settings; with a run's folder, MIMIC is read from what was built there."""
    section = config.data
    built = run is not None and raw_tables(config, run) is not None
    return data.DataSettings(
        folders=data_folders(section.folder),
        cache=Path(section.cache) if section.cache else default_cache(),
        offline=section.offline,
        simulated_n=section.simulated_n,
        seed=config.seed,
        options={key: {"built": f"{run}/mimic3"} for key in MIMIC} if built else {},
    )


def prepare_data(name: str, config: Config, run: Path) -> dict[str, Any]:
    """Write data/<name>.npz and .json; the npz is empty and the JSON says why if the data cannot be had."""
    table = run / "data" / f"{name}.npz"
    try:
        dataset = data.load(name, data_settings(config, run))
    except data.DataUnavailable as error:
        with replacing(table):
            pass
        status: dict[str, Any] = {"dataset": name, "available": False, "why": str(error)}
    else:
        private, summary = data.credentialed(name, dataset.mark), dataset.summary()
        if private:
            os.umask(0o077)
            summary = privacy.coarse_summary(summary)
        dataset.save(table)
        status = {"dataset": name, "available": True, "why": "", "sha256": dataset.sha256(), "source": dataset.source}
        status |= {"mark": dataset.mark, "credentialed": private, "summary": summary}
    with replacing(table.with_suffix(".json")) as part:
        part.write_text(json.dumps(status, indent=1, sort_keys=True))
    privacy.close(run)
    return status


def prepare_splits(name: str, config: Config, run: Path) -> str:
    """Write splits/<name>, whole or not at all; return whose splits they are: released, drawn, or both."""
    dataset = data.Dataset.load(run / "data" / f"{name}.npz")
    folder = run / "splits" / name
    part = folder.with_name(f".{name}.part")
    shutil.rmtree(part, ignore_errors=True)  # of a job that was killed
    numbers = range(1, n_splits(config, name) + 1)
    for number in numbers:
        make_split(dataset, config.split_source, number, seed=config.seed).save(part / f"{number}.npz")
    sources = "+".join(sorted({source_of(name, config.split_source, number) for number in numbers}))
    (part / SOURCE).write_text(sources)
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)
    return sources


def summary_of(run: Path, name: str, config: Config) -> dict[str, Any]:
    """What a data set of the run is, whose splits it was cut by, and by which convention it is scored."""
    from benchmarks.results.files import read_json

    summary: dict[str, Any] = read_json(run / "data" / f"{name}.json", ["summary"])["summary"]
    convention = data.registry.convention_of(name, config.evaluation.convention)
    return summary | {"splits": (run / "splits" / name / SOURCE).read_text(), "convention": convention}
