"""The rows a run leaves behind, one type each with its reader and its writer: Trial, Chosen, Score, Cell.

Tables (parquet, CSV), journals (JSON lines) and JSON files hold the same rows: hyper-parameters are a map in JSON and
JSON text in a table, and what is absent reads as nan, 0 or "".
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any, Self

import pandas as pd

NAN = math.nan
KEY = ("dataset", "model", "split", "trial")
MEASURED = (
    *("score", "valid_loss", "status", "epochs", "best_epoch", "stopped_by", "message", "solver_error"),
    *("seconds", "cpu_seconds", "peak_mb"),
)
# What the same trial must give again: all of a row except what a clock or the machine decides.
SAME = ("seed", "status", "epochs", "best_epoch", "stopped_by", "valid_loss", "score", "solver_error")


class DamagedRow(ValueError):
    """A row that was not written so: it lacks a value, or its contents contradict its identity or its digest."""


@dataclass(frozen=True)
class Parts:
    """Everything a trial depends on besides its number: trials with equal parts are equal to the last bit."""

    root_seed: int = field(metadata={"name": "the seed"})
    dataset: str = field(metadata={"name": "the data set"})
    model: str = field(metadata={"name": "the model"})
    data: str = field(metadata={"name": "the data"})
    settings: str = field(metadata={"name": "the settings"})
    space: str = field(metadata={"name": "the search space"})
    code: str = field(metadata={"name": "the code"})
    numerics: str = field(metadata={"name": "the numerics"})
    device: str = field(metadata={"name": "the device"})
    split_rows: str = field(metadata={"name": "the split"})

    @property
    def identity(self) -> str:
        """A short hash of all parts."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]

    def changed(self, now: Parts) -> list[str]:
        """The names of the parts that differ."""
        return [f.metadata["name"] for f in fields(self) if getattr(self, f.name) != getattr(now, f.name)]


