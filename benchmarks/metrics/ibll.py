"""Integrated binomial log-likelihood (Section 5.3.3)."""

from __future__ import annotations

from benchmarks.metrics.base import LEVELS, Metric, Outcome, Prediction
from benchmarks.metrics.integrated import all_grids, integrate, score_over_time
from benchmarks.metrics.kernels import bll_block
from soden.types import FloatArray


class IntegratedBinomialLogLikelihood(Metric):
    """Mean over t of 1/N sum_i { log(1 - S_i(t)) I(y_i <= t, Delta_i = 1) / G(y_i) + log S_i(t) I(y_i > t) / G(t) }.

    1e-10 is added inside the logs in both conventions: by the bare formula one event before a Cox model's first step
    (S = 1 exactly) makes the score minus infinity.
    """

    name = "ibll"
    label = "IBLL"
    higher_is_better = True
    truncated = True

    def times(self, outcome: Outcome) -> FloatArray:
        """The grids of all levels, the same as IBS's."""
        return all_grids(outcome, list(LEVELS))

    def compute(self, prediction: Prediction, level: str) -> float:
        """Average BLL(t) up to the level's tau."""
        return integrate(prediction, level, bll_block)


def binomial_log_likelihood(prediction: Prediction, times: FloatArray) -> FloatArray:
    """BLL(t) at ascending times that are among the prediction's."""
    return score_over_time(prediction, times, bll_block)
