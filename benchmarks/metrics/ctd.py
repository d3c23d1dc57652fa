"""Truncated, inverse probability weighted, time-dependent C-index (Section 5.3.1)."""

from __future__ import annotations

import numpy as np

from benchmarks.metrics.base import LEVELS, Metric, Outcome, Prediction
from soden.types import FloatArray


class TimeDependentConcordance(Metric):
    """C^td_tau: sum over events i before tau, and j with y_i < y_j, of I(S_i(y_i) < S_j(y_i)) / G(y_i)^2.

    It is divided by the same sum of 1 / G(y_i)^2.
    published: events with G(y_i) >= level; j is also comparable if y_j = y_i and j is censored. text: as written.
    Tied predictions earn nothing in both. nan without a comparable pair.
    """

    name = "ctd"
    label = r"$C^{td}$"
    higher_is_better = True
    truncated = True

    def times(self, outcome: Outcome) -> FloatArray:
        """Every event's time."""
        return outcome.event_times

    def compute(self, prediction: Prediction, level: str) -> float:
        """Weigh the pair counts of the events before tau."""
        outcome, pairs = prediction.outcome, prediction.pairs
        G_i = outcome.G_y[pairs.subject]
        if outcome.convention == "published":
            inside = G_i >= LEVELS[level]  # so G = 0 is left out
            concordant, comparable = pairs.later_more + pairs.censored_more, pairs.later + pairs.censored
        else:
            inside = (pairs.time < outcome.tau(level)) & (G_i > 0)
            concordant, comparable = pairs.later_more, pairs.later
        weight = 1 / G_i[inside] ** 2
        total = float(np.sum(comparable[inside] * weight))
        return float(np.sum(concordant[inside] * weight)) / total if total > 0 else float("nan")
