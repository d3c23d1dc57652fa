"""Antolini's time-dependent concordance from curves on demand, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from soden.types import BoolArray, FloatArray

CELLS = 1 << 21  # numbers per (subjects x times) block: 16 MB
UNDEFINED = "no two subjects have a known order, so concordance is undefined; score more subjects"
TIED = 1e-9  # relative gap in Lambda below which two predictions are the same: equal features, rounded differently


def blocks(n: int, columns: int) -> Iterator[slice]:
    """Slices of n rows such that a block with so many columns is small."""
    size = max(1, CELLS // max(1, columns))
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def concordance(
    Lambda: Callable[[slice, FloatArray], FloatArray],
    time: FloatArray,
    event: BoolArray,
    entry: FloatArray | None = None,
) -> float:
    """P(S_i(y_i) < S_j(y_i)) over pairs with an event at y_i and j known to be later; ties count 1/2.

    `Lambda(rows, times)` gives the rows' cumulative hazards; a larger one is a smaller S. Who enters at y_i or after it
    was not at risk then and makes no pair.
    """
    y = time[event]
    if not len(y):
        raise ValueError(UNDEFINED)
    grid, column = np.unique(y, return_inverse=True)
    own = np.empty(len(time))
    for rows in blocks(len(time), len(grid)):
        at = np.searchsorted(grid, time[rows]).clip(max=len(grid) - 1)  # meaningless for the censored, dropped below
        own[rows] = np.take_along_axis(Lambda(rows, grid), at[:, None], axis=1)[:, 0]
    own = own[event]
    right = pairs = 0.0
    for rows in blocks(len(time), len(y)):
        later = (time[rows, None] > y) | ((time[rows, None] == y) & ~event[rows, None])
        if entry is not None:
            later &= entry[rows, None] < y
        gap = own - Lambda(rows, grid)[:, column]
        tied = np.abs(gap) <= TIED * own
        right += float((later & ~tied & (gap > 0)).sum()) + 0.5 * float((later & tied).sum())
        pairs += float(later.sum())
    if not pairs:
        raise ValueError(UNDEFINED)
    return right / pairs
