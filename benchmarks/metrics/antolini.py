"""Antolini's time-dependent C-index, without censoring weights, as pycox and Kvamme et al. (2019) compute it."""

from __future__ import annotations

from typing import Literal

import numpy as np

from benchmarks.metrics.base import Metric, Outcome, Prediction
from benchmarks.metrics.pairs import PairCounts
from soden.types import BoolArray, FloatArray

# pycox's names for how ties count. 'adj_antolini' is its default and what Kvamme et al. describe (after Ishwaran et al.
# 2008): tied predictions earn 1/2, so a model that ignores x gets 0.5. 'antolini' gives them nothing.
Method = Literal["adj_antolini", "antolini"]


class AntoliniConcordance(Metric):
    """C^td without weights and truncation; ties as in pycox's 'adj_antolini'. nan without a comparable pair."""

    name = "antolini"
    label = "Antolini C"
    higher_is_better = True
    truncated = False

    def times(self, outcome: Outcome) -> FloatArray:
        """Every event's time."""
        return outcome.event_times

    def compute(self, prediction: Prediction, level: str) -> float:
        """Sum the pair counts that the weighted index uses, too."""
        return concordance(prediction.pairs, "adj_antolini")


def concordance(pairs: PairCounts, method: Method) -> float:
    """Concordant over comparable pairs, all weights one."""
    if method == "antolini":
        concordant = float(np.sum(pairs.later_more + pairs.censored_more))
        comparable = float(np.sum(pairs.later + pairs.censored))
    else:
        # pycox runs over ordered pairs, so pairs tied in time are met from both sides. Two events at one time: 1 for
        # equal predictions, 1/2 otherwise; an event and a censoring: the event should have the lower survival.
        half_ties = pairs.later_more + pairs.later_equal / 2
        with_censored = 2 * pairs.censored_more + pairs.censored_equal
        with_event = (pairs.event + pairs.event_equal) / 2
        concordant = float(np.sum(half_ties + with_censored + with_event))
        comparable = float(np.sum(pairs.later + 2 * pairs.censored + pairs.event))
    return concordant / comparable if comparable > 0 else float("nan")


def antolini_ctd(
    time: FloatArray,
    event: BoolArray,
    survival: FloatArray,
    times: FloatArray | None = None,
    method: Method = "adj_antolini",
) -> float:
    """The index from survival (n, m) at `times`, which hold every event time; default: np.unique(time[event]).

    The validation score of the discrete-time models (Section 5.4, as Kvamme et al.).
    """
    outcome = Outcome(time, event)
    at = outcome.event_times if times is None else np.asarray(times, dtype=np.float64)
    return concordance(Prediction(outcome, at, np.asarray(survival)).pairs, method)
