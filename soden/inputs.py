"""What users hand over, made into arrays: tables of features, series, outcomes in their usual forms."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import torch

from soden.types import BoolArray, FloatArray, IntArray, SurvivalData

# scikit-learn's own tests look for some of these phrases, and its users know them.
RESHAPE = "Reshape your data either using X.reshape(-1, 1) for one feature or X.reshape(1, -1) for one subject"


def feature_matrix(X: Any) -> FloatArray:
    """A numpy array, data frame or nested list as (n, p) float64, all finite."""
    if hasattr(X, "toarray"):
        raise TypeError("sparse X is not supported; pass a dense array, X.toarray()")
    values = np.asarray(X)
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must hold real numbers")
    if values.ndim != 2:
        hint = "series go into seq=" if values.ndim == 3 else RESHAPE
        raise ValueError(f"Expected 2D array, got {values.ndim}D array instead (shape {values.shape}). {hint}")
    for axis, what in enumerate(("sample", "feature")):
        if values.shape[axis] == 0:
            raise ValueError(f"X has 0 {what}(s) (shape={values.shape}) while a minimum of 1 is required.")
    values = _numeric(values, column_names(X))
    bad = ~np.isfinite(values)
    if bad.any():
        column = _named(column_names(X), int(bad.any(axis=0).argmax()))
        raise ValueError(
            f"X holds {int(bad.sum())} values that are NaN or infinite, the first in column {column}; "
            "impute or drop them first, for example with sklearn.impute.SimpleImputer"
        )
    return values


def _numeric(values: npt.NDArray[Any], names: list[str] | None) -> FloatArray:
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    result = np.empty(values.shape)
    for j in range(values.shape[1]):
        if values.dtype.kind not in "OUS":
            raise TypeError(f"X holds values of type {values.dtype}; turn them into numbers, such as days since a date")
        try:
            result[:, j] = values[:, j].astype(np.float64)
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"column {_named(names, j)} of X is not numeric: {error}. "
                "Encode categories as numbers, for example with pandas.get_dummies"
            ) from None
    return result


def _named(names: list[str] | None, column: int) -> str:
    return str(column) if names is None else repr(names[column])


def column_names(X: Any) -> list[str] | None:
    """A data frame's columns if all are strings, as scikit-learn has it; None for anything else."""
    names = list(getattr(X, "columns", []))
    return names if names and all(isinstance(name, str) for name in names) else None


def check_columns(X: Any, known: list[str] | None, n_features: int, owner: str) -> None:
    """Refuse features that are not those of `fit`; the texts are scikit-learn's."""
    names = column_names(X)
    if known is not None and names is not None and names != known:
        unseen, missing = sorted(set(names) - set(known)), sorted(set(known) - set(names))
        message = "The feature names should match those that were passed during fit.\n"
        if unseen:
            message += "Feature names unseen at fit time:\n" + _listed(unseen)
        if missing:
            message += "Feature names seen at fit time, yet now missing:\n" + _listed(missing)
        if not (unseen or missing):
            message += "Feature names must be in the same order as they were in fit.\n"
        raise ValueError(message)
    if known is not None and names is None:
        _warn(f"X does not have valid feature names, but {owner} was fitted with feature names")
    if known is None and names is not None:
        _warn(f"X has feature names, but {owner} was fitted without feature names")
    shape = np.shape(X)
    if len(shape) == 2 and shape[1] != n_features:
        raise ValueError(f"X has {shape[1]} features, but {owner} is expecting {n_features} features as input")


def _listed(names: list[str], most: int = 5) -> str:
    return "".join(f"- {name}\n" for name in names[:most]) + ("- ...\n" if len(names) > most else "")


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=5)  # where the user called predict


def series(seq: Any, n: int) -> FloatArray | None:
    """Series as (n, steps, channels) float64, all finite."""
    if seq is None:
        return None
    values = np.asarray(seq, dtype=np.float64)
    if values.ndim != 3 or len(values) != n:
        raise ValueError(f"seq must have shape ({n}, steps, channels), one series per row of X; got {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError(
            f"seq holds {int((~np.isfinite(values)).sum())} values that are NaN or infinite; fill the gaps first, "
            "for example with the last value seen"
        )
    return values


def outcomes(y: Any, event: Any, n: int) -> tuple[FloatArray, BoolArray]:
    """Times and events from (time, event), or from a structured array or data frame of both; no event: all observed."""
    if y is None:
        raise ValueError(
            "survival estimation requires y to be passed, but the target y is None: pass the observed times and events,"
            " fit(X, time, event), or a structured array of both, fit(X, y)"
        )
    if hasattr(y, "to_records") and np.ndim(y) == 2:
        y = y.to_records(index=False)
    values = np.asarray(y)
    if values.dtype.names is not None:
        if event is not None:
            raise ValueError("events came twice: inside the structured y and as event=; pass one of them")
        values, event = _fields(values)
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: times must be real numbers")
    if values.ndim != 1 or len(values) != n:
        raise ValueError(
            f"time must have one value per row of X, shape ({n},); got shape {values.shape}. "
            "Pass times and events apart, fit(X, time, event), or as one structured array"
        )
    if values.dtype.kind in "mM":
        raise TypeError(f"time holds {values.dtype}; pass durations as numbers, such as time / np.timedelta64(1, 'D')")
    try:
        time = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise type(error)(f"time is not numeric: {error}. Pass durations as numbers, such as days") from None
    events = np.ones(n, dtype=bool) if event is None else np.asarray(event)
    if events.dtype.kind == "O":  # such as pandas' nullable booleans
        with suppress(TypeError, ValueError):  # what is no number is refused below, as not binary
            events = events.astype(np.float64)
    return time, SurvivalData(time, events, np.zeros((n, 1))).event


