"""What a metric is, what it sees of the outcome, and what it sees of the predictions."""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from benchmarks.metrics.censoring import CensoringKM, fit_censoring
from benchmarks.metrics.pairs import PairCounts, count_pairs
from soden.types import BoolArray, FloatArray

Convention = Literal["published", "text"]
CONVENTIONS: tuple[Convention, ...] = ("published", "text")
LEVELS = {"1e-8": 1e-8, "0.2": 0.2, "0.4": 0.4}  # G(tau) as printed, and as a number
BLOCK = 2**20  # cells of a block of predictions: at most 8 MB are copied where the model gives float32
TOLERANCE = 1e-6  # survival this far outside [0, 1] is rounding and is clipped; further out is an error


class MetricValue(NamedTuple):
    """One value of one metric; `g_tau` is "" where nothing is truncated."""

    metric: str
    g_tau: str
    value: float


@dataclass(frozen=True, eq=False)
class Outcome:
    """The observed times y and events Delta of the test part, and the reading of G."""

    time: FloatArray
    event: BoolArray
    convention: Convention = "published"

    def __post_init__(self) -> None:
        time, event = np.asarray(self.time, dtype=np.float64), np.asarray(self.event)
        if self.convention not in CONVENTIONS:
            raise ValueError(f"convention must be one of {', '.join(CONVENTIONS)}; got {self.convention!r}")
        if time.ndim != 1 or len(time) == 0 or event.shape != time.shape:
            raise ValueError(
                "time and event must be one-dimensional with one value per subject; "
                f"got shapes {time.shape} and {event.shape}"
            )
        if not np.isfinite(time).all() or (time < 0).any():
            raise ValueError("time must be finite and not negative; check the data before they are scored")
        if not np.isin(event, (0, 1)).all():
            raise ValueError("event must be binary: 1 or True where the event was observed, 0 or False where censored")
        object.__setattr__(self, "time", time)
        object.__setattr__(self, "event", event.astype(bool))

    @cached_property
    def G(self) -> CensoringKM:
        """P(C > t) by Kaplan-Meier on these subjects themselves."""
        return fit_censoring(self.time, self.event, interpolate=self.convention == "published")

    @cached_property
    def G_y(self) -> FloatArray:
        """G at every subject's own time."""
        return self.G(self.time)

    @cached_property
    def event_times(self) -> FloatArray:
        """Distinct times of events, ascending."""
        return np.unique(self.time[self.event])

    def event_quantile(self, q: float) -> FloatArray:
        """The lower q-quantile of the event times, itself an event time; empty without events."""
        times = self.time[self.event]
        return np.quantile(times, [q], method="lower") if len(times) else times

    def tau(self, level: str) -> float:
        """The end of the truncated interval; nan if G is at or below the level from the start.

        published: the largest y with G(y) above the level (above 0 for 1e-8). text: the first time at which G has come
        down to the level, or the largest y if it never does.
        """
        if self.convention == "published":
            inside = self.time[self.G_y > (0.0 if level == "1e-8" else LEVELS[level])]
            return float(inside.max()) if len(inside) else float("nan")
        reached = self.G.values <= LEVELS[level]
        return float(self.G.times[reached.argmax()] if reached.any() else self.time.max())


