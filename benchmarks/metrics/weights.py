"""How evenly a metric spreads its weights over the subjects of a test part.

Inverse probability weights grow without bound where nearly everybody is censored. Where all censoring happens at one
time (administrative censoring), one subject can carry nearly all of a score, or most subjects none of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from benchmarks.metrics.base import LEVELS, Outcome
from benchmarks.metrics.integrated import SMALLEST_G, grid
from soden.types import FloatArray

NOTABLE = 0.02  # a larger share of either kind is logged, and marked in tables and page


class Weights(NamedTuple):
    """The spread of one metric's weights on one test part."""

    metric: str
    g_tau: str
    left_out: float  # share of subjects (for C: of those with an event) without weight, because their G(y) is too small
    gained: float  # by how much the weights raise the share that one subject has in the score, at most

    @property
    def is_notable(self) -> bool:
        """Whether a reader of the score should know."""
        return self.left_out > NOTABLE or self.gained > NOTABLE

    def __str__(self) -> str:
        """The sentence that the log prints."""
        rise = f"its weights raise one subject's share by {self.gained:.1%}"
        return f"{self.metric} {self.g_tau} leaves out {self.left_out:.1%} of the subjects; {rise}"


def weights(outcome: Outcome) -> list[Weights]:
    """Of C^td, IBS and IBLL at every level; they depend on the outcome and the convention, not on predictions."""
    found = []
    for level in LEVELS:
        found.append(Weights("ctd", level, *_concordance(outcome, level)))
        both = _integrated(outcome, level)
        found += [Weights(metric, level, *both) for metric in ("ibs", "ibll")]
    return found


def _gained(weighted: FloatArray, plain: Any) -> float:
    """The largest rise of a subject's share; nan if nobody has weight."""
    if not weighted.sum() > 0:
        return float("nan")
    return float(np.max(weighted / weighted.sum() - plain / plain.sum()))


def _concordance(outcome: Outcome, level: str) -> tuple[float, float]:
    """Of the events before tau: an event has a pair with everyone later, or censored at its time where those count."""
    time, G = outcome.time[outcome.event], outcome.G_y[outcome.event]
    pairs = len(outcome.time) - np.searchsorted(np.sort(outcome.time), time, side="right")
    if outcome.convention == "published":
        inside = G >= LEVELS[level]  # noqa: SIM300
        censored = np.sort(outcome.time[~outcome.event])
        pairs += np.searchsorted(censored, time, side="right") - np.searchsorted(censored, time, side="left")
    else:
        inside = (time < outcome.tau(level)) & (G > 0)
    # At 1e-8 no tau is meant to leave anybody out; at larger levels those beyond tau are left out by definition.
    left_out = float(np.mean(G < SMALLEST_G)) if level == "1e-8" and len(G) else 0.0
    return left_out, _gained(pairs[inside] / G[inside] ** 2, pairs[inside])


def _integrated(outcome: Outcome, level: str) -> tuple[float, float]:
    """A subject's weight is 1/G(t) at the times of the grid before its own, 1/G(y) after it if the event was seen."""
    times = grid(outcome, level)
    published = outcome.convention == "published"
    smallest = SMALLEST_G if published else 0.0
    G_t, G_y = outcome.G(times), outcome.G_y
    divisible = G_y > smallest
    inverse = np.divide(1.0, G_t, out=np.zeros_like(G_t), where=G_t > smallest)
    before = np.searchsorted(times, outcome.time, side="left")
    after = np.where(outcome.event & divisible, len(times) - before, 0)
    counted = divisible | (not published)
    weighted = np.concatenate([[0.0], inverse.cumsum()])[before] * counted
    weighted += np.divide(after, G_y, out=np.zeros_like(G_y), where=after > 0)
    left_out = ~divisible if published else outcome.event & ~divisible
    return float(left_out.mean()), _gained(weighted, np.where(counted, before + after, 0))
