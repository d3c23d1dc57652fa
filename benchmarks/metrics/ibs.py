"""Integrated Brier score (Section 5.3.2); lower is better, whatever the paper's text says."""

from __future__ import annotations

from benchmarks.metrics.base import LEVELS, Metric, Outcome, Prediction
from benchmarks.metrics.integrated import all_grids, integrate, score_over_time
from benchmarks.metrics.kernels import brier_block
from soden.types import FloatArray


class IntegratedBrierScore(Metric):
    """Mean over t of 1/N sum_i { S_i(t)^2 I(y_i <= t, Delta_i = 1) / G(y_i) + (1 - S_i(t))^2 I(y_i > t) / G(t) }."""

    name = "ibs"
    label = "IBS"
    higher_is_better = False
    truncated = True

    def times(self, outcome: Outcome) -> FloatArray:
        """The grids of all levels."""
        return all_grids(outcome, list(LEVELS))

    def compute(self, prediction: Prediction, level: str) -> float:
        """Average BS(t) up to the level's tau."""
        return integrate(prediction, level, brier_block)


def brier_score(prediction: Prediction, times: FloatArray) -> FloatArray:
    """BS(t) at ascending times that are among the prediction's."""
    return score_over_time(prediction, times, brier_block)
