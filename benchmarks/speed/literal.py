"""Section 5.3 once more, as plain Python loops: the oracle of the tests and the slow side of the speed table.

Shares nothing with the other modules on purpose. `S(i, t)` is subject i's predicted survival at time t.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import groupby

Survival = Callable[[int, float], float]
THRESHOLD = {"1e-8": 1e-8, "0.2": 0.2, "0.4": 0.4}


def censoring_survival(y: Sequence[float], delta: Sequence[bool], interpolate: bool) -> Callable[[float], float]:
    """G(t) by the product formula; a step function, or linear between distinct observed times."""
    times, values, at_risk, G = [0.0], [1.0], len(y), 1.0
    together = groupby(sorted(zip(y, delta, strict=True)), key=lambda subject: subject[0])
    for t, subjects in together:
        here = [d for _, d in subjects]
        G *= 1 - sum(not d for d in here) / at_risk
        at_risk -= len(here)
        times.append(t)
        values.append(round(G, 12))

    def at(t: float) -> float:
        k = bisect_right(times, t) - 1
        if not interpolate or k == len(times) - 1:
            return values[k]
        share = (t - times[k]) / (times[k + 1] - times[k])
        return values[k] + share * (values[k + 1] - values[k])

    return at


def ctd(y: Sequence[float], delta: Sequence[bool], S: Survival, level: str, convention: str) -> float:
    """Truncated IPW time-dependent C-index."""
    published = convention == "published"
    G = censoring_survival(y, delta, interpolate=published)
    tau = math.nan if published else first_below(y, G, THRESHOLD[level])
    numerator = denominator = 0.0
    for i in range(len(y)):
        G_i = G(y[i])
        if not delta[i] or (G_i < THRESHOLD[level] if published else not (y[i] < tau and G_i > 0)):
            continue
        own = S(i, y[i])
        for j in range(len(y)):
            if y[i] < y[j] or (published and y[i] == y[j] and not delta[j]):
                denominator += 1 / G_i**2
                numerator += (own < S(j, y[i])) / G_i**2
    return numerator / denominator if denominator else math.nan


def ibs(y: Sequence[float], delta: Sequence[bool], S: Survival, level: str, convention: str) -> float:
    """Integrated Brier score."""
    return integrated(y, delta, S, level, convention, lambda s: s**2, lambda s: (1 - s) ** 2)


def ibll(y: Sequence[float], delta: Sequence[bool], S: Survival, level: str, convention: str) -> float:
    """Integrated binomial log-likelihood."""
    guard = 1e-10
    return integrated(y, delta, S, level, convention, lambda s: math.log(1 - s + guard), lambda s: math.log(s + guard))


def integrated(
    y: Sequence[float],
    delta: Sequence[bool],
    S: Survival,
    level: str,
    convention: str,
    dead: Callable[[float], float],
    alive: Callable[[float], float],
) -> float:
    """Average over grid times and subjects of dead(S) / G(y) after an event and alive(S) / G(t) before."""
    published = convention == "published"
    G = censoring_survival(y, delta, interpolate=published)
    if published:
        inside = [t for t in y if G(t) > (0 if level == "1e-8" else THRESHOLD[level])]
        if not inside:
            return math.nan
        start, stop, points, smallest = min(y), max(inside), 1000, 1e-8
    else:
        start, stop, points, smallest = 0.0, first_below(y, G, THRESHOLD[level]), 100, 0.0
    G_y = [G(t) for t in y]
    kept = [i for i in range(len(y)) if not published or G_y[i] > smallest]
    total, number = 0.0, 0
    for t in grid(start, stop, points):
        G_t = G(t)
        if published and G_t <= smallest:
            continue
        number += len(kept)
        for i in kept:
            if y[i] > t:
                total += alive(S(i, t)) / G_t if G_t > 0 else 0.0
            elif delta[i]:
                total += dead(S(i, t)) / G_y[i] if G_y[i] > 0 else 0.0
    return total / number if number else math.nan


def first_below(y: Sequence[float], G: Callable[[float], float], level: float) -> float:
    """The first observed time at which G has come down to the level; the last one if it never does."""
    return next((t for t in sorted(set(y)) if G(t) <= level), max(y))


def grid(start: float, stop: float, points: int) -> list[float]:
    """Equally spaced times, both ends included; rounds like numpy.linspace so that times can be looked up."""
    step = (stop - start) / (points - 1)
    return [start + k * step for k in range(points - 1)] + [stop]