@dataclass(frozen=True, eq=False)
class Prediction:
    """S_x(t) of every subject at `times`, the union of what the metrics asked for; nll where the model has one."""

    outcome: Outcome
    times: FloatArray  # (m,) ascending
    survival: FloatArray  # (n, m)
    nll: FloatArray | None = None  # (n,)

    def __post_init__(self) -> None:
        n, m = len(self.outcome.time), len(self.times)
        if self.survival.shape != (n, m):
            raise ValueError(
                f"survival must have one row per subject and one column per time, shape ({n}, {m}); "
                f"got {self.survival.shape}"
            )
        low, high = (self.survival.min(), self.survival.max()) if self.survival.size else (0.0, 1.0)
        if not (low >= -TOLERANCE and high <= 1 + TOLERANCE):  # also when either is nan
            raise ValueError(
                f"survival probabilities must lie in [0, 1]; got values from {low:g} to {high:g}. "
                "A model that gives nan here has diverged: report it as failed instead of scoring it"
            )
        if low < 0 or high > 1:
            object.__setattr__(self, "survival", self.survival.clip(0, 1))
        if self.nll is not None and self.nll.shape != (n,):
            raise ValueError(f"nll must have one value per subject, shape ({n},); got {self.nll.shape}")

    def columns(self, times: FloatArray) -> Any:
        """Where `times` stand among the columns."""
        where = np.searchsorted(self.times, times)
        if (where == len(self.times)).any() or (self.times[where] != times).any():
            raise KeyError("a metric asked for times that its `times` method did not announce")
        return where

    def at(self, times: FloatArray) -> FloatArray:
        """S of all subjects at a few times, shape (n, len(times)), float64."""
        return self.survival[:, self.columns(times)].astype(np.float64)

    def own(self) -> FloatArray:
        """S_i(y_i) of every subject i."""
        rows = np.arange(len(self.survival))
        return np.asarray(self.survival[rows, self.columns(self.outcome.time)], dtype=np.float64)

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """All columns, some rows after the other, as the kernels take them: float64, contiguous, writeable."""
        step = max(1, BLOCK // max(1, len(self.times)))
        for start in range(0, len(self.survival), step):
            rows = slice(start, start + step)
            yield rows, np.require(self.survival[rows], dtype=np.float64, requirements=["C", "W"])

    @cached_property
    def pairs(self) -> PairCounts:
        """Concordant and comparable subjects of every event, counted once for every C-index that needs them."""
        time, event = self.outcome.time, self.outcome.event
        order = np.flatnonzero(event)[np.argsort(time[event], kind="stable")]
        own = self.survival[order, self.columns(time[order])].astype(np.float64)
        return count_pairs(time, event, order, own, self.columns(time[order]), self.blocks())


class Measure(ABC):
    """Something computed from predictions; found by its file in this folder."""

    name: ClassVar[str]  # column value of the scores, file name where there is one class in the file
    label: ClassVar[str]  # as printed

    @abstractmethod
    def times(self, outcome: Outcome) -> FloatArray:
        """The times at which predictions are needed, in any order; depends on the outcome alone."""


class Metric(Measure):
    """A measure with one number, or one per truncation level."""

    higher_is_better: ClassVar[bool]
    truncated: ClassVar[bool]  # one value per level of G(tau), or a single one

    @abstractmethod
    def compute(self, prediction: Prediction, level: str) -> float:
        """The value at a key of LEVELS ("" if not truncated); nan where it is undefined, never a made-up number."""

    def applies(self, prediction: Prediction) -> bool:
        """Whether the model gives what the metric needs."""
        return True


class Curve(Measure):
    """A measure with rows instead of a number."""

    @abstractmethod
    def rows(self, prediction: Prediction) -> Sequence[NamedTuple]:
        """One row per point of the curve."""


@cache
def discover() -> dict[str, Measure]:
    """Every measure with a file in this folder, by name: a metric is added with one file."""
    import benchmarks.metrics as folder

    found: dict[str, Measure] = {}
    for module_info in pkgutil.iter_modules(folder.__path__):
        module = importlib.import_module(f"{folder.__name__}.{module_info.name}")
        for thing in vars(module).values():
            if isinstance(thing, type) and issubclass(thing, Measure) and thing.__module__ == module.__name__:
                if getattr(thing, "__abstractmethods__", None):
                    continue
                if thing.name in found:
                    raise ValueError(f"two metrics are called {thing.name!r}; give one another name")
                found[thing.name] = thing()
    return found


def metrics() -> dict[str, Metric]:
    """The discovered measures that give numbers."""
    return {name: m for name, m in discover().items() if isinstance(m, Metric)}
