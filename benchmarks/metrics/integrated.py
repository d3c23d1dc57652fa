"""What IBS and IBLL share: the grid of times, the censoring weights and the average over both (Section 5.3.2-3)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.metrics.base import LEVELS, Metric, Outcome, Prediction
from soden.types import FloatArray

# The paper's text says 100; the published numbers come from 1000 (with 100 the Cox cells are off by up to 0.006).
GRID_POINTS = {"published": 1000, "text": 100}
SMALLEST_G = 1e-8  # published: times and subjects with a smaller G are left out


def grid(outcome: Outcome, level: str) -> FloatArray:
    """Equally spaced times from min(y) (published) or 0 (text) to tau; empty if there is no tau."""
    tau = outcome.tau(level)
    if np.isnan(tau):
        return np.empty(0)
    start = outcome.time.min() if outcome.convention == "published" else 0.0
    return np.linspace(start, tau, GRID_POINTS[outcome.convention])


class OverTime:
    """BS(t) or BLL(t) at ascending times, summed over subjects block by block.

    published: subjects with G(y) <= 1e-8 are left out. text: a term whose G is 0 is left out, N is everybody.
    """

    def __init__(self, outcome: Outcome, times: FloatArray, columns: Any, kernel: Callable[..., Any]) -> None:
        published = outcome.convention == "published"
        smallest = SMALLEST_G if published else 0.0
        G_t, G_y = outcome.G(times), outcome.G_y
        self._counted = (G_y > smallest) | (not published)
        self._event_weight = outcome.event * _inverse(G_y, smallest)
        self._grid_weight = _inverse(G_t, smallest)
        self._first = np.searchsorted(times, outcome.time, side="left")
        self._absent = (G_t <= smallest) & published
        self._columns, self._kernel, self._total = columns, kernel, np.zeros(len(times))

    def add(self, rows: slice, survival: FloatArray) -> None:
        """Some subjects' rows of S, with a column per time of the prediction."""
        weights = self._event_weight[rows], self._counted[rows], self._grid_weight
        self._kernel(survival, self._columns, self._first[rows], *weights, self._total)

    def scores(self) -> FloatArray:
        """The mean over subjects; nan where G(t) is too small to divide by."""
        if not self._counted.any():
            return np.full(len(self._total), np.nan)
        means: FloatArray = np.where(self._absent, np.nan, self._total) / self._counted.sum()
        return means


def score_over_time(prediction: Prediction, times: FloatArray, kernel: Callable[..., Any]) -> FloatArray:
    """BS(t) or BLL(t) at ascending times."""
    sums = OverTime(prediction.outcome, times, prediction.columns(times), kernel)
    for rows, survival in prediction.blocks():
        sums.add(rows, survival)
    return sums.scores()


def _inverse(values: FloatArray, smallest: float) -> FloatArray:
    """1 / G, and 0 where G is too small to divide by."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > smallest)


class IntegratedMetric(Metric):
    """The plain average over the grid, without the times that were left out; nan if nothing is left."""

    truncated = True

    @staticmethod
    @abstractmethod
    def kernel(*arrays: Any) -> None:
        """Add some subjects' terms; see metrics/kernels.py."""

    def times(self, outcome: Outcome) -> FloatArray:
        """The grids of all levels."""
        return np.concatenate([grid(outcome, level) for level in LEVELS])

    def compute(self, prediction: Prediction, level: str) -> float:
        """Average the scores up to the level's tau."""
        times = grid(prediction.outcome, level)
        if not len(times):
            return float("nan")
        filled: OverTime | None = getattr(prediction, "sums", {}).get((self.name, level))
        scores = filled.scores() if filled else score_over_time(prediction, times, self.kernel)
        scores = scores[~np.isnan(scores)]
        return float(scores.mean()) if len(scores) else float("nan")
