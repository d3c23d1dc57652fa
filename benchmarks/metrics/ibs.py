"""Integrated Brier score (Section 5.3.2); lower is better, whatever the paper's text says."""

from __future__ import annotations

from benchmarks.metrics.integrated import IntegratedMetric
from benchmarks.metrics.kernels import brier_block


class IntegratedBrierScore(IntegratedMetric):
    """Mean over t of 1/N sum_i { S_i(t)^2 I(y_i <= t, Delta_i = 1) / G(y_i) + (1 - S_i(t))^2 I(y_i > t) / G(t) }."""

    name = "ibs"
    label = "IBS"
    higher_is_better = False
    kernel = staticmethod(brier_block)
