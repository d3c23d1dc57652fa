"""Read survival curves that another program wrote, and name every mistake in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from benchmarks.data.files import read_npz
from soden.types import BoolArray, FloatArray, IntArray

SUFFIXES = (".csv", ".parquet", ".npz")
FAR, LONGER = 0.25, 3.0  # from Kaplan-Meier in probability; in cumulative hazard, and past the test part's last time
TOLERANCE = 1e-6  # rises and excesses up to this are rounding
SAME_TIME = 1e-12  # relative: a time that lost its last digit on the way through a decimal is still the same time
Between = Literal["linear", "steps"]


class BadPredictions(ValueError):
    """Predictions that cannot be scored; the text says which file, what is wrong and what to do."""


@dataclass(frozen=True, eq=False)
class Curves:
    """S of the test subjects, in the order of the split, at ascending times."""

    times: FloatArray  # (m,)
    survival: FloatArray  # (n, m)
    between: Between = "linear"

    def __call__(self, times: FloatArray) -> FloatArray:
        """S at any times up to the last, from S(0) = 1."""
        at, S = self.times, self.survival
        if at[0] > 0:
            at, S = np.concatenate([[0.0], at]), np.concatenate([np.ones((len(S), 1)), S], axis=1)
        left = np.clip(np.searchsorted(at, times * (1 + SAME_TIME), side="right") - 1, 0, len(at) - 1)
        if self.between == "steps":
            return S[:, left]
        right = np.minimum(left + 1, len(at) - 1)
        width = np.where(right > left, at[right] - at[left], 1.0)
        before, after = S[:, left], S[:, right]
        # At one of their times exactly theirs; elsewhere never past a neighbour, so that rounding makes no curve rise.
        share = np.maximum(times - at[left], 0.0) / width
        read: FloatArray = np.maximum(before - (before - after) * share, after)
        return read


def find_file(folder: Path, split: int) -> Path:
    """The one file of a split."""
    if not folder.is_dir():
        raise BadPredictions(f"there is no folder {folder}; --predictions names the folder with 1.csv, 2.csv, ...")
    files = [folder / f"{split}{suffix}" for suffix in SUFFIXES if (folder / f"{split}{suffix}").is_file()]
    if len(files) > 1:
        names = " and ".join(path.name for path in files)
        raise BadPredictions(f"{folder} has {names}; keep one file of predictions per split")
    if not files:
        have = ", ".join(sorted(path.name for path in folder.iterdir())[:12]) or "nothing"
        wanted = ", ".join(f"{split}{suffix}" for suffix in SUFFIXES)
        raise BadPredictions(
            f"{folder} has no predictions for split {split} (wanted: one of {wanted}; there is: {have}); predict it, "
            "or score fewer splits with --splits"
        )
    return files[0]


def read_curves(path: Path, ids: IntArray, until: float, between: Between = "linear") -> Curves:
    """The curves of the subjects `ids`, checked; they must reach the time `until`."""
    found, times, survival = _read_npz(path) if path.suffix == ".npz" else _read_table(path)
    times = _checked_times(path, times, until)
    order = _order(path, found, ids)
    return Curves(times, _checked_survival(path, survival, times, found)[order], between)


def check_against_data(path: Path, curves: Curves, time: FloatArray, event: BoolArray) -> str:
    """A warning if the mean curve is far from the data's Kaplan-Meier curve; an error if it also lasts far longer.

    Times in months instead of years look like that: everybody lives twelve times as long.
    """
    from benchmarks.metrics.censoring import kaplan_meier

    at = np.quantile(time[event], (0.25, 0.5, 0.75))
    times, values, _ = kaplan_meier(time, event)
    alive = np.concatenate([[1.0], values])[np.searchsorted(times, at, side="right")]
    predicted = curves(at).mean(axis=0)
    worst = int(np.abs(predicted - alive).argmax())
    # Where few have events, both are near 1: months for years make the cumulative hazard a twelfth.
    expected, found = (-np.log(max(float(S[worst]), 1e-6)) for S in (alive, predicted))
    if abs(predicted[worst] - alive[worst]) <= FAR and expected <= LONGER * found and found <= LONGER * expected:
        return ""
    doubt = (
        f"{path.name}: the mean predicted survival at {at[worst]:.3g} years is {predicted[worst]:.2f}, where "
        f"{alive[worst]:.2f} of the subjects are alive"
    )
    if curves.times[-1] > LONGER * time.max():
        raise BadPredictions(
            f"{doubt}, and the times go to {curves.times[-1]:.3g}, where the test part's go to {time.max():.3g} years; "
            "are they in months or days? Give years"
        )
    return f"{doubt}; are the times in years, and is it S, not 1 - S?"


def _read_npz(path: Path) -> tuple[Any, Any, Any]:
    try:
        arrays = read_npz(path)
    except ValueError as error:
        raise BadPredictions(f"{path} cannot be read as npz ({error}); write it with numpy.savez, no objects") from None
    if missing := [name for name in ("id", "times", "survival") if name not in arrays]:
        raise BadPredictions(
            f"{path} lacks {', '.join(missing)}; wanted the arrays id (n), times (m) and survival (n, m), got "
            f"{', '.join(arrays) or 'none'}"
        )
    subject_ids, times, survival = arrays["id"], arrays["times"], arrays["survival"]
    if subject_ids.ndim != 1 or times.ndim != 1 or survival.shape != (len(subject_ids), len(times)):
        hint = "; it looks transposed" if survival.shape == (times.size, subject_ids.size) else ""
        raise BadPredictions(
            f"{path}: survival must have a row per id and a column per time; got id {subject_ids.shape}, times "
            f"{times.shape}, survival {survival.shape}{hint}"
        )
    for name, array in (("id", subject_ids), ("times", times), ("survival", survival)):
        if array.dtype.kind not in "iuf":
            raise BadPredictions(f"{path}: {name} must hold numbers; got {array.dtype}")
    return subject_ids, times, survival.astype(np.float64)


def _read_table(path: Path) -> tuple[Any, Any, Any]:
    """A CSV or Parquet table: id, then a column per time."""
    kind = path.suffix[1:]
    try:
        # As text, since pandas renames a time that comes twice.
        table = pd.read_csv(path, header=None, dtype=str) if kind == "csv" else pd.read_parquet(path)
    except Exception as error:  # parsers raise whatever they like at a damaged file
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BadPredictions(f"{path} cannot be read as {kind} ({first}); write it again") from None
    if kind == "csv":
        table, names = table.iloc[1:], [str(name).strip() for name in table.iloc[0]]
    else:
        names = [str(name) for name in table.columns]
    if names.count("id") != 1:
        raise BadPredictions(
            f"{path} has {names.count('id') or 'no'} columns named id; the first column is the id of the subject "
            f"(from test.csv), the others are headed by their times; got {_some(names)}"
        )
    times = [_number(name) for name in names if name != "id"]
    if np.isnan(times).any():
        bad = [name for name in names if name != "id" and np.isnan(_number(name))]
        raise BadPredictions(
            f"{path}: columns must be headed by times in years, such as 0.25; got {_some(bad)}. An index column is "
            "best left out (index=False, row.names=FALSE)"
        )
    columns = [pd.to_numeric(table.iloc[:, k], errors="coerce") for k in range(len(names))]
    blank = [names[k] for k, column in enumerate(columns) if column.isna().any()]
    if blank:
        raise BadPredictions(f"{path} has values that are missing or no numbers, in {_some(blank)}; predict everybody")
    where = names.index("id")
    values = [column.to_numpy(np.float64) for k, column in enumerate(columns) if k != where]
    survival = np.column_stack(values) if values else np.empty((len(table), 0))
    return columns[where].to_numpy(), np.array(times), survival


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _checked_times(path: Path, times: Any, until: float) -> FloatArray:
    checked: FloatArray = np.asarray(times, dtype=np.float64)
    times = checked
    if len(times) < 2:
        raise BadPredictions(f"{path} has {len(times)} times; a curve needs at least two, better a hundred")
    if not np.isfinite(times).all() or times[0] < 0:
        raise BadPredictions(f"{path}: times must be finite and not negative; got {_some(times)}")
    steps = np.diff(times)
    if (steps <= 0).any():
        k = int(np.argmax(steps <= 0))
        what = "comes twice" if steps[k] == 0 else f"is followed by {times[k + 1]:g}"
        raise BadPredictions(f"{path}: times must ascend; {times[k]:g} {what}")
    if times[-1] < until * (1 - SAME_TIME):
        hint = "; are they in days or months?" if times[-1] > 100 else ""
        raise BadPredictions(
            f"{path}: times end at {_apart(times[-1], until)}, but the metrics read curves up to "
            f"{_apart(until, times[-1])} years (times.csv of "
            f"`data export`); predict that far{hint}"
        )
    if times[0] > until / 2 or times[-1] > 100 * until:
        raise BadPredictions(
            f"{path}: times go from {times[0]:g} to {times[-1]:g}, where the test part's go to {until:g} years; are "
            "they in another unit?"
        )
    return checked


def _order(path: Path, subject_ids: Any, ids: IntArray) -> IntArray:
    """Where each subject of the split stands in the file."""
    subject_ids = np.asarray(subject_ids)
    if (subject_ids != np.floor(subject_ids)).any():
        raise BadPredictions(f"{path}: ids must be the whole numbers of test.csv; got {_some(subject_ids)}")
    values, counts = np.unique(subject_ids, return_counts=True)
    if (counts > 1).any():
        raise BadPredictions(f"{path} has {_some(values[counts > 1])} more than once; one row per subject")
    missing, unknown = np.setdiff1d(ids, values), np.setdiff1d(values, ids)
    if len(missing) or len(unknown):
        said = [f"{len(missing)} subjects of the test part are missing ({_some(missing)})"] if len(missing) else []
        said += [f"{len(unknown)} are not of this test part ({_some(unknown)})"] if len(unknown) else []
        raise BadPredictions(
            f"{path}: {' and '.join(said)}; the ids are those of test.csv in the folder of the same split, which has "
            f"{len(ids)}; the file has {len(subject_ids)}"
        )
    order: IntArray = np.argsort(subject_ids, kind="stable")[np.searchsorted(values, ids)]
    return order


def _checked_survival(path: Path, S: FloatArray, times: FloatArray, ids: Any) -> FloatArray:
    if not np.isfinite(S).all():
        bad = np.unique(np.asarray(ids)[~np.isfinite(S).all(axis=1)])
        raise BadPredictions(f"{path} has missing or infinite probabilities, of {_some(bad)}; predict everybody")
    low, high = float(S.min()), float(S.max())
    if low < -TOLERANCE or high > 1 + TOLERANCE:
        hint = "; divide per cent by 100" if 1.5 < high <= 100 and low >= 0 else ""
        raise BadPredictions(f"{path}: probabilities must be within [0, 1]; got {low:g} to {high:g}{hint}")
    if times[0] == 0 and (S[:, 0] < 1 - TOLERANCE).any():
        raise BadPredictions(
            f"{path}: everybody is alive at time 0, where S must be 1; got {S[:, 0].min():g}. Are these 1 - S, or the "
            "values right after 0? Then head them by a small positive time"
        )
    rises = np.diff(S, axis=1)
    if (rises > TOLERANCE).any():
        row, k = (int(v) for v in np.argwhere(rises > TOLERANCE)[0])
        hint = "; most curves rise: are these 1 - S?" if (S[:, -1] > S[:, 0] + TOLERANCE).mean() > 0.5 else ""
        raise BadPredictions(
            f"{path}: survival must not rise; that of subject {ids[row]:g} goes from {S[row, k]:g} at {times[k]:g} to "
            f"{S[row, k + 1]:g} at {times[k + 1]:g}{hint}"
        )
    return np.minimum.accumulate(S.clip(0, 1), axis=1)


def _apart(value: float, other: float) -> str:
    """A number with six digits, or as many as tell it from another one."""
    return next(
        (text for digits in range(6, 17) if (text := f"{value:.{digits}g}") != f"{other:.{digits}g}"), str(value)
    )


def _some(values: Sequence[Any] | Any) -> str:
    """The first few, for a message."""
    shown = ", ".join(f"{v:g}" if isinstance(v, int | float | np.number) else repr(str(v)) for v in list(values)[:4])
    return f"{shown}, ..." if len(values) > 4 else shown or "none"
