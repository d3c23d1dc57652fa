"""D-calibration (Haider et al. 2020): are the predicted S_i(T_i) uniform, as they are under the true model?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.metrics.base import Metric, Outcome, Prediction
from soden.types import BoolArray, FloatArray

BINS = 10


class DCalibrationTest(NamedTuple):
    """Pearson's chi-squared over equal bins of S(T): small statistic, large p-value mean well calibrated."""

    statistic: float
    p_value: float
    counts: FloatArray  # (bins,) expected n / bins each; fractions from the censored


def d_calibration(survival: FloatArray, event: BoolArray, bins: int = BINS) -> DCalibrationTest:
    """Test own[i] = S_i(y_i); a censored subject is spread evenly over [0, S_i(y_i)], where its S(T) must lie."""
    from scipy.stats import chi2

    edges = np.arange(bins) / bins
    counts = np.bincount(np.minimum((survival[event] * bins).astype(int), bins - 1), minlength=bins).astype(float)
    censored = survival[~event][:, None]
    # Length of [0, s] in each bin over s; s = 0 is all in the first bin.
    inside = np.clip(censored - edges, 0, 1 / bins)
    share = np.divide(inside, censored, out=np.zeros_like(inside), where=censored > 0)
    share[censored[:, 0] == 0, 0] = 1.0
    counts += share.sum(axis=0)
    expected = len(survival) / bins
    statistic = float(np.sum((counts - expected) ** 2) / expected)
    return DCalibrationTest(statistic, float(chi2.sf(statistic, bins - 1)), counts)


class DCalibration(Metric):
    """The chi-squared statistic over ten bins; about 9 is expected of the true model."""

    name = "dcal"
    label = "D-calibration"
    higher_is_better = False
    truncated = False

    def times(self, outcome: Outcome) -> FloatArray:
        """Everybody's own time, the censored included."""
        return outcome.time

    def compute(self, prediction: Prediction, level: str) -> float:
        """The statistic."""
        return d_calibration(prediction.own(), prediction.outcome.event).statistic


class DCalibrationP(DCalibration):
    """The p-value of the same test."""

    name = "dcal_p"
    label = "D-calibration p"
    higher_is_better = True

    def compute(self, prediction: Prediction, level: str) -> float:
        """The p-value."""
        return d_calibration(prediction.own(), prediction.outcome.event).p_value
