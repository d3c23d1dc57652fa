"""One data set as it came, before dummy coding and standardisation; its file holds arrays and JSON, never pickle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.data.files import read_npz, replacing

FloatArray = npt.NDArray[np.floating[Any]]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.integer[Any]]

_META = ("name", "label", "columns", "categorical", "seq_columns", "mark", "source")


@dataclass(frozen=True, eq=False)
class Dataset:
    """Raw table of n subjects; `take` keeps the level definitions, so every part gives the same inputs."""

    name: str
    label: str  # as printed: SUPPORT, METABRIC, MIMIC, MIMIC-SEQ
    time: FloatArray  # (n,) float64, years after the shift the protocol asks for, > 0
    event: BoolArray  # (n,)
    x: FloatArray  # (n, p) float64; NaN is a missing value, imputed with the training mean
    columns: tuple[str, ...]  # p names
    categorical: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # column: its levels, first one dropped
    seq: FloatArray | None = None  # (n, steps, channels) float32; NaN is a missing value
    seq_columns: tuple[str, ...] = ()
    mark: str = ""  # "synthetic" or "demo" is printed in every table and figure made from these data
    source: str = ""  # where the bytes came from; not part of the content hash

    def __post_init__(self) -> None:
        clean: dict[str, Any] = {
            "time": np.ascontiguousarray(self.time, dtype="<f8"),
            "x": np.ascontiguousarray(self.x, dtype="<f8"),
            "seq": None if self.seq is None else np.ascontiguousarray(self.seq, dtype="<f4"),
            "event": np.asarray(self.event),
            "columns": tuple(str(c) for c in self.columns),
            "seq_columns": tuple(str(c) for c in self.seq_columns),
            "categorical": MappingProxyType({k: tuple(float(v) for v in vs) for k, vs in self.categorical.items()}),
        }
        for key, value in clean.items():
            object.__setattr__(self, key, value)
        _check(self)
        object.__setattr__(self, "event", self.event.astype(bool))

    def __len__(self) -> int:
        return len(self.time)

    def take(self, index: IntArray | BoolArray) -> Dataset:
        """Return the given rows, in the given order."""
        seq = None if self.seq is None else self.seq[index]
        return replace(self, time=self.time[index], event=self.event[index], x=self.x[index], seq=seq)

    def sha256(self) -> str:
        """Hash everything a result can depend on: names, levels, mark and every array, but not the source."""
        digest = hashlib.sha256(json.dumps({**_meta(self), "source": ""}, sort_keys=True).encode())
        for array in (self.time, self.event, self.x, self.seq):
            if array is not None:
                digest.update(f"{array.shape}{array.dtype.str}".encode())
                digest.update(array.tobytes())
        return digest.hexdigest()

    def summary(self) -> dict[str, Any]:
        """One row of the paper's table of data sets; p counts raw columns, as the paper does."""
        steps, channels = (0, 0) if self.seq is None else self.seq.shape[1:]
        row: dict[str, Any] = {"dataset": self.name, "label": self.label, "n": len(self), "p": len(self.columns)}
        row |= {"seq_channels": int(channels), "seq_steps": int(steps), "censoring_rate": float(1 - self.event.mean())}
        for kind, rows in (("censored", ~self.event), ("observed", self.event)):
            some = bool(rows.any())  # the mean of nothing is nan, without numpy's warning
            row[f"{kind}_mean"] = float(self.time[rows].mean()) if some else float("nan")
            row[f"{kind}_median"] = float(np.median(self.time[rows])) if some else float("nan")
        return row | {"mark": self.mark}

    def save(self, path: str | Path) -> None:
        """Write to an npz file; the file appears only when it is complete."""
        arrays = {"time": self.time, "event": self.event, "x": self.x}
        if self.seq is not None:
            arrays["seq"] = self.seq
        meta = json.dumps(_meta(self) | {"sha256": self.sha256()}, sort_keys=True)
        with replacing(Path(path)) as part, part.open("wb") as file:
            np.savez_compressed(file, meta=np.array(meta), **arrays)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: str | Path) -> Dataset:
        """Read a file written by `save` and check it against the hash it carries."""
        try:
            fields: dict[str, Any] = read_npz(path)
            fields |= json.loads(str(fields.pop("meta")))
            wanted = fields.pop("sha256")
            dataset = cls(**fields)
        except FileNotFoundError:
            raise FileNotFoundError(f"no data set file {path}; `python -m benchmarks run` makes it") from None
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is not a readable data set file ({error}); delete it and run again") from error
        if dataset.sha256() != wanted:
            raise ValueError(f"{path} does not match the sha256 it carries: it was changed; delete it and run again")
        return dataset


def _meta(dataset: Dataset) -> dict[str, Any]:
    return {key: getattr(dataset, key) for key in _META} | {"categorical": dict(dataset.categorical)}


def _check(d: Dataset) -> None:
    n = len(d.time) if d.time.ndim == 1 else -1
    shapes = f"time {d.time.shape}, event {d.event.shape}, x {d.x.shape}"
    if n < 0 or d.event.shape != (n,) or d.x.ndim != 2 or len(d.x) != n:
        raise ValueError(f"{d.name}: time, event and x must have one row per subject; got {shapes}")
    if len(d.columns) != d.x.shape[1] or len(set(d.columns)) != len(d.columns):
        raise ValueError(f"{d.name}: x has {d.x.shape[1]} columns and needs as many different names; got {d.columns}")
    if d.seq is not None and (d.seq.ndim != 3 or len(d.seq) != n or d.seq.shape[2] != len(d.seq_columns)):
        raise ValueError(
            f"{d.name}: seq must have shape ({n}, steps, {len(d.seq_columns)}), one channel per name in seq_columns; "
            f"got {d.seq.shape}"
        )
    if not (np.isfinite(d.time).all() and (d.time > 0).all()):
        bad = int((~(d.time > 0) | ~np.isfinite(d.time)).sum())
        raise ValueError(f"{d.name}: {bad} times are missing, infinite or not positive; drop them or shift all times")
    if d.event.dtype.kind not in "biuf" or not np.isin(d.event, (0, 1)).all():
        raise ValueError(f"{d.name}: event must be binary, 1 where observed and 0 where censored")
    if np.isinf(d.x).any():
        raise ValueError(f"{d.name}: x holds {int(np.isinf(d.x).sum())} infinite values; NaN alone marks a missing one")
    for column, levels in d.categorical.items():
        _check_levels(d, column, levels)


def _check_levels(d: Dataset, column: str, levels: tuple[float, ...]) -> None:
    if column not in d.columns:
        raise ValueError(f"{d.name}: categorical column {column!r} is not among the columns {d.columns}")
    if not levels or len(set(levels)) != len(levels):
        raise ValueError(f"{d.name}: the levels of {column!r} must be different and at least one; got {levels}")
    values = d.x[:, d.columns.index(column)]
    unknown = np.setdiff1d(values[~np.isnan(values)], levels)
    if len(unknown):
        raise ValueError(
            f"{d.name}: column {column!r} holds {unknown[:5].tolist()}, not among its levels {levels}; "
            "add the level to the definition or recode the value"
        )
