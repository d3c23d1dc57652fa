"""The types every part of the project shares: outcomes with features, what a fit reports, what a model can do."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
import numpy.typing as npt
import torch

FloatArray = npt.NDArray[np.floating[Any]]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.integer[Any]]


class Features(Protocol):
    """What a prediction needs of a subject: static features, and a series where the data set has one."""

    @property
    def x(self) -> FloatArray: ...  # noqa: D102

    @property
    def seq(self) -> FloatArray | None: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class SurvivalData:
    """Observed times y, events Delta and features of n subjects; checked once, here, and trusted everywhere else."""

    time: FloatArray  # (n,) float64, years unless the data set says otherwise, >= 0
    event: BoolArray  # (n,) True where the event was observed, False where censored
    x: FloatArray  # (n, p) float32, preprocessed
    seq: FloatArray | None = None  # (n, steps, channels) float32
    entry: FloatArray | None = None  # (n,) float64, when a subject came under observation (left truncation); None: 0
    weight: FloatArray | None = None  # (n,) float64, how much a subject counts in a loss; None: all the same

    def __post_init__(self) -> None:
        time = np.asarray(self.time, dtype=np.float64)
        event = np.asarray(self.event)
        x = np.asarray(self.x, dtype=np.float32)
        seq = None if self.seq is None else np.asarray(self.seq, dtype=np.float32)
        _check(time, event, x, seq)
        entry = None if self.entry is None else _checked_entry(self.entry, time)
        weight = None if self.weight is None else _checked_weight(self.weight, len(time))
        values = {"time": time, "event": event.astype(bool), "x": x, "seq": seq, "entry": entry, "weight": weight}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.time)

    def take(self, index: IntArray | BoolArray) -> SurvivalData:
        """Return the given rows; a part of valid data is valid, so nothing is checked again."""
        return self.trusted({name: None if value is None else value[index] for name, value in vars(self).items()})

    @staticmethod
    def trusted(fields: Mapping[str, Any]) -> SurvivalData:
        """Of all fields, arrays of the types named above; for data checked before, nothing is checked here."""
        data = object.__new__(SurvivalData)
        for name, value in fields.items():
            object.__setattr__(data, name, value)
        return data


def concatenate(first: SurvivalData, second: SurvivalData) -> SurvivalData:
    """Stack two parts of the same data set (Cox is fitted on train + valid)."""
    both: dict[str, Any] = {}
    for name, value in vars(first).items():
        other = getattr(second, name)
        if (value is None) != (other is None):
            raise ValueError(f"cannot stack two parts of which one has {name} and the other has none")
        both[name] = None if value is None else np.concatenate([value, other])
    return SurvivalData.trusted(both)


def _check(time: FloatArray, event: npt.NDArray[Any], x: FloatArray, seq: FloatArray | None) -> None:
    if time.ndim != 1:
        raise ValueError(f"time must be one-dimensional, one value per subject; got shape {time.shape}")
    n = len(time)
    if n < 2:
        raise ValueError(f"survival data need at least two subjects; got {n}")
    if event.shape != (n,):
        raise ValueError(f"event must have one value per subject, shape ({n},); got shape {event.shape}")
    if x.ndim != 2 or len(x) != n:
        raise ValueError(f"x must be a matrix with one row per subject, shape ({n}, p); got shape {x.shape}")
    if seq is not None and (seq.ndim != 3 or len(seq) != n):
        raise ValueError(f"seq must have shape ({n}, steps, channels); got shape {seq.shape}")
    for name, value in (("time", time), ("x", x), ("seq", seq)):
        if value is not None and not np.isfinite(value).all():
            bad = int((~np.isfinite(value)).sum())
            raise ValueError(
                f"{name} holds {bad} missing or infinite values; impute or drop them first "
                "(the benchmark's preprocessing imputes with the training mean)"
            )
    if (time < 0).any() or not time.any():
        raise ValueError(
            f"time must not be negative, and above 0 for at least one subject; {int((time < 0).sum())} subjects have "
            f"time < 0 (smallest {time.min():g}). Drop them or count all times from an earlier start"
        )
    if event.dtype.kind not in "biuf" or not np.isin(event, (0, 1)).all():
        raise ValueError("event must be binary: 1 or True where the event was observed, 0 or False where censored")
    if not event.any():
        raise ValueError("no events: every subject is censored, so there is nothing to learn the hazard from")


def _checked_entry(values: Any, time: FloatArray) -> FloatArray:
    entry = np.asarray(values, dtype=np.float64)
    if entry.shape != time.shape:
        raise ValueError(f"entry must have one value per subject, shape {time.shape}; got shape {entry.shape}")
    bad = ~((entry >= 0) & ((entry < time) | (time == 0)))  # also true of nan
    if bad.any():
        raise ValueError(
            f"entry must be at least 0 and below the observed time; {int(bad.sum())} subjects have another one. "
            "A subject whose follow-up had ended when it would have entered was never observed: drop it"
        )
    return entry


def _checked_weight(values: Any, n: int) -> FloatArray:
    weight = np.asarray(values, dtype=np.float64)
    if weight.shape != (n,):
        raise ValueError(f"weight must have one value per subject, shape ({n},); got shape {weight.shape}")
    if not (np.isfinite(weight).all() and (weight >= 0).all() and weight.any()):
        raise ValueError("weight must be finite and not negative, and above 0 for at least one subject")
    return weight


@dataclass(frozen=True)
class FitOptions:
    """How a model is trained; defaults are the paper's."""

    max_epochs: int = 100
    patience: int = 10
    clip: float = 100.0  # largest gradient norm; in the authors' code, not in the paper
    device: str = "cpu"  # "cpu", "cuda", "cuda:1" or "auto"
    time_limit: float | None = None  # seconds of wall clock after which training stops with its best state so far
    progress: int = 0  # 1 shows a bar, 2 a line per epoch


