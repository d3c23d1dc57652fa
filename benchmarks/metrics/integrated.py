"""What IBS and IBLL share: the grid of times, the censoring weights and the average over both (Section 5.3.2-3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.metrics.base import Outcome, Prediction
from soden.types import FloatArray

# The paper's text says 100; the published numbers come from 1000 (with 100 the Cox cells are off by up to 0.006).
GRID_POINTS = {"published": 1000, "text": 100}
SMALLEST_G = 1e-8  # published: times and subjects with a smaller G are left out


def grid(outcome: Outcome, level: str) -> FloatArray:
    """Equally spaced times from min(y) (published) or 0 (text) to tau; empty if there is no tau."""
    tau = outcome.tau(level)
    if np.isnan(tau):
        return np.empty(0)
    start = outcome.time.min() if outcome.convention == "published" else 0.0
    return np.linspace(start, tau, GRID_POINTS[outcome.convention])


def all_grids(outcome: Outcome, levels: list[str]) -> FloatArray:
    """The grids of several levels, one after the other."""
    return np.concatenate([grid(outcome, level) for level in levels])


def score_over_time(prediction: Prediction, times: FloatArray, kernel: Callable[..., Any]) -> FloatArray:
    """BS(t) or BLL(t) at ascending times; nan where G(t) is too small to divide by.

    published: subjects with G(y) <= 1e-8 are left out. text: a term whose G is 0 is left out, N is everybody.
    """
    outcome = prediction.outcome
    published = outcome.convention == "published"
    smallest = SMALLEST_G if published else 0.0
    G_t, G_y = outcome.G(times), outcome.G_y
    counted = (G_y > smallest) | (not published)
    event_weight, grid_weight = outcome.event * _inverse(G_y, smallest), _inverse(G_t, smallest)
    first = np.searchsorted(times, outcome.time, side="left")
    total = np.zeros(len(times))
    columns = prediction.columns(times)
    for rows, survival in prediction.blocks():
        kernel(survival, columns, first[rows], event_weight[rows], counted[rows], grid_weight, total)
    if not counted.any():
        return np.full(len(times), np.nan)
    if published:
        total[G_t <= smallest] = np.nan
    total /= counted.sum()
    return total


def _inverse(values: FloatArray, smallest: float) -> FloatArray:
    """1 / G, and 0 where G is too small to divide by."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > smallest)


def integrate(prediction: Prediction, level: str, kernel: Callable[..., Any]) -> float:
    """The plain average over the grid, without the times that were left out; nan if nothing is left."""
    times = grid(prediction.outcome, level)
    scores = score_over_time(prediction, times, kernel)
    scores = scores[~np.isnan(scores)]
    return float(scores.mean()) if len(scores) else float("nan")
