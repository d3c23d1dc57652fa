"""The clock that networks run on: the training rows' own cumulative hazard, so that they learn departures from it.

A network on plain time has to learn the shape of the baseline hazard as well as the effects of the features; with few
events, late entry or early stopping it does not, and early risks come out wrong by factors. On the clock u(t), the
Nelson-Aalen estimate made smooth, the hazard of the whole population is 1 by construction. The hazard in the user's
time is h(Lambda, u(t); x) u'(t): the model of the paper after a monotone change of time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from soden.outcomes import Outcomes
from soden.types import FloatArray

KNOTS, EVENTS_PER_KNOT = 30, 16  # the clock follows at most so many quantiles of the event times, fewer of few events
AT_RISK = 5  # it is straight beyond the last event at which so many were under observation
ENTERED = 20  # with late entry it starts where so many are


class Clock:
    """u(t): monotone cubics between knots, a straight line beyond them, and 0 before the first."""

    def __init__(self, knots: FloatArray, values: FloatArray, beyond: float) -> None:
        self.knots, self.values, self.beyond = knots, values, beyond  # u is 0 at the first knot; `beyond` is u' there
        self._slopes = _monotone_slopes(np.diff(knots), np.diff(values) / np.diff(knots))

    @classmethod
    def linear(cls, unit: float) -> Self:
        """T / unit."""
        return cls(np.array([0.0, unit]), np.array([0.0, 1.0]), 1 / unit)

    @classmethod
    def learn(cls, seen: Outcomes, start: float = 0.0) -> Self:
        """The clock of these subjects from `start` on; with a single event time it is straight."""
        times, hazard, at_risk = nelson_aalen(seen, start)
        enough = np.flatnonzero(at_risk >= AT_RISK)
        times = times[: enough[-1] + 1 if len(enough) else len(times)]
        chosen = times
        if len(times) > KNOTS or len(times) * EVENTS_PER_KNOT > seen.event.sum():
            died = np.sort(seen.time[seen.event & (seen.time <= times[-1])])
            shares = np.linspace(0, 1, int(np.clip(len(died) // EVENTS_PER_KNOT, 2, KNOTS)))
            chosen = np.unique(np.quantile(died[died > start], shares, method="inverted_cdf"))
        knots = np.concatenate([[start], chosen])
        values = np.concatenate([[0.0], hazard[np.searchsorted(times, chosen)]])
        third = 2 * (len(knots) - 1) // 3  # beyond the last knot the clock goes on as on the last third before it
        return cls(knots, values, float((values[-1] - values[third]) / (knots[-1] - knots[third])))

    def at(self, t: FloatArray) -> FloatArray:
        """The clock's time at the user's times."""
        return self._of(t)[0]

    def rate(self, t: FloatArray) -> FloatArray:
        """u'(t): a hazard on the clock times this is one per unit of the user's time."""
        return self._of(t)[1]

    def _of(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        left = (np.searchsorted(self.knots, t, side="right") - 1).clip(0, len(self.knots) - 2)
        width, rise = np.diff(self.knots)[left], np.diff(self.values)[left]
        s, past = ((t - self.knots[left]) / width).clip(0, 1), np.maximum(t - self.knots[-1], 0)
        first, last = self._slopes[left] * width, self._slopes[left + 1] * width
        square, cubic = 3 * rise - 2 * first - last, first + last - 2 * rise
        u = self.values[left] + s * (first + s * (square + s * cubic)) + past * self.beyond
        rate = np.where(past > 0, self.beyond, (first + s * (2 * square + 3 * s * cubic)) / width)
        return u, np.where(t < self.knots[0], 0.0, rate)

    def state(self) -> dict[str, Any]:
        """Plain numbers for `from_state`."""
        return {"knots": self.knots.tolist(), "values": self.values.tolist(), "beyond": self.beyond}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild."""
        return cls(np.array(state["knots"]), np.array(state["values"]), state["beyond"])


def nelson_aalen(seen: Outcomes, start: float = 0.0) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Event times after `start`, the cumulative hazard there, and how many were under observation just before."""
    weight = np.ones(len(seen.time)) if seen.weight is None else seen.weight
    late = seen.time > start
    times, where = np.unique(seen.time[seen.event & late], return_inverse=True)
    died = np.bincount(where, weight[seen.event & late])

    def under_observation(weight: FloatArray) -> FloatArray:
        left = _sum_from(seen.time, weight, times)
        return left if seen.entry is None else left - _sum_from(seen.entry, weight, times)

    return times, np.cumsum(died / under_observation(weight)), under_observation(np.ones(len(seen.time)))


def _sum_from(at: FloatArray, weight: FloatArray, times: FloatArray) -> FloatArray:
    """The sum of the weights of subjects whose `at` is no earlier than each of `times`."""
    order = np.argsort(at, kind="stable")
    sums = np.append(np.cumsum(weight[order][::-1])[::-1], 0.0)
    result: FloatArray = sums[np.searchsorted(at[order], times, side="left")]
    return result


def start_of(seen: Outcomes) -> float:
    """With late entry the time from which on ENTERED subjects, or all that ever are, were under observation; else 0."""
    if seen.entry is None or (seen.entry == 0).sum() >= ENTERED:
        return 0.0
    ends = np.unique(np.concatenate([seen.entry, seen.time]))
    count = len(seen.time) - np.searchsorted(np.sort(seen.time), ends, side="right")
    count = count - (len(seen.time) - np.searchsorted(np.sort(seen.entry), ends, side="right"))
    return float(ends[np.argmax(count >= min(ENTERED, count.max()))])


def _monotone_slopes(width: FloatArray, slope: FloatArray) -> FloatArray:
    """Derivatives at the knots that keep the cubics monotone: weighted harmonic means (Fritsch and Butland 1984)."""
    if len(slope) < 2:
        return np.repeat(slope, 2)
    w1, w2 = 2 * width[1:] + width[:-1], width[1:] + 2 * width[:-1]
    inner = (w1 + w2) / (w1 / slope[:-1] + w2 / slope[1:])
    return np.concatenate([slope[:1], inner, slope[-1:]])
