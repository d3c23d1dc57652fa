"""What users hand over, made into arrays: tables of features and series; and which parameters make sense."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import torch

from soden.clock import Clock
from soden.hazard import Hazard
from soden.outcomes import Outcomes, numbers, plain_array
from soden.sklearn_api import warn
from soden.types import BoolArray, FloatArray, IntArray, SurvivalData

TIME_SCALES = ("auto", "nelson-aalen", "linear", "own")
# scikit-learn's own tests look for some of these phrases, and its users know them.
RESHAPE = "Reshape your data either using X.reshape(-1, 1) for one feature or X.reshape(1, -1) for one subject"


def feature_matrix(X: Any) -> FloatArray:
    """A numpy array, data frame or nested list as (n, p) float64, all finite."""
    if hasattr(X, "toarray"):
        raise TypeError(
            "sparse X is not supported; pass a dense array, X.toarray(), or let the encoder give one, "
            "OneHotEncoder(sparse_output=False)"
        )
    values = plain_array("X", X)
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
            dates = any(hasattr(value, "year") for value in values[:, j])
            advice = "Encode categories as numbers, for example with pandas.get_dummies"
            if dates:
                advice = "Turn dates into numbers, such as days since the first: (column - column.min()).dt.days"
            raise type(error)(f"column {_named(names, j)} of X is not numeric: {error}. {advice}") from None
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
        warn(f"X does not have valid feature names, but {owner} was fitted with feature names")
    if known is None and names is not None:
        warn(f"X has feature names, but {owner} was fitted without feature names")
    shape = np.asarray(X).shape
    if len(shape) == 2 and shape[1] != n_features:
        raise ValueError(f"X has {shape[1]} features, but {owner} is expecting {n_features} features as input")


def _listed(names: list[str], most: int = 5) -> str:
    return "".join(f"- {name}\n" for name in names[:most]) + ("- ...\n" if len(names) > most else "")


def check_ranges(x: FloatArray, ranges: FloatArray, names: list[str] | None) -> None:
    """Warn of columns that hold values further outside of their training range than it is wide."""
    low, high = ranges
    far = np.flatnonzero(((x < 2 * low - high) | (x > 2 * high - low)).any(axis=0))
    if len(far):
        j = int(far[0])
        learnt = f"was {low[j]:g} in all training rows" if low[j] == high[j] else f"was {low[j]:g} to {high[j]:g} there"
        warn(
            f"{len(far)} column(s) of X hold values far outside of the training rows', the first is column "
            f"{_named(names, j)}, which {learnt}: what such values do was not learnt"
        )


def check_constant(x: FloatArray, names: list[str] | None) -> None:
    """Warn of columns from which nothing can be learnt."""
    constant = np.flatnonzero(x.min(axis=0) == x.max(axis=0))
    if len(constant) and len(x) > 1:
        listed = ", ".join(_named(names, int(j)) for j in constant[:5]) + (", ..." if len(constant) > 5 else "")
        warn(f"constant columns of X, from which nothing can be learnt: {listed}; drop them")


def series(seq: Any, n: int) -> FloatArray | None:
    """Series as (n, steps, channels) float64, all finite."""
    if seq is None:
        return None
    try:
        values = plain_array("seq", seq).astype(np.float64)
    except ValueError as error:
        raise ValueError(
            f"seq must be numbers, with as many steps for each subject ({error}): fill up the shorter series, for "
            "example by repeating their first values in front"
        ) from None
    if values.ndim != 3 or len(values) != n or 0 in values.shape:
        raise ValueError(
            f"seq must have shape ({n}, steps, channels), one series per row of X, and none of them 0; "
            f"got {values.shape}"
        )
    if not np.isfinite(values).all():
        raise ValueError(
            f"seq holds {int((~np.isfinite(values)).sum())} values that are NaN or infinite; fill the gaps first, "
            "for example with the last value seen"
        )
    return values


def checked_times(times: Any) -> FloatArray:
    """Times to predict at: one-dimensional, finite, not negative."""
    values = np.atleast_1d(numbers("times", times))
    if values.ndim != 1:
        raise ValueError(f"times must be one-dimensional; got shape {values.shape}")
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError("times must be finite and not negative: survival before 0 is 1 and is not modelled")
    return values


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
    """Mean 0 and standard deviation 1 for features and channels, and the clock of times: learnt from training rows."""

    x_mean: FloatArray
    x_std: FloatArray
    seq_mean: FloatArray
    seq_std: FloatArray
    clock: Clock  # from users' times to the network's

    @classmethod
    def learn(cls, rows: Rows, seen: Outcomes, standardise: bool, time_scale: str, start: float) -> Self:
        """From these rows, as they weigh; `standardise=False` leaves features and series as they are, never times."""
        weight = np.ones(len(rows.x)) if seen.weight is None else seen.weight
        seq = np.zeros((len(rows.x), 1, 0)) if rows.seq is None else rows.seq
        steps, each = seq.reshape(len(seq) * seq.shape[1], seq.shape[2]), np.repeat(weight, seq.shape[1])
        features = *_moments(rows.x, weight, standardise), *_moments(steps, each, standardise)
        if time_scale == "nelson-aalen" and (seen.time[seen.event] > start).any():
            return cls(*features, Clock.learn(seen, start))
        return cls(
            *features, Clock.linear(1.0 if time_scale == "own" else float(np.average(seen.time, weights=weight)))
        )

    def moments(self) -> tuple[FloatArray, ...]:
        """The arrays, in the order of the fields."""
        return self.x_mean, self.x_std, self.seq_mean, self.seq_std

    def features(self, rows: Rows) -> Rows:
        """Scaled copies."""
        seq = None if rows.seq is None else (rows.seq - self.seq_mean) / self.seq_std
        return Rows((rows.x - self.x_mean) / self.x_std, seq)

    def survival(self, rows: Rows, seen: Outcomes) -> SurvivalData:
        """Everything scaled; outcomes have been checked in the user's unit."""
        x, seq = self.features(rows)
        fields: dict[str, Any] = {"x": x.astype(np.float32), "seq": None if seq is None else seq.astype(np.float32)}
        fields |= {"time": self.clock.at(seen.time), "event": seen.event, "weight": seen.weight}
        return SurvivalData.trusted(fields | {"entry": None if seen.entry is None else self.clock.at(seen.entry)})


