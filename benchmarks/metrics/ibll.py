"""Integrated binomial log-likelihood (Section 5.3.3)."""

from __future__ import annotations

from benchmarks.metrics.integrated import IntegratedMetric
from benchmarks.metrics.kernels import bll_block


class IntegratedBinomialLogLikelihood(IntegratedMetric):
    """Mean over t of 1/N sum_i { log(1 - S_i(t)) I(y_i <= t, Delta_i = 1) / G(y_i) + log S_i(t) I(y_i > t) / G(t) }.

    1e-10 is added inside the logs in both conventions: by the bare formula one event before a Cox model's first step
    (S = 1 exactly) makes the score minus infinity.
    """

    name = "ibll"
    label = "IBLL"
    higher_is_better = True
    kernel = staticmethod(bll_block)
