"""Kaplan-Meier estimates, above all G(t) = P(C > t) of the censoring time, which weights every metric (Section 5.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from soden.types import BoolArray, FloatArray

# "at_risk": an event tied with a censoring is still at risk of being censored: a plain Kaplan-Meier of (y, 1 - Delta),
# as the authors get from lifelines. "events_first": it has left already, as scikit-survival has it.
Ties = Literal["at_risk", "events_first"]


def kaplan_meier(
    time: FloatArray, observed: BoolArray, leave_first: BoolArray | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Distinct times, the survival estimate just after each, and its Greenwood standard error.

    `leave_first` marks subjects who leave the risk set before what is `observed` at their own time.
    """
    times, where = np.unique(time, return_inverse=True)
    number = np.bincount(where, minlength=len(times))
    d = np.bincount(where, weights=observed, minlength=len(times))
    at_risk = number[::-1].cumsum()[::-1].astype(float)
    if leave_first is not None:
        at_risk -= np.bincount(where, weights=leave_first, minlength=len(times))
    factor = np.ones(len(times))
    np.divide(at_risk - d, at_risk, out=factor, where=d > 0)
    # Twelve decimals: a true 2/5 must not become .39999999999999997 and fail `G >= 0.4`. A positive estimate is >= 1/n.
    survival = np.round(np.cumprod(factor), 12)
    hazard_variance = np.zeros(len(times))
    np.divide(d, at_risk * (at_risk - d), out=hazard_variance, where=(d > 0) & (at_risk > d))
    return times, survival, survival * np.sqrt(hazard_variance.cumsum())


@dataclass(frozen=True, eq=False)
class CensoringKM:
    """G(t): a right-continuous step function, or linear between the distinct observed times; constant past the last."""

    times: FloatArray  # (k,) ascending, begins with 0 where G = 1
    values: FloatArray  # (k,)
    interpolate: bool

    def __call__(self, t: FloatArray) -> FloatArray:
        """G at any times; at an observed time both readings are the Kaplan-Meier value just after it."""
        if self.interpolate:
            return np.interp(t, self.times, self.values)
        return self.values[np.searchsorted(self.times, t, side="right") - 1]


def fit_censoring(time: FloatArray, event: BoolArray, *, interpolate: bool, ties: Ties = "at_risk") -> CensoringKM:
    """Estimate G from observed times: `interpolate` is the reading behind the published numbers."""
    times, values, _ = kaplan_meier(time, ~event, event if ties == "events_first" else None)
    if times[0] > 0:
        times, values = np.concatenate([[0.0], times]), np.concatenate([[1.0], values])
    return CensoringKM(times, values, interpolate)
