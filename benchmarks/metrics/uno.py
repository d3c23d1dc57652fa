"""Uno's C-index for one risk score per subject (Uno et al. 2011), as in scikit-survival."""

from __future__ import annotations

import numpy as np

from benchmarks.metrics.base import Metric, Outcome, Prediction
from benchmarks.metrics.censoring import fit_censoring
from benchmarks.metrics.pairs import count_pairs
from soden.types import BoolArray, FloatArray


class UnoConcordance(Metric):
    """Uno's C with risk 1 - S(t*), t* the lower median of the event times, truncated at each level's tau.

    For a proportional hazards model any t* ranks alike; the median keeps away from the ends, where curves meet.
    nan without a comparable pair.
    """

    name = "uno"
    label = "Uno C"
    higher_is_better = True
    truncated = True

    def times(self, outcome: Outcome) -> FloatArray:
        """The median event time."""
        return outcome.event_quantile(0.5)

    def compute(self, prediction: Prediction, level: str) -> float:
        """Weigh the pairs of one ranking."""
        outcome = prediction.outcome
        if not outcome.event.any():
            return float("nan")
        risk = -prediction.at(self.times(outcome))[:, 0]
        # Events at tau itself count, as in the published C^td: sksurv's `time < tau` with the next larger number.
        tau = np.nextafter(outcome.tau(level), np.inf) if outcome.convention == "published" else outcome.tau(level)
        return uno_c(outcome.time, outcome.event, risk, tau)


def uno_c(time: FloatArray, event: BoolArray, risk: FloatArray, tau: float = np.inf) -> float:
    """sksurv's concordance_index_ipcw with these subjects as their own training part; equal risks are ties exactly."""
    G = fit_censoring(time, event, interpolate=False, ties="events_first")
    order = np.flatnonzero(event)[np.argsort(time[event], kind="stable")]
    # Survival ranks opposite to risk; one column serves every event.
    score = -np.asarray(risk, dtype=np.float64)
    column = np.zeros(len(order), dtype=np.int64)
    pairs = count_pairs(time, event, order, score[order], column, [(slice(None), score[:, None])])
    G_i = G(pairs.time)
    inside = (pairs.time < tau) & (G_i > 0)
    weight = 1 / G_i[inside] ** 2
    more, equal = pairs.later_more + pairs.censored_more, pairs.later_equal + pairs.censored_equal
    total = float(np.sum((pairs.later + pairs.censored)[inside] * weight))
    return float(np.sum((more + equal / 2)[inside] * weight)) / total if total > 0 else float("nan")
