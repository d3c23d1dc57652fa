"""Read the folder of a finished run into `Results`, from which tables, figures and page are made."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks import ROOT
from benchmarks.data.files import read_npz
from benchmarks.results import KEPT_RUNS
from benchmarks.results.files import damaged, read_any_json, read_csv, read_json, read_parquet
from benchmarks.results.tidy import canonical_g_tau, read_table
from benchmarks.results.types import Chosen

NEEDED = ("config.json", "cells.csv", "scores.csv", "tests.csv", "trials.parquet", "datasets.csv")  # of a finished run


@dataclass(frozen=True)
class Results:
    """The numbers of a run; parts that a run did not make (yet) are empty."""

    path: Path
    config: Mapping[str, Any]
    cells: pd.DataFrame
    scores: pd.DataFrame
    tests: pd.DataFrame
    conventions: pd.DataFrame
    trials: pd.DataFrame
    datasets: pd.DataFrame
    notes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # data set -> what the run found out about it
    chosen: tuple[Chosen, ...] = ()  # one per data set, model and split
    # (data set, model) -> what was found on the test parts besides scores: "curves" and "risk_groups", rows each
    evaluated: Mapping[tuple[str, str], dict[str, list[dict[str, Any]]]] = field(default_factory=dict)
    simulations: tuple[dict[str, Any], ...] = ()  # one per repetition: arrays by name, and "meta"
    environment: Mapping[str, Any] = field(default_factory=dict)
    weights: pd.DataFrame = field(default_factory=pd.DataFrame)  # how evenly metrics weigh the subjects of each split

    @property
    def risk_groups(self) -> list[dict[str, Any]]:
        """The risk groups of all models and splits."""
        return [group for found in self.evaluated.values() for group in found["risk_groups"]]

    @property
    def name(self) -> str:
        """The folder's own name: a reference kept under another name than its config's is called by that."""
        return self.path.name

    @property
    def marks(self) -> dict[str, str]:
        """Data sets that are not the real ones: name -> "synthetic" or "demo"."""
        return {row["dataset"]: row["mark"] for row in self.datasets.to_dict("records") if row["mark"]}

    @property
    def split_sources(self) -> dict[str, str]:
        """Whose splits: data set -> "released" (the authors'), "drawn", or as configured if not noted."""
        return split_sources(self.datasets, self.config["split_source"])

    @property
    def reference(self) -> str:
        """The model that every other is tested against."""
        return str(self.config.get("compare_with", "soden"))

    def convention(self, dataset: str) -> str:
        """How a data set's scores were computed: as noted by the run or, if it did not, as configured."""
        noted = {row["dataset"]: row.get("convention") for row in self.datasets.to_dict("records")}.get(dataset)
        configured = str(self.config["evaluation"]["convention"])
        return noted if isinstance(noted, str) else "published" if configured == "auto" else configured

    def n_trials(self, dataset: str) -> int:
        """Trials per split: the fewest of any searched model, since one without search is fitted once; 0 if unknown."""
        counted = self.cells[self.cells["mean"].notna() & self.cells["n_trials"].notna()]
        most = counted.groupby("model")["n_trials"].max()
        mine = counted[counted["dataset"] == dataset].set_index("model")["n_trials"]
        searched = mine[mine.index.isin(most.index[most > 1])]
        counts = searched if len(searched) else mine  # a run of one trial each
        return int(counts.min()) if len(counts) else 0

    @property
    def labels(self) -> dict[str, str]:
        """Printed names of the run's data sets."""
        return {row["dataset"]: row["label"] for row in self.datasets.to_dict("records")}


def split_sources(datasets: pd.DataFrame, configured: str) -> dict[str, str]:
    """Whose splits, from datasets.csv; what is not noted there, or is of both kinds, is as configured."""
    noted = {row["dataset"]: row.get("splits") for row in datasets.to_dict("records")}
    return {name: how if how in ("released", "drawn") else configured for name, how in noted.items()}


def read_results(path: Path) -> Results:
    """Read results/<run>; what every run has is required, the rest may be missing."""
    path = path.resolve()
    check_finished(path, NEEDED)
    return Results(
        path=path,
        config=read_json(path / "config.json", ("tier", "split_source")),
        cells=read_table(path / "cells.csv"),
        scores=read_table(path / "scores.csv"),
        tests=read_table(path / "tests.csv"),
        conventions=_conventions(path / "conventions.csv"),
        trials=read_parquet(path / "trials.parquet"),
        datasets=read_csv(path / "datasets.csv").fillna({"mark": ""}),
        notes={file.stem: read_json(file) for file in sorted((path / "data").glob("*.json"))},
        chosen=tuple(_chosen(path)),
        evaluated={
            (file.parent.name, file.stem): read_json(file, ("curves", "risk_groups"))
            for file in sorted((path / "scores").glob("*/*.json"))
        },
        simulations=tuple(_simulation(file) for file in sorted((path / "simulation").glob("*.npz"), key=_number)),
        environment=_json(path / "environment.json"),
        weights=read_table(path / "weights.csv") if (path / "weights.csv").is_file() else pd.DataFrame(),
    )


def check_finished(path: Path, needed: Collection[str]) -> None:
    """Raise if a run has not come so far as to have these files."""
    for name in needed:
        if not (path / name).is_file():
            raise FileNotFoundError(
                f"{path} is not the folder of a finished run: it has no {name}; "
                "`python -m benchmarks status` lists the runs and how far they are"
            )


def read_trials(path: Path) -> pd.DataFrame:
    """The rows of all trials of a finished run."""
    check_finished(path, ("trials.parquet",))
    return read_parquet(path / "trials.parquet")


def find_run(name: str | None, results: Path, finished: bool = True) -> Path:
    """A run by its name in results/, or by its folder; without a name the newest run (that has cells, if finished)."""
    files = results.glob("*/cells.csv" if finished else "*/config.json")
    runs = sorted(files, key=lambda file: file.stat().st_mtime)
    runs = [file for file in runs if (file.parent / "config.json").is_file()]
    if name is None and runs:
        return runs[-1].parent
    for candidate in (results / name, Path(name)) if name else ():
        if (candidate / "config.json").is_file():
            return candidate
    known = ", ".join(sorted(file.parent.name for file in runs)) or "none yet; start one with `make quick`"
    kind = "finished runs" if finished else "runs"
    raise FileNotFoundError(f"no run{f' {name}' if name else ''} in {results}; {kind}: {known}")


def kept_runs() -> list[Path]:
    """The folders of the reference, of beyond and of the replications."""
    named = [ROOT / "results" / name for name in KEPT_RUNS]
    return named + sorted(path.parent for path in (ROOT / "results" / "replications").glob("[!.]*/trials.parquet"))


def _conventions(path: Path) -> pd.DataFrame:
    if not path.is_file():
        return pd.DataFrame(columns=["dataset", "model", "split", "convention", "metric", "g_tau", "value"])
    frame = read_table(path)
    return frame.assign(g_tau=[canonical_g_tau(value) for value in frame["g_tau"]])


def _chosen(path: Path) -> Iterator[Chosen]:
    for file in sorted((path / "chosen").glob("*/*.json")):
        try:
            yield from (Chosen.from_row(row) for row in read_any_json(file))
        except (TypeError, AttributeError) as error:
            raise damaged(file, error) from error


def _simulation(path: Path) -> dict[str, Any]:
    try:
        arrays: dict[str, Any] = read_npz(path)
        return arrays | {"meta": json.loads(str(arrays["meta"]))}
    except (KeyError, ValueError) as error:
        raise damaged(path, error) from error


def _number(path: Path) -> tuple[int, str]:
    """Repetition 2 before repetition 10."""
    return len(path.stem), path.stem


def _json(path: Path) -> dict[str, Any]:
    return read_json(path) if path.is_file() else {}
