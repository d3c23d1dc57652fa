"""A run as the figures see it: each cell once, its curves, what is absent, and the frame of a data set's figure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy.typing as npt
import pandas as pd
from matplotlib.figure import Figure

from benchmarks.report.figures.style import Drawing, NothingToDraw
from benchmarks.report.wording import effort
from benchmarks.results.folder import Results
from benchmarks.results.names import DATASETS, dataset_label, in_order, model_label, model_order
from benchmarks.results.tidy import require

# Years per unit of a data set's times: METABRIC's are months / 365.25. The simulation has no unit.
YEARS = {"metabric": 365.25 / 12}
WITHOUT_UNIT = ("simulated",)


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

    def curves(self, dataset: str, model: str) -> dict[str, list[dict[str, Any]]]:
        """`curves` and `risk_groups` of one model's evaluation; both empty if there was none."""
        return self.run.evaluated.get((dataset, model), {"curves": [], "risk_groups": []})

    def simulations(self) -> list[tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]]:
        """Arrays and meta of every repetition of the simulation study, in order."""
        if not self.run.simulations:
            raise NothingToDraw(f"no repetition of the simulation study in {self.run.name}")
        return [({k: v for k, v in one.items() if k != "meta"}, one["meta"]) for one in self.run.simulations]

    def absent(self, dataset: str) -> dict[str, str]:
        """Models planned on a data set that have no score there -> why: "failed" or "missing"."""
        rows = self.cells[(self.cells["dataset"] == dataset) & self.cells["status"].isin(["failed", "missing"])]
        bad = dict(zip(rows["model"], rows["status"], strict=True))
        scored = self.cells[(self.cells["dataset"] == dataset) & self.cells["mean"].notna()]["model"]
        return {model: bad[model] for model in model_order(set(bad) - set(scored))}

    def absences(self, models: Collection[str] = ()) -> str:
        """What was planned (of these models; default all) and is not in the figures, or nothing."""
        missing = [
            f"{', '.join(f'{model_label(m)} ({why})' for m, why in gone.items())} on {dataset_label(dataset)}"
            for dataset in self.datasets
            if (gone := {m: why for m, why in self.absent(dataset).items() if not models or m in models})
        ]
        partial = self.cells[self.cells["status"] == "partial"].drop_duplicates(["dataset", "model"])
        if models:
            partial = partial[partial["model"].isin(list(models))]
        incomplete = [
            f"{model_label(c.model)} on {dataset_label(c.dataset)} ({c.n_splits} of {c.n_planned} splits)"
            for c in partial.itertuples()
        ]
        without = [dataset_label(name) for name in self._unavailable()]
        return " ".join(
            f"{what}: {'; '.join(which)}."
            for what, which in (
                ("Absent", missing),
                ("Incomplete", incomplete),
                ("Data not available to this run", without),
            )
            if which
        )

    def effort(self, dataset: str) -> str:
        """On how much the numbers of a data set rest: "10 splits, 10 trials each"."""
        return str(effort(self.run, dataset))

    def drawing(
        self, kind: str, dataset: str, figure: Figure, what: str, text: str, alt: str, sources: tuple[str, ...]
    ) -> Drawing:
        """The figure of one data set, called kind_dataset; `what` begins its caption, `text` explains it."""
        name, mark = dataset_label(dataset), self.mark(dataset)
        caption = f"{what} on {name}{f' ({mark} data)' if mark else ''}: {self.effort(dataset)}. {text}"
        return Drawing(f"{kind}_{dataset}", figure, caption.strip(), f"{alt} on {name}.", sources)

    def _unavailable(self) -> list[str]:
        return in_order([n for n, note in self.run.notes.items() if not note["available"]], list(DATASETS))


def years(dataset: str) -> tuple[float, str]:
    """By what to multiply the times of a data set, and what they then are: "years", or nothing."""
    return YEARS.get(dataset, 1.0), "" if dataset in WITHOUT_UNIT else "years"


def _once(cells: pd.DataFrame) -> pd.DataFrame:
    require(cells, ["dataset", "model", "metric", "g_tau", "mean", "standard_error", "n_splits", "n_trials"], "cells")
    return cells.drop_duplicates(["dataset", "model", "metric", "g_tau"], ignore_index=True)
