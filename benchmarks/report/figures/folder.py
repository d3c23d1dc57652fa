"""A run's results folder as the figures read it: tidy tables and curves, checked here and trusted in the figures."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.data.files import read_npz
from benchmarks.report.figures.style import NothingToDraw, dataset_label, model_label
from benchmarks.report.labels import DATASETS, in_order, model_order
from benchmarks.study.tidy import read_table, require

Row = dict[str, Any]
# What the paper calls years is months / 365.25 for METABRIC; the simulation has no unit.
UNITS = {"metabric": "months / 365.25", "simulated": ""}


@dataclass(frozen=True)
class RunFolder:
    """results/<run> and the published numbers beside which it is drawn."""

    path: Path
    published_path: Path

    def __post_init__(self) -> None:
        if not self.path.is_dir():
            raise FileNotFoundError(
                f"no results folder {self.path}; give --run the folder of a finished run, such as results/quick"
            )

    @cached_property
    def cells(self) -> pd.DataFrame:
        """One row per dataset, model, metric and g_tau; SODEN, which is in two tables, once."""
        return _cells(self.path / "cells.csv")

    @cached_property
    def published(self) -> pd.DataFrame:
        """The paper's cells."""
        return _cells(self.published_path / "cells.csv")

    @cached_property
    def scores(self) -> pd.DataFrame:
        """One row per dataset, model, split, metric and g_tau."""
        return read_table(self.path / "scores.csv")

    @cached_property
    def trials(self) -> pd.DataFrame:
        """All trials of the run."""
        trials = read_table(self.path / "trials.parquet")
        require(trials, ["dataset", "model", "split", "trial", "status", "score", "seconds"], "trials")
        return trials

    @cached_property
    def marks(self) -> dict[str, str]:
        """Data set -> "synthetic", "demo" or ""."""
        table = read_table(self.path / "datasets.csv")
        return dict(zip(table["dataset"], table["mark"], strict=True))

    @property
    def datasets(self) -> list[str]:
        """Data sets the run has numbers of, in the paper's order."""
        return in_order(self.cells["dataset"], list(DATASETS))

    def models(self, dataset: str) -> list[str]:
        """Models planned on a data set, whether or not they came to anything."""
        return model_order(self.cells.loc[self.cells["dataset"] == dataset, "model"])

    def mark(self, dataset: str) -> str:
        """The mark of a data set's data."""
        return self.marks.get(dataset, "")

    def curves(self, dataset: str, model: str) -> dict[str, list[Row]]:
        """`curves` and `risk_groups` of one model's evaluation; both empty if there was none."""
        path = self.path / "scores" / dataset / f"{model}.json"
        if not path.is_file():
            return {"curves": [], "risk_groups": []}
        loaded: dict[str, list[Row]] = json.loads(path.read_text())
        return loaded

    def simulations(self) -> list[tuple[dict[str, npt.NDArray[Any]], Row]]:
        """Arrays and meta of every repetition of the simulation study, in order."""
        paths = sorted((self.path / "simulation").glob("*.npz"), key=lambda p: (len(p.stem), p.stem))
        if not paths:
            raise NothingToDraw(f"no repetition of the simulation study in {self.path}/simulation")
        found = []
        for path in paths:
            try:
                arrays = read_npz(path)
                found.append((arrays, json.loads(str(arrays.pop("meta")))))
            except (KeyError, ValueError) as error:
                raise ValueError(
                    f"{path} is not a repetition of the simulation ({error}); delete it and run again"
                ) from error
        return found

    def absent(self, dataset: str) -> dict[str, str]:
        """Models planned on a data set that have no score there -> why: "failed" or "missing"."""
        rows = self.cells[(self.cells["dataset"] == dataset) & self.cells["status"].isin(["failed", "missing"])]
        bad = dict(zip(rows["model"], rows["status"], strict=True))
        scored = self.cells[(self.cells["dataset"] == dataset) & self.cells["mean"].notna()]["model"]
        return {model: bad[model] for model in model_order(set(bad) - set(scored))}

    def absences(self, models: Collection[str] = ()) -> str:
        """What was planned (of these models; default all) and is not in the figures, or nothing."""
        said = [
            f"{', '.join(f'{model_label(m)} ({why})' for m, why in gone.items())} on {dataset_label(dataset)}"
            for dataset in self.datasets
            if (gone := {m: why for m, why in self.absent(dataset).items() if not models or m in models})
        ]
        partial = self.cells[self.cells["status"] == "partial"].drop_duplicates(["dataset", "model"])
        if models:
            partial = partial[partial["model"].isin(list(models))]
        said_partial = [
            f"{model_label(c.model)} on {dataset_label(c.dataset)} ({c.n_splits} of {c.n_planned} splits)"
            for c in partial.itertuples()
        ]
        without = [dataset_label(name) for name in self._unavailable()]
        return " ".join(
            f"{what}: {'; '.join(which)}."
            for what, which in (
                ("Absent", said),
                ("Incomplete", said_partial),
                ("Data not available to this run", without),
            )
            if which
        )

    def effort(self, dataset: str) -> str:
        """On how much the numbers of a data set rest: "10 splits, 10 trials each"."""
        cells = self.cells[(self.cells["dataset"] == dataset) & self.cells["mean"].notna()]
        if not len(cells):
            return "no scores"
        splits = int(cells["n_splits"].max())
        # Models without a search have one trial; the searched ones say how long the search was.
        trials = cells["n_trials"].max()
        return _plural(splits, "split") + ("" if np.isnan(trials) else f", {_plural(int(trials), 'trial')} each")

    def _unavailable(self) -> list[str]:
        files = (self.path / "data").glob("*.json")
        statuses = [json.loads(path.read_text()) for path in files]
        return in_order([s["dataset"] for s in statuses if not s["available"]], list(DATASETS))


def time_unit(dataset: str) -> str:
    """The unit of a data set's times, perhaps none."""
    return UNITS.get(dataset, "years")


def _plural(n: int, thing: str) -> str:
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"


def _cells(path: Path) -> pd.DataFrame:
    cells = read_table(path)
    require(cells, ["dataset", "model", "metric", "g_tau", "mean", "standard_error", "n_splits", "n_trials"], "cells")
    if "status" not in cells:  # the published cells were all measured
        cells["status"] = "ok"
    return cells.drop_duplicates(["dataset", "model", "metric", "g_tau"], ignore_index=True)
