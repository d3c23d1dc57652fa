"""Antolini's time-dependent concordance from curves on demand, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from soden.types import BoolArray, FloatArray, IntArray

CELLS = 1 << 21  # numbers per (subjects x times) block: 16 MB
TOGETHER = 512  # subjects that are predicted at each other's times, where each one's own is wanted
TIED = 1e-9  # relative gap in Lambda below which two predictions are the same: equal features, rounded differently


def blocks(n: int, columns: int) -> Iterator[slice]:
    """Slices of n rows such that a block with so many columns is small."""
    size = max(1, CELLS // max(1, columns))
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def concordance(
    Lambda: Callable[[IntArray, FloatArray], FloatArray],
    time: FloatArray,
    event: BoolArray,
    entry: FloatArray | None = None,
) -> float:
    """P(S_i(y_i) < S_j(y_i)) over pairs with an event at y_i and j known to be later; ties count 1/2.

    `Lambda(rows, times)` gives the rows' cumulative hazards; a larger one is a smaller S. Who enters at y_i or after it
    was not at risk then and makes no pair.
    """
    order = np.argsort(time, kind="stable")
    events = order[event[order]]
    y, own = time[events], np.empty(len(events))
    for part in blocks(len(events), CELLS // TOGETHER):
        grid, column = np.unique(y[part], return_inverse=True)
        own[part] = np.take_along_axis(Lambda(events[part], grid), column[:, None], axis=1)[:, 0]
    right = pairs = 0.0
    for part in blocks(len(order), len(events)):
        rows = order[part]
        before = np.searchsorted(y, time[rows[-1]], side="right")  # nobody here is known to outlive a later event
        if not before:
            continue
        grid, column = np.unique(y[:before], return_inverse=True)
        later = (time[rows, None] > y[:before]) | ((time[rows, None] == y[:before]) & ~event[rows, None])
        if entry is not None:
            later &= entry[rows, None] < y[:before]
        gap = own[:before] - Lambda(rows, grid)[:, column]
        tied = np.abs(gap) <= TIED * own[:before]
        right += float((later & ~tied & (gap > 0)).sum()) + 0.5 * float((later & tied).sum())
        pairs += float(later.sum())
    if not pairs:
        raise ValueError("no two subjects have a known order, so concordance is undefined; score more subjects")
    return right / pairs