def _fields(y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """(time, event) of a structured array with two fields in any order; the boolean one is the event."""
    names = list(y.dtype.names or ())
    events = [name for name in names if y.dtype[name].kind == "b"] or [name for name in names if name == "event"]
    if len(names) != 2 or len(events) != 1:
        raise ValueError(
            "a structured y needs two fields, a boolean one (the event) and a numeric one (the time), as made by "
            f"sksurv.util.Surv; got {', '.join(f'{name}: {y.dtype[name]}' for name in names)}"
        )
    return y[next(name for name in names if name != events[0])], y[events[0]]


class Rows(NamedTuple):
    """Features of the subjects a prediction is asked for."""

    x: FloatArray
    seq: FloatArray | None

    @property
    def channels(self) -> int:
        """Series per subject; 0 without any."""
        return 0 if self.seq is None else int(self.seq.shape[2])

    def take(self, rows: slice | IntArray) -> Rows:
        """Some of them."""
        return Rows(self.x[rows], None if self.seq is None else self.seq[rows])


@dataclass(frozen=True)
class Scaling:
    """Mean 0 and standard deviation 1 for features and channels, mean 1 for times: all learnt from training rows."""

    x_mean: FloatArray
    x_std: FloatArray
    seq_mean: FloatArray
    seq_std: FloatArray
    time: float  # users' times / this = the model's times

    @classmethod
    def learn(cls, rows: Rows, time: FloatArray, standardise: bool) -> Self:
        """From the training rows; `standardise=False` leaves features and series as they are, never times."""
        steps = np.zeros((1, 0)) if rows.seq is None else rows.seq.reshape(-1, rows.seq.shape[2])
        return cls(*_moments(rows.x, standardise), *_moments(steps, standardise), float(time.mean()))

    def moments(self) -> tuple[FloatArray, ...]:
        """The arrays, in the order of the fields."""
        return self.x_mean, self.x_std, self.seq_mean, self.seq_std

    def features(self, rows: Rows) -> Rows:
        """Scaled copies."""
        seq = None if rows.seq is None else (rows.seq - self.seq_mean) / self.seq_std
        return Rows((rows.x - self.x_mean) / self.x_std, seq)

    def survival(self, rows: Rows, time: FloatArray, event: BoolArray) -> SurvivalData:
        """Everything scaled; outcomes must have been checked, since errors would speak of scaled times."""
        scaled = self.features(rows)
        return SurvivalData(time / self.time, event, scaled.x, scaled.seq)


def _moments(values: FloatArray, standardise: bool) -> tuple[FloatArray, FloatArray]:
    columns = values.shape[1]
    if not standardise:
        return np.zeros(columns), np.ones(columns)
    std = values.std(axis=0)
    return values.mean(axis=0), np.where(std > 0, std, 1.0)  # a constant column carries nothing; keep it finite


def held_out_rows(event: BoolArray, share: float, seed: int) -> tuple[IntArray, IntArray]:
    """(training, validation) rows at random, the same share of the events and of the censored."""
    everything = np.arange(len(event))
    if share == 0:
        return everything, everything
    if event.sum() < 2:
        raise ValueError(
            "one event cannot be both trained and validated on; pass validation data (X_val, time_val, event_val), "
            "or validation_split=0 to hold out none"
        )
    rng = np.random.default_rng(seed)
    held_out = []
    for kind in (True, False):
        rows = rng.permutation(everything[event == kind])
        held_out.append(rows[: min(math.ceil(share * len(rows)), max(len(rows) - 1, 0))])
    valid = np.sort(np.concatenate(held_out))
    return np.setdiff1d(everything, valid), valid


def check_parameters(params: Mapping[str, Any]) -> None:
    """Refuse parameters that no training could use."""
    for name in ("hidden", "layers", "gru_hidden", "batch_size", "max_epochs", "patience"):
        if not isinstance(params[name], Integral) or params[name] < 1:
            raise ValueError(f"{name} must be a whole number of at least 1; got {params[name]!r}")
    if not (isinstance(params["lr"], Real) and 0 < float(params["lr"]) < math.inf):
        raise ValueError(f"lr must be a positive number; got {params['lr']!r}")
    if not (isinstance(params["weight_decay"], Real) and 0 <= float(params["weight_decay"]) < math.inf):
        raise ValueError(f"weight_decay must be a number of at least 0; got {params['weight_decay']!r}")
    if not (isinstance(params["validation_split"], Real) and 0 <= float(params["validation_split"]) < 1):
        raise ValueError(f"validation_split must be at least 0 and below 1; got {params['validation_split']!r}")
    seed = params["random_state"]
    if seed is not None and not (isinstance(seed, Integral) and int(seed) >= 0):
        raise ValueError(f"random_state must be a whole number of at least 0, or None; got {seed!r}")
    if str(params["device"]).startswith("cuda") and not torch.cuda.is_available():
        raise ValueError(f"device={params['device']!r}, but torch sees no GPU; use device='auto' or 'cpu'")
