"""The yardstick for published means: what other searches of the same kind give on the same splits.

A published mean is one draw of an experiment: 100 configurations were drawn, the best was chosen on each split by its
validation score, and its test scores were averaged over the splits. The replications hold R x 100 configurations of
each model, each fitted on all splits: the pool. Drawing 100 of them many times gives the distribution of such means.

    shared      one list of configurations serves all splits, as in the authors' code; published means are judged by it
    per split   each split draws its own list, as the paper's text says; shown beside it
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Columns = npt.NDArray[np.int64] | slice
Lists = Literal["shared", "per_split"]

LIST = 100  # configurations of one search
DRAWS = 2000
UNSCORED = 0.01  # share of chosen configurations without a test score, up to which a mean of the others is given
ROUNDING = 0.0005  # published means have three decimals
CLOSE = 0.005
# An interval wider than this on either side says nothing: `cannot tell`.
WIDEST = {"nll": 0.02}
WIDEST_ELSE = 0.01
REPRODUCED, CLOSE_BY, DIFFERENT, CANNOT_TELL = "reproduced", "close", "different", "cannot tell"
VERDICTS = (REPRODUCED, CLOSE_BY, DIFFERENT, CANNOT_TELL)
COX_LARGEST = 0.0015  # a model without a search has no dice: rounding, and Breslow's ties


@dataclass(frozen=True, eq=False)
class Pool:
    """All replications of one model on one data set.

    `valid` (splits, configurations) are validation scores, -inf where a trial has none. `test` (cells, splits,
    configurations) are test scores, nan where none was computed; a pool of one cell may leave out the first axis.
    Columns are ordered by replication and trial, which breaks ties in favour of the earlier.
    """

    valid: Array
    test: Array

    def __post_init__(self) -> None:
        if self.valid.ndim != 2 or self.valid.shape != self.test.shape[-2:]:
            raise ValueError(
                "valid and test must have the same splits and configurations; "
                f"got shapes {self.valid.shape} and {self.test.shape}"
            )

    @property
    def size(self) -> int:
        """Configurations in the pool."""
        return int(self.valid.shape[1])

    def part(self, columns: Columns) -> Pool:
        """Some of its configurations."""
        return Pool(self.valid[:, columns], self.test[..., columns])

    def mean(self) -> Array:
        """The mean over splits of the chosen configurations' test scores, the whole pool being one list."""
        splits = np.arange(len(self.valid))
        return np.asarray(self.test[..., splits, self.valid.argmax(axis=1)].mean(axis=-1))


def draw_winners(
    valid: Array, lists: Lists, draws: int = DRAWS, size: int = LIST, seed: int = 0, every: bool = False
) -> npt.NDArray[np.int64]:
    """The configuration that each of `draws` searches chooses on each split: shape (draws, splits).

    A search of `size` configurations is drawn from the pool without replacement. With `every`, the shape is (draws,
    splits, size): what is chosen after each trial, in random order.
    """
    rng = np.random.default_rng(seed)
    splits, n = valid.shape
    if size > n:
        raise ValueError(f"a search of {size} configurations cannot be drawn from a pool of {n}")
    order = np.argsort(-valid, axis=1, kind="stable")  # best first
    rank = np.argsort(order, axis=1)
    winners = []
    for split in range(splits):
        if split == 0 or lists == "per_split":
            keys = rng.random((draws, n))
            drawn = (keys.argsort(axis=1) if every else keys.argpartition(size - 1, axis=1))[:, :size]
        ranks = rank[split][drawn]
        winners.append(order[split][np.minimum.accumulate(ranks, axis=1) if every else ranks.min(axis=1)])
    return np.stack(winners, axis=1)


def draw_means(pool: Pool, lists: Lists, draws: int = DRAWS, size: int = LIST, seed: int = 0) -> Array:
    """Means over splits of `draws` searches of `size` configurations: shape (cells, draws).

    nan where the best configuration of a split was not scored on its test part.
    """
    winners = draw_winners(pool.valid, lists, draws, size, seed)
    return np.asarray(pool.test[..., np.arange(len(pool.valid)), winners].mean(axis=-1))


