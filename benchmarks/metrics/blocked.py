"""Predictions of a large test part, some rows at a time: the same numbers in memory that does not grow with n."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from benchmarks.metrics.base import BLOCK, Outcome, Prediction
from benchmarks.metrics.integrated import OverTime
from benchmarks.metrics.pairs import PairCounts, count_pairs
from soden.types import FloatArray

LARGEST = 2**25  # cells predicted at once: 268 MB as float64, and a model holds a few times as much
FEW = 10  # columns that a measure may ask for as a whole


@dataclass(frozen=True, eq=False)
class BlockedPrediction(Prediction):
    """S_x(t) that is never held as a whole; `predict(rows)` gives some rows at all times.

    The kernels get the same blocks of rows as from a Prediction, so sums have the same bits. Rows are predicted twice:
    pairs can only be counted when S_i(y_i) of every event is known.
    """

    predict: Callable[[slice], FloatArray] = field(kw_only=True)
    few: FloatArray = field(kw_only=True)  # times at which S of all subjects is kept
    empty: Mapping[tuple[str, str], OverTime] = field(kw_only=True)  # (metric, level) -> sums, to be filled

    def __post_init__(self) -> None:
        """Rows are checked when they are predicted."""

    def own(self) -> FloatArray:
        """S_i(y_i) of every subject i."""
        return self._gathered[0]

    def at(self, times: FloatArray) -> FloatArray:
        """S of all subjects at some of the few times, shape (n, len(times))."""
        where = np.searchsorted(self.few, times)
        if (where == len(self.few)).any() or (self.few[where] != times).any():
            raise KeyError(f"a metric that asks for more than {FEW} times must read them from `blocks`")
        return self._gathered[1][:, where]

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Like the method of Prediction."""
        for start, part in self._parts():
            for rows, survival in part.blocks():
                yield slice(start + rows.start, start + rows.stop), survival

    @cached_property
    def pairs(self) -> PairCounts:
        """Like the method of Prediction."""
        time, event = self.outcome.time, self.outcome.event
        order = np.flatnonzero(event)[np.argsort(time[event], kind="stable")]
        return count_pairs(time, event, order, self.own()[order], self.columns(time[order]), self.blocks())

    @property
    def sums(self) -> Mapping[tuple[str, str], OverTime]:
        """(metric, level) -> its sums over all subjects."""
        return self._gathered[2]

    @cached_property
    def _gathered(self) -> tuple[FloatArray, FloatArray, Mapping[tuple[str, str], OverTime]]:
        """One pass: S_i(y_i), S at the few times, and the sums over time."""
        own, few, columns = [], [], self.columns(self.few)
        for start, part in self._parts():
            own.append(part.own())
            few.append(part.survival[:, columns].astype(np.float64))
            for rows, survival in part.blocks():
                for sums in self.empty.values():
                    sums.add(slice(start + rows.start, start + rows.stop), survival)
        return np.concatenate(own), np.concatenate(few), self.empty

    def _parts(self) -> Iterator[tuple[int, Prediction]]:
        """Predictions of as many whole blocks of rows as LARGEST allows, and where they start."""
        outcome, step = self.outcome, max(1, BLOCK // max(1, len(self.times)))
        size = max(1, LARGEST // (step * max(1, len(self.times)))) * step
        for start in range(0, len(outcome.time), size):
            rows = slice(start, start + size)
            part = Outcome(outcome.time[rows], outcome.event[rows], outcome.convention)
            yield start, Prediction(part, self.times, np.asarray(self.predict(rows)))


def few_times(asked: Sequence[FloatArray]) -> FloatArray:
    """The times of those measures that ask for few."""
    return np.unique(np.concatenate([np.empty(0), *(times for times in asked if len(times) <= FEW)]))