def _moments(values: FloatArray, weight: FloatArray, standardise: bool) -> tuple[FloatArray, FloatArray]:
    columns = values.shape[1]
    if not standardise or not columns:
        return np.zeros(columns), np.ones(columns)
    mean = np.average(values, axis=0, weights=weight)
    std = np.sqrt(np.average((values - mean) ** 2, axis=0, weights=weight))
    constant = values.min(axis=0) == values.max(axis=0)  # carries nothing; keep it finite
    low, high = values[weight > 0].min(axis=0), values[weight > 0].max(axis=0)
    for j in np.flatnonzero((low < high) & ~((std > 0) & np.isfinite(std))):
        raise ValueError(
            f"column {j} of the features goes from {low[j]:g} to {high[j]:g}: no float can hold its standard "
            "deviation; give it in another unit"
        )
    return np.where(constant, values[0], mean), np.where(constant | (std == 0), 1.0, std)


def held_out_rows(
    event: BoolArray, share: float, seed: int, member: int = 0, subject: npt.NDArray[Any] | None = None
) -> tuple[IntArray, IntArray]:
    """(training, validation) rows at random, the same share of the events and of the censored.

    The members of an ensemble hold out one part after the other, so that each row trains about as many of them. All
    rows of one `subject` are on the same side.
    """
    if subject is not None:
        _, number = np.unique(subject, return_inverse=True)
        died = np.bincount(number, event) > 0
        train, valid = (np.flatnonzero(np.isin(number, part)) for part in held_out_rows(died, share, seed, member))
        return train, valid
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
        size = min(math.ceil(share * len(rows)), max(len(rows) - 1, 0))
        held_out.append(np.roll(rows, -member * size)[:size])
    valid = np.sort(np.concatenate(held_out))
    return np.setdiff1d(everything, valid), valid


def check_parameters(params: Mapping[str, Any]) -> None:
    """Refuse parameters that no training could use."""
    counts = ["hidden", "layers", "gru_hidden", "max_epochs", "patience", "n_models", "n_jobs"]
    for name in [*counts, *(["batch_size"] if params["batch_size"] != "auto" else [])]:
        if not isinstance(params[name], Integral) or params[name] < 1:
            also = ', or "auto"' if name == "batch_size" else ""
            raise ValueError(f"{name} must be a whole number of at least 1{also}; got {params[name]!r}")
    if not (isinstance(params["lr"], Real) and 0 < float(params["lr"]) < math.inf):
        raise ValueError(f"lr must be a positive number; got {params['lr']!r}")
    if not (isinstance(params["weight_decay"], Real) and 0 <= float(params["weight_decay"]) < math.inf):
        raise ValueError(f"weight_decay must be a number of at least 0; got {params['weight_decay']!r}")
    if not (isinstance(params["validation_split"], Real) and 0 <= float(params["validation_split"]) < 1):
        raise ValueError(f"validation_split must be at least 0 and below 1; got {params['validation_split']!r}")
    seed = params["random_state"]
    if seed is not None and not (isinstance(seed, Integral) and int(seed) >= 0):
        raise ValueError(f"random_state must be a whole number of at least 0, or None; got {seed!r}")
    if params["verbose"] not in (0, 1, 2):
        raise ValueError(f"verbose must be 0 (silent), 1 (a bar) or 2 (a line per epoch); got {params['verbose']!r}")
    if params["hazard"] is not None and not (
        isinstance(params["hazard"], type) and issubclass(params["hazard"], Hazard)
    ):
        raise ValueError(f"hazard must be a subclass of soden.hazard.Hazard, not an instance; got {params['hazard']!r}")
    if not isinstance(params["standardise"], bool | np.bool_):
        raise ValueError(f"standardise must be True or False; got {params['standardise']!r}")
    if params["time_scale"] not in TIME_SCALES:
        raise ValueError(f"time_scale must be one of {', '.join(TIME_SCALES)}; got {params['time_scale']!r}")
    check_device(params["device"])


def check_device(device: Any) -> None:
    """Refuse devices that torch does not have here, in words that name the ones it may have."""
    kind = str(device).split(":")[0]
    if kind == "mps":
        raise ValueError("device='mps': Apple's GPUs have no float64, which predictions are made in; use device='cpu'")
    if kind not in ("auto", "cpu", "cuda"):
        hint = ". torch's name for a GPU is 'cuda'" if kind.lower() == "gpu" else ""
        raise ValueError(f"device must be 'auto', 'cpu', 'cuda' or one such as 'cuda:1'; got {device!r}{hint}")
    if kind == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device={device!r}, but torch sees no GPU; use device='auto' or 'cpu'")
