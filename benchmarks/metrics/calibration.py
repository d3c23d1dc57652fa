"""Calibration curve: predicted survival by decile beside what Kaplan-Meier observes in each group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.metrics.base import Curve, Outcome, Prediction
from benchmarks.metrics.censoring import kaplan_meier
from soden.types import BoolArray, FloatArray

QUANTILES = (0.25, 0.5, 0.75)  # of the event times: the horizons of the curves
GROUPS = 10


class CalibrationRow(NamedTuple):
    """One group of subjects with similar predictions at one horizon."""

    horizon: float
    group: int  # 1 = lowest predicted survival
    n: int
    predicted: float  # mean S(horizon)
    observed: float  # Kaplan-Meier at the horizon; nan if the group's follow-up ends before it
    standard_error: float  # Greenwood


class CalibrationCurve(Curve):
    """Curves at the quartiles of the event times; none without events."""

    name = "calibration"
    label = "Calibration"

    def times(self, outcome: Outcome) -> FloatArray:
        """The horizons."""
        return np.unique(np.concatenate([outcome.event_quantile(q) for q in QUANTILES]))

    def rows(self, prediction: Prediction) -> Sequence[CalibrationRow]:
        """All groups of all horizons."""
        outcome = prediction.outcome
        horizons = self.times(outcome)
        survival = prediction.at(horizons)
        return [
            row
            for k, horizon in enumerate(horizons)
            for row in calibration_curve(outcome.time, outcome.event, survival[:, k], float(horizon))
        ]


def calibration_curve(
    time: FloatArray, event: BoolArray, survival: FloatArray, horizon: float, groups: int = GROUPS
) -> list[CalibrationRow]:
    """Groups are cut at quantiles of S(horizon); equal predictions share a group, so there may be fewer than asked."""
    edges = np.quantile(survival, np.arange(1, groups) / groups)
    group = np.searchsorted(edges, survival, side="left")
    rows = []
    for g in np.unique(group):
        member = group == g
        observed, error = _kaplan_meier_at(time[member], event[member], horizon)
        rows.append(CalibrationRow(horizon, int(g) + 1, int(member.sum()), survival[member].mean(), observed, error))
    return rows


def _kaplan_meier_at(time: FloatArray, event: BoolArray, horizon: float) -> tuple[float, float]:
    times, survival, error = kaplan_meier(time, event)
    if horizon > times[-1] and survival[-1] > 0:
        return float("nan"), float("nan")
    k = int(np.searchsorted(times, horizon, side="right")) - 1
    return (1.0, 0.0) if k < 0 else (float(survival[k]), float(error[k]))
