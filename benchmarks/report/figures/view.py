"""A run as the figures see it: each cell once, its curves, and what is absent."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy.typing as npt
import pandas as pd

from benchmarks.report.figures.style import NothingToDraw, dataset_label, model_label
from benchmarks.results.folder import Results
from benchmarks.results.names import DATASETS, in_order, model_order
from benchmarks.results.tidy import require

Row = dict[str, Any]
# What the paper calls years is months / 365.25 for METABRIC; the simulation has no unit.
UNITS = {"metabric": "months / 365.25", "simulated": ""}


@dataclass(frozen=True)
class View:
    """A run and the published numbers beside which it is drawn."""

    run: Results
    published_cells: pd.DataFrame

    @cached_property
    def cells(self) -> pd.DataFrame:
        """One row per dataset, model, metric and g_tau; SODEN, which is in two tables, once."""
        return _once(self.run.cells)

    @cached_property
    def published(self) -> pd.DataFrame:
        """The paper's cells."""
        return _once(self.published_cells)

    @cached_property
    def scores(self) -> pd.DataFrame:
        """One row per dataset, model, split, metric and g_tau."""
        return self.run.scores

    @cached_property
    def trials(self) -> pd.DataFrame:
        """All trials of the run."""
        require(self.run.trials, ["dataset", "model", "split", "trial", "status", "score", "seconds"], "trials")
        return self.run.trials

    @property
    def datasets(self) -> list[str]:
        """Data sets the run has numbers of, in the paper's order."""
        return in_order(self.cells["dataset"], list(DATASETS))

    def models(self, dataset: str) -> list[str]:
        """Models planned on a data set, whether or not they came to anything."""
        return model_order(self.cells.loc[self.cells["dataset"] == dataset, "model"])

    def mark(self, dataset: str) -> str:
        """The mark of a data set's data: "synthetic", "demo" or nothing."""
        return self.run.marks.get(dataset, "")

    def curves(self, dataset: str, model: str) -> dict[str, list[Row]]:
        """`curves` and `risk_groups` of one model's evaluation; both empty if there was none."""
        return self.run.evaluated.get((dataset, model), {"curves": [], "risk_groups": []})

    def simulations(self) -> list[tuple[dict[str, npt.NDArray[Any]], Row]]:
        """Arrays and meta of every repetition of the simulation study, in order."""
        if not self.run.simulations:
            raise NothingToDraw(f"no repetition of the simulation study in {self.run.path}/simulation")
        return [({k: v for k, v in found.items() if k != "meta"}, found["meta"]) for found in self.run.simulations]

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
        trials = self.run.n_trials(dataset)
        return _plural(splits, "split") + (f", {_plural(trials, 'trial')} each" if trials else "")

    def _unavailable(self) -> list[str]:
        return in_order([n for n, note in self.run.notes.items() if not note["available"]], list(DATASETS))


def time_unit(dataset: str) -> str:
    """The unit of a data set's times, perhaps none."""
    return UNITS.get(dataset, "years")


def _plural(n: int, thing: str) -> str:
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"


def _once(cells: pd.DataFrame) -> pd.DataFrame:
    require(cells, ["dataset", "model", "metric", "g_tau", "mean", "standard_error", "n_splits", "n_trials"], "cells")
    return cells.drop_duplicates(["dataset", "model", "metric", "g_tau"], ignore_index=True)