@dataclass(frozen=True)
class Trial:
    """One fit of one configuration on one split, with its validation score and what it depends on."""

    parts: Parts
    split: int
    trial: int
    seed: int
    hyper: Mapping[str, Any]
    status: str  # ok, diverged or failed
    score: float = NAN  # on the validation part; the highest is chosen
    valid_loss: float = NAN
    epochs: int = 0
    best_epoch: int = 0
    stopped_by: str = ""
    message: str = ""
    solver_error: float = NAN
    seconds: float = NAN
    cpu_seconds: float = NAN
    peak_mb: int = 0
    taken_from: str = ""  # the run that made it, if another one
    traceback: str = ""  # of a failed trial
    state: str = ""  # sha256 of the fitted model's file, if it was kept

    @property
    def dataset(self) -> str:
        """The data set's name."""
        return self.parts.dataset

    @property
    def model(self) -> str:
        """The model's name."""
        return self.parts.model

    @property
    def identity(self) -> str:
        """A short hash of everything the trial depends on besides its number."""
        return self.parts.identity

    @property
    def pair(self) -> tuple[int, int]:
        """Split (from 1) and number (from 0)."""
        return self.split, self.trial

    @property
    def key(self) -> str:
        """The trial's name: support/soden/1/0."""
        return f"{self.dataset}/{self.model}/{self.split}/{self.trial}"

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Read a row of a table or a journal; DamagedRow if its contents contradict its identity or its digest."""
        try:
            parts = Parts(**{f.name: _plain(row[f.name], f.type, f.default) for f in fields(Parts)})
            hyper = json.loads(row["hyper"]) if isinstance(row["hyper"], str) else row["hyper"]
            optional = {f.name: _plain(row.get(f.name), f.type, f.default) for f in fields(cls)[6:]}  # from score on
            numbers: dict[str, Any] = {name: int(row[name]) for name in ("split", "trial", "seed")}
            trial = cls(parts, **numbers, hyper=dict(hyper), status=str(row["status"]), **optional)
            identity = row["identity"]
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise DamagedRow(f"not a row of a trial ({type(error).__name__}: {error})") from None
        if identity != trial.identity:
            raise DamagedRow(f"{trial.key}: its identity is {identity}, its contents have {trial.identity}")
        if not _missing(row.get("digest")) and row["digest"] != trial.digest:
            raise DamagedRow(f"{trial.key}: its digest does not fit its contents")
        return trial

    @property
    def digest(self) -> str:
        """A short hash of the row, by which a damaged one is found; a state that is not its own is found by itself."""
        row = self._values()
        row.pop("state", None)
        return hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()[:16]

    def to_row(self) -> dict[str, Any]:
        """A map for a journal; `taken_from`, `traceback` and `state` are left out where they are empty."""
        return self._values() | {"digest": self.digest}

    def _values(self) -> dict[str, Any]:
        row = {name: getattr(self, name) for name in (*KEY, "seed", "hyper", *MEASURED)} | asdict(self.parts)
        extra = {name: getattr(self, name) for name in ("taken_from", "traceback", "state") if getattr(self, name)}
        return row | {"identity": self.identity} | extra

    def beats(self, other: Trial | None) -> bool:
        """Whether this trial is chosen before another: the higher score, then the earlier one; only `ok` trials are."""
        if self.status != "ok" or other is None or other.status != "ok":
            return self.status == "ok"
        # A model without search has no score to compare; its one trial is chosen.
        mine, theirs = (-math.inf if math.isnan(trial.score) else trial.score for trial in (self, other))
        return mine > theirs or (mine == theirs and self.trial < other.trial)

    def differences(self, again: Trial) -> list[str]:
        """What the same trial did not give again, in words; empty if it is the same to the last bit."""
        old, new = ({**{name: getattr(t, name) for name in SAME}, **t.hyper} for t in (self, again))
        names = [k for k in dict.fromkeys([*old, *new]) if k not in old or k not in new or not _equal(old[k], new[k])]
        return [f"{k} {old.get(k, 'absent')!r} then, {new.get(k, 'absent')!r} now" for k in names]

    def judge(self, again: Trial, spread: float = NAN) -> str:
        """Whether the trial, run again, gave its row: "identical", "equivalent: ..." or "different: ...".

        Equivalent is a row made with other numerics whose validation score is no further off than rounding alone moves
        the scores of such trials (`spread`, measured by benchmarks/studies/rounding.py).
        """
        texts = self.differences(again)
        if not texts:
            return "identical"
        gap = abs(self.score - again.score)
        if self.parts.numerics != again.parts.numerics and gap <= spread:
            return f"equivalent: the validation score is {gap:.2g} off, rounding alone moves it by up to {spread:.2g}"
        return "different: " + "; ".join(texts)


def read_trials(frame: pd.DataFrame) -> Iterator[Trial]:
    """The rows of a table of trials."""
    return (Trial.from_row(row) for row in frame.to_dict("records"))


def trials_frame(trials: list[Trial]) -> pd.DataFrame:
    """A table of trials; hyper-parameters as JSON text, so that a column may hold anything."""
    rows = (trial.to_row() for trial in trials)
    return pd.DataFrame([row | {"hyper": json.dumps(row["hyper"], sort_keys=True)} for row in rows])


@dataclass(frozen=True)
class Chosen:
    """The trial that a split's search chose; without one (`trial` is None) if all diverged or failed."""

    dataset: str
    model: str
    split: int
    trial: int | None = None
    n_trials: int = 0
    n_ok: int = 0
    n_diverged: int = 0
    n_failed: int = 0
    score: float = NAN
    seed: int = 0
    hyper: Mapping[str, Any] = field(default_factory=dict)
    identity: str = ""
    data: str = ""  # sha256 of the data set
    refit: str = ""  # if it was fitted again: what `Trial.judge` said

    @property
    def key(self) -> tuple[str, str, int, int | None]:
        """Data set, model, split and trial."""
        return self.dataset, self.model, self.split, self.trial

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Read an entry of chosen/<dataset>/<model>.json."""
        return cls(**{f.name: row[f.name] for f in fields(cls) if f.name in row})

    def to_row(self) -> dict[str, Any]:
        """A map for JSON; a split without a chosen trial has only its counts."""
        row = {f.name: getattr(self, f.name) for f in fields(self)}
        if self.trial is None:
            return {name: row[name] for name in list(row)[:8]}
        return row if self.refit else {name: value for name, value in row.items() if name != "refit"}


@dataclass(frozen=True)
class Score:
    """One metric of one chosen model on the test part of its split."""

    dataset: str
    model: str
    split: int
    convention: str
    metric: str
    g_tau: str  # P(C > tau): "1e-8", "0.2", "0.4", or "" for a metric without truncation
    value: float

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Read a row of scores or conventions; an empty g_tau is nan in what pandas reads."""
        g_tau = "" if _missing(row["g_tau"]) else str(row["g_tau"])
        texts = {name: str(row[name]) for name in ("dataset", "model", "convention", "metric")}
        return cls(split=int(row["split"]), g_tau=g_tau, value=float(row["value"]), **texts)

    def to_row(self) -> dict[str, Any]:
        """A map with the columns of conventions.csv."""
        return asdict(self)


@dataclass(frozen=True)
class Cell:
    """One number of the tables: mean and standard error over splits, and the test against SODEN."""

    table: str
    dataset: str
    model: str
    metric: str
    g_tau: str = ""
    mean: float = NAN
    standard_error: float = NAN
    n_splits: int = 0
    n_planned: int = 0
    n_trials: float = NAN
    mark: str = ""
    p_value: float = NAN
    p_corrected: float = NAN
    significant: bool = False
    status: str = ""

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Read a row of cells.csv."""
        return cls(**{f.name: _plain(row.get(f.name), f.type, f.default) for f in fields(cls)})

    def to_row(self) -> dict[str, Any]:
        """A map with the columns of cells.csv."""
        return asdict(self)


_KINDS = {"int": int, "float": float, "str": str, "bool": bool}


def _plain(value: Any, kind: Any, default: Any) -> Any:
    """A value of a table as Python's own; the default where it is missing, if there is one."""
    if not _missing(value):
        return _KINDS[kind](value)
    if default is MISSING:
        raise ValueError("a value is missing")
    return default


def _missing(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def _equal(one: Any, two: Any) -> bool:
    """Equal to the last bit; what is missing in a table comes back as nan."""
    return (_missing(one) and _missing(two)) or bool(one == two)
