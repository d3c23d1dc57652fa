"""Checking the reference on another machine: its rows taken as known, its chosen networks and all its cells made again.

What a search found is taken from the reference; what its numbers rest on, the chosen trials, is computed anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.results.folder import Results
from benchmarks.results.published import published_cells
from benchmarks.study.config import ROOT

FOLDER = ROOT / "results" / "reference"
RUN = "verify"
# What a check of the reference takes from its config; the rest is this machine's own.
TAKEN = ("seed", "models", "skip", "splits", "split_source", "trials", "width_rounding", "training", "evaluation")
ALL_TRIALS = 100_000  # one job per model: there is nothing to train but the chosen


def overlay(config: Mapping[str, Any], datasets: Sequence[str], folder: Path = FOLDER) -> dict[str, Any]:
    """The configuration that checks these data sets of a reference with this config."""
    taken = {key: config[key] for key in TAKEN}
    known = {"known": str(folder), "known_numerics": "any"}
    return {**taken, **known, "run": RUN, "datasets": list(datasets), "chunk": ALL_TRIALS, "device": "cpu"}


@dataclass(frozen=True)
class Check:
    """What came out; `refits` are verdict words of `rows.judge`."""

    refits: Mapping[str, int]  # identical, equivalent, different -> how many
    different: tuple[str, ...]  # which, and how
    cells: int
    same_cells: int

    @property
    def holds(self) -> bool:
        """Every chosen trial came out again, and every cell with it."""
        return not self.different and self.same_cells == self.cells


def check(mine: Results, reference: Results) -> Check:
    """Compare the refits with the rows that chose them, and the cells that the paper has with the reference's own."""
    words = {"identical": 0, "equivalent": 0, "different": 0}
    different = []
    for row in mine.chosen:
        verdict = str(row.get("refit", "different: it was not fitted again"))
        words[verdict.split(":")[0]] += 1
        if verdict.startswith("different"):
            different.append(f"{row['dataset']}/{row['model']}/{row['split']}/{row['trial']} {verdict}")
    keys = ["table", "dataset", "model", "metric", "g_tau"]
    theirs = reference.cells[reference.cells["dataset"].isin(set(mine.cells["dataset"]))]
    theirs = theirs[theirs["mean"].notna()].merge(published_cells()[keys], on=keys)
    both = theirs.merge(mine.cells, on=keys, how="left", suffixes=("_then", ""))
    same = both["mean"] == both["mean_then"]
    if words["equivalent"]:  # other bits, other digits: as near as the chosen networks are
        same = np.isclose(both["mean"], both["mean_then"], atol=1e-3)
    return Check(words, tuple(different), len(both), int(same.sum()))