def draw_growth(pool: Pool, lists: Lists, draws: int = DRAWS // 4, size: int = LIST, seed: int = 0) -> Array:
    """How the mean over splits grows with the number of trials: its mean and standard deviation over the draws.

    Shape (2, cells, size): entry k - 1 is of searches of k trials. nan where more than `UNSCORED` of the chosen
    configurations were not scored on the test part; below that, they are left out.
    """
    winners = draw_winners(pool.valid, lists, draws, size, seed, every=True)
    values = pool.test[..., np.arange(len(pool.valid))[:, None], winners]  # (cells, draws, splits, size)
    missing = np.isnan(values).mean(axis=(-3, -2)) > UNSCORED
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of means over nothing, which are left out below
        means = np.nanmean(values, axis=-2)
        found = np.stack([np.nanmean(means, axis=-2), np.nanstd(means, axis=-2, ddof=1)])
    return np.where(missing, np.nan, found)


@dataclass(frozen=True)
class Interval:
    """Where 95 % of the means of such searches lie."""

    centre: float
    low: float
    high: float
    missing: float  # share of the draws without a mean, because a chosen configuration was not scored

    @property
    def half_width(self) -> float:
        """The distance from the centre to the farther end."""
        return max(self.high - self.centre, self.centre - self.low)

    def contains(self, value: float) -> bool:
        """Whether a mean is inside."""
        return self.low <= value <= self.high


def widening(pool: int, size: int = LIST, new: int = LIST, ratio: float = 1.0) -> float:
    """How much wider the distribution of a new search is than that of draws of `size` from a pool of n configurations.

    With sigma^2 / k the variance of the mean of a search of k trials, a new one of `new` trials varies around the
    pool's centre with (1 / new + ratio / n) sigma^2, and a draw from the pool with (1 / size - 1 / n) sigma^2. For R
    lists of 100 that is (1 + 1/R) / (1 - 1/R); for draws of 50 from one list of 100 it is 2.

    `ratio` is the variance of draws of one list for all splits over that of these draws: where each split draws its
    own list, luck averages out over the splits, but not that of the pool, whose configurations are the same on all.
    """
    if size >= pool:
        raise ValueError(f"draws of {size} from {pool} configurations are all the same; draw fewer or add replications")
    return float(np.sqrt((1 / new + ratio / pool) / (1 / size - 1 / pool)))


def interval(means: Array, widen: float, rounding: float = ROUNDING, centre: float | None = None) -> Interval:
    """The 2.5 and 97.5 % quantiles, their distances from the draws' mean multiplied by `widen`; then room for rounding.

    `centre` puts these distances around another value than the mean of the draws.
    """
    present = means[~np.isnan(means)]
    if not len(present):
        return Interval(np.nan, np.nan, np.nan, 1.0)
    middle = float(present.mean())
    below, above = np.abs(np.quantile(present, [0.025, 0.975]) - middle) * widen + rounding
    centre = middle if centre is None else centre
    return Interval(centre, centre - float(below), centre + float(above), 1 - len(present) / len(means))


def one_search(pool: Pool, lists: Lists, of_run: Array, draws: int = DRAWS, seed: int = 0) -> list[Interval]:
    """Per cell, where the mean of another search is expected when there is a single one, whose means are `own`.

    Half of its trials are drawn again and again; how those means vary is put around its own mean.
    """
    half = pool.size // 2
    widen = widening(pool.size, half, pool.size)
    means = np.atleast_2d(draw_means(pool, lists, draws, half, seed))
    return [interval(row, widen, centre=float(value)) for row, value in zip(means, np.atleast_1d(of_run), strict=True)]


def verdict(published: float, where: Interval, metric: str) -> str:
    """reproduced, close, different, or cannot tell where the interval is too wide to mean agreement."""
    if not where.half_width <= WIDEST.get(metric, WIDEST_ELSE):
        return CANNOT_TELL
    if where.contains(published):
        return REPRODUCED
    return CLOSE_BY if round(abs(published - where.centre), 9) <= CLOSE else DIFFERENT


def percentile(value: float, means: Array, widen: float = 1.0) -> float:
    """Where a mean stands among those of new searches, in per cent: 50 is the middle."""
    present = means[~np.isnan(means)]
    if not len(present):
        return float("nan")
    spread = present.mean() + widen * (present - present.mean())
    return float(100 * ((spread < value).mean() + (spread == value).mean() / 2))