@dataclass(frozen=True)
class FitReport:
    """What a fit has to say for itself; one row of the trials table is made from it."""

    status: Literal["ok", "diverged"]
    valid_loss: float  # at the restored best state; nan if diverged before the first epoch ended
    epochs: int = 0
    best_epoch: int = 0  # counted from 1; 0 when no epoch ended
    stopped_by: str = ""  # "patience", "max_epochs", "time_limit", or for no training loop ""
    message: str = ""  # why it diverged
    solver_error: float = float("nan")  # the solver's own estimate at the best state (SODEN only)
    history: tuple[tuple[float, float], ...] = field(default=(), repr=False)  # (train loss, valid loss) per epoch


class Diverged(Exception):
    """Training left the region where numbers mean something; becomes a row, never a crash."""


class SurvivalModel(ABC):
    """A model that is fitted to survival data and predicts survival curves at any times.

    `Model(hyper, options)`: what shapes the model, and how it is trained.
    """

    name: ClassVar[str]  # saved with a model's state, so that no other reads it
    takes_seq: ClassVar[bool] = True

    def __init__(self, hyper: Mapping[str, Any] | None = None, options: FitOptions | None = None) -> None:
        self.hyper = dict(hyper or {})
        self.options = options or FitOptions()

    @abstractmethod
    def fit(self, train: SurvivalData, valid: SurvivalData, seed: int = 0) -> FitReport:
        """Train; the same seed gives the same bytes on CPU with one thread. Touches no global random state."""

    @abstractmethod
    def predict_survival(self, data: Features, times: FloatArray) -> FloatArray:
        """S_x(t), shape (n, len(times)): within [0, 1], non-increasing in t, S(0) = 1. Times in any order, >= 0."""

    def predict_hazard(self, data: Features, times: FloatArray) -> FloatArray:
        """lambda_x(t), shape (n, len(times)), for models that have one."""
        raise TypeError(f"{type(self).__name__} has no hazard function: it models survival at given times only")

    def nll(self, data: SurvivalData) -> FloatArray | None:
        """-Delta log lambda(y) + Lambda(y) per subject; None where there is no continuous-time likelihood."""
        return None

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Everything `from_state` needs, as plain containers and tensors (loadable with weights_only=True)."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild the fitted model from `state()`."""

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a file."""
        # Through memory: on a full disk torch's own writer fails with a riddle, a plain write says what is wrong.
        buffer = io.BytesIO()
        torch.save(self.state(), buffer)
        Path(path).write_bytes(buffer.getvalue())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model written by `save`."""
        return cls.from_state(torch.load(path, map_location="cpu", weights_only=True))
