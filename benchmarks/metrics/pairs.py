"""Pairs of subjects, counted once per event; every C-index is a weighted sum of these counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.metrics.kernels import count_block
from soden.types import BoolArray, FloatArray

Counts = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, eq=False)
class PairCounts:
    """For each event i, by time: how many j are later or tied in time, and how S_j(y_i) compares with S_i(y_i).

    `..._more` counts S_j(y_i) > S_i(y_i), the concordant ones; `..._equal` counts tied predictions.
    """

    time: FloatArray
    subject: Counts  # row of the event
    later: Counts  # y_j > y_i
    later_more: Counts
    later_equal: Counts
    censored: Counts  # y_j = y_i and j censored
    censored_more: Counts
    censored_equal: Counts
    event: Counts  # y_j = y_i and j another event
    event_equal: Counts


def count_pairs(
    time: FloatArray,
    event: BoolArray,
    order: Counts,
    own: FloatArray,
    columns: Counts,
    blocks: Iterable[tuple[slice, FloatArray]],
) -> PairCounts:
    """Count for the events in `order` (rows, by time) with own[i] = S_i(y_i).

    S_j(y_i) stands in row j, column columns[i] of the blocks.
    """
    times = time[order]
    # Events before y_j are a prefix of the columns of row j, events tied with it the stretch that follows.
    before, upto = np.searchsorted(times, time, side="left"), np.searchsorted(times, time, side="right")
    counts = np.zeros((5, len(order)), dtype=np.int64)
    for rows, survival in blocks:
        count_block(survival, columns, before[rows], upto[rows], event[rows], own, *counts)
    more, equal, censored_more, censored_equal, event_equal = counts
    ordered, ordered_censored = np.sort(time), np.sort(time[~event])
    return PairCounts(
        time=times,
        subject=order,
        later=len(time) - np.searchsorted(ordered, times, side="right"),
        later_more=more,
        later_equal=equal,
        censored=_number_at(ordered_censored, times),
        censored_more=censored_more,
        censored_equal=censored_equal,
        event=_number_at(times, times) - 1,
        event_equal=event_equal - 1,  # the kernel meets every event itself, too
    )


def _number_at(ordered: FloatArray, times: FloatArray) -> Counts:
    return np.searchsorted(ordered, times, side="right") - np.searchsorted(ordered, times, side="left")
