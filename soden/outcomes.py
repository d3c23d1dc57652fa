"""Times and events in the forms people have them, checked in their own unit and with their own mistakes in mind."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from soden.sklearn_api import conversion_warning, warn
from soden.types import BoolArray, FloatArray, IntArray, SurvivalData

BINARY = "event must be binary, 1 or True where observed, 0 or False where censored"
DURATIONS = "such as (end - start) / np.timedelta64(1, 'D') for days"
CENSORING_NAMES = {"cens", "censor", "censoring"}
EVENT_NAMES = {
    "event",
    "events",
    "status",
    "death",
    "dead",
    "died",
    "delta",
    "observed",
    "e",
    "cens",
    "fstat",
    "fustat",
}


class Outcomes(NamedTuple):
    """What was observed of n subjects, in the user's unit of time."""

    time: FloatArray
    event: BoolArray
    entry: FloatArray | None = None
    weight: FloatArray | None = None
    subject: npt.NDArray[Any] | None = None  # whose row it is, where subjects have several

    def take(self, rows: IntArray | slice) -> Outcomes:
        """Some of them."""
        return Outcomes(*(None if value is None else value[rows] for value in self))  # type: ignore[arg-type]


def outcomes(
    y: Any, event: Any, n: int, entry: Any = None, weight: Any = None, subject: Any = None, learn: bool = True
) -> Outcomes:
    """From (time, event), or from a structured array or data frame of both; without events all count as observed.

    To `learn`, two subjects and an event are needed; to judge a model by them, one subject is enough.
    """
    if y is None:
        raise ValueError(
            "survival estimation requires y to be passed, but the target y is None: pass the observed times and events,"
            " fit(X, time, event), or a structured array of both, fit(X, y)"
        )
    y = y.to_pandas() if hasattr(y, "to_pandas") else y  # polars, pyarrow
    if hasattr(y, "to_records") and np.ndim(y) == 2:
        unclear = [name for name in y.columns if str(name).lower() in CENSORING_NAMES]
        if unclear:
            raise ValueError(
                f"the column {unclear[0]!r} of y may say who was censored or who had the event: pass time and event "
                f"apart, with event = y[{unclear[0]!r}] == 0 if 1 means censored"
            )
        y = y.to_records(index=False)
    values = plain_array("y", y)
    if values.dtype.names is not None:
        if event is not None:
            raise ValueError("events came twice: inside the structured y and as event=; pass one of them")
        values, event = _fields(values)
    if values.ndim == 2 and values.shape[1] == 1:
        warn("A column-vector y was passed when a 1d array was expected", conversion_warning())
        values = values[:, 0]
    if values.ndim != 1 or len(values) != n:
        raise ValueError(
            f"time must have one value per row of X, shape ({n},); got shape {values.shape}. "
            "Pass times and events apart, fit(X, time, event), or as one structured array"
        )
    time, events = _times(values), np.ones(n, dtype=bool) if event is None else plain_array("event", event)
    if events.dtype.kind == "O":  # such as pandas' nullable booleans
        with suppress(TypeError, ValueError):  # what is no number is refused below, as not binary
            events = events.astype(np.float64)
    _check_codes(time, events)
    if weight is not None:
        weight = numbers("sample_weight", weight)
        if weight.size and not weight.any():
            raise ValueError("sample_weight is zero for every subject; at least one must count")
    if entry is not None:
        entry = numbers("entry", entry)
    added = int(not learn and events.dtype.kind in "biuf" and (n == 1 or not events.any()))  # an event, for the check
    if added:
        time, events = np.append(time, 1.0), np.append(events, 1)
        entry, weight = (None if v is None else np.append(v, one) for v, one in ((entry, 0.0), (weight, 1.0)))
    checked = SurvivalData(time, events, np.zeros((n + added, 1)), entry=entry, weight=weight)
    seen = Outcomes(checked.time, checked.event, checked.entry, checked.weight).take(slice(0, n))
    return seen if subject is None else seen._replace(subject=_subjects(subject, seen))


def _subjects(values: Any, seen: Outcomes) -> npt.NDArray[Any]:
    """Whose row each is; intervals of a subject may not overlap, and only its last may end with the event."""
    subject = np.asarray(values)
    if subject.shape != seen.time.shape:
        raise ValueError(f"id must have one value per row, shape {seen.time.shape}; got shape {subject.shape}")
    number = np.unique(subject, return_inverse=True)[1]
    entry = np.zeros(len(number)) if seen.entry is None else seen.entry
    order = np.lexsort((seen.time, entry, number))
    same = number[order][1:] == number[order][:-1]
    overlap = same & (entry[order][1:] < seen.time[order][:-1])
    for bad, what in ((overlap, "intervals that overlap"), (same & seen.event[order][:-1], "rows after its event")):
        if bad.any():
            raise ValueError(
                f"the subject with id {subject[order][1:][bad][0]} has {what}: a row with entry and time is one "
                "interval (entry, time] of constant features, and the event ends the last"
            )
    return subject


def by_name(X: Any, *columns: Any) -> tuple[Any, ...]:
    """X and outcomes; those that are given as names of columns of the data frame X are taken out of it."""
    names = [column for column in columns if isinstance(column, str)]
    if not names:
        return X, *columns
    there = list(getattr(X, "columns", []))
    for name in names:
        if name not in there:
            raise ValueError(f"X has no column {name!r}; it has {_some([repr(one) for one in there]) or 'no names'}")
    rest = X[[name for name in there if name not in names]]
    return rest, *(np.asarray(X[column]) if isinstance(column, str) else column for column in columns)


def plain_array(name: str, given: Any) -> npt.NDArray[Any]:
    """As a numpy array; pandas' missing value, which is no number, is made nan, and masked values are refused."""
    if isinstance(given, np.ma.MaskedArray) and np.ma.is_masked(given):
        raise ValueError(
            f"{name} is a masked array with {np.ma.getmaskarray(given).sum()} masked values, which cannot be used; "
            "drop these rows, or fill the values in"
        )
    values = np.asarray(given)
    if values.dtype.kind != "O":
        return values
    missing = np.frompyfunc(lambda value: type(value).__name__ == "NAType", 1, 1)(values).astype(bool)
    return np.where(missing, np.nan, values)


def either(y: Any, time: Any) -> Any:
    """Times may come as the second argument or by name, not both."""
    if y is not None and time is not None:
        raise ValueError("times came twice: as the second argument and as time=; pass one of them")
    return time if y is None else y


def says_events(y: Any, event: Any) -> bool:
    """Whether these outcomes say which times are events, so that none is taken for one unasked."""
    return event is not None or np.asarray(y).ndim == 2 or np.asarray(y).dtype.names is not None


def _times(values: npt.NDArray[Any]) -> FloatArray:
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: times must be real numbers")
    time = numbers("time", values)
    missing = int((~np.isfinite(time)).sum())
    if missing:
        raise ValueError(
            f"time holds {missing} missing or infinite values. A time cannot be imputed: drop these subjects, or, if "
            "they were still under observation, pass the last time they were seen with event 0"
        )
    return time


def numbers(name: str, given: Any) -> FloatArray:
    """As float64; what is no number is refused by its name."""
    values = plain_array(name, given)
    _refuse_dates(name, values)
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        what = "durations as numbers, such as days" if name != "sample_weight" else "numbers"
        raise type(error)(f"{name} is not numeric: {error}. Pass {what}") from None


def _refuse_dates(name: str, values: npt.NDArray[Any]) -> None:
    """Numpy would take dates and durations with a unit for the count of their ticks."""
    dates = values.dtype.kind == "O" and any(hasattr(value, "year") for value in values.flat)
    if dates or values.dtype.kind in "mM":
        what = "durations of type" if values.dtype.kind == "m" else "dates:"
        raise TypeError(f"{name} holds {what} {values.dtype}; pass durations as numbers, {DURATIONS}")


def _check_codes(time: FloatArray, event: npt.NDArray[Any]) -> None:
    """Say what is wrong with events that are not 0 and 1, as far as they show it."""
    if event.shape != time.shape or event.dtype.kind not in "iufOUS":
        return
    if event.dtype.kind in "OUS":
        words = sorted({repr(value) for value in event.tolist()})
        raise ValueError(f"{BINARY}; found {_some(words)}. Compare them with the one that means observed: event == ...")
    missing = int((~np.isfinite(event)).sum())
    if missing:
        raise ValueError(
            f"{BINARY}; {missing} are missing or infinite. Whether these subjects had the event is unknown: drop them, "
            "or, if they were last seen without it, pass 0"
        )
    codes = np.unique(event)
    if np.isin(codes, (0, 1)).all():
        return
    if np.isin(time, (0, 1)).all():
        raise ValueError(
            "time holds nothing but 0 and 1, and event other numbers: they came swapped; fit(X, time, event)"
        )
    advice = ""
    if codes.tolist() == [1, 2]:
        advice = ". If 2 is the event, as R's survival has it, pass event == 2"
    elif (codes == codes.round()).all() and codes.min() >= 0 and len(codes) <= 20:
        advice = (
            ". Several kinds of events are competing risks and need one model per cause: fit each with event == code "
            "and the others censored. The probability of a cause is then not 1 - S of its model: use "
            "soden.risks.incidence(models, X, times)"
        )
    raise ValueError(f"{BINARY}; found {_some([f'{code:g}' for code in codes])}{advice}")


def _some(names: list[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def _fields(y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """(time, event) of two fields in any order: the event is boolean, else called so, else the one of 0 and 1."""
    names = list(y.dtype.names or ())
    for by in (
        lambda name: y.dtype[name].kind == "b",
        lambda name: name.lower() in EVENT_NAMES,
        lambda name: y.dtype[name].kind in "iuf" and np.isin(y[name], (0, 1)).all(),
    ):
        events = [name for name in names if by(name)]
        if events:
            break
    if len(names) != 2 or len(events) != 1:
        raise ValueError(
            "y needs two columns, the event (boolean, or 0 and 1) and the time, as made by sksurv.util.Surv; got "
            + ", ".join(f"{name}: {y.dtype[name]}" for name in names)
            + ". Or pass them apart: fit(X, time, event)"
        )
    if events[0].lower().startswith("censored"):
        raise ValueError(
            f"the column {events[0]!r} of y says who was censored; the event is its opposite: pass time and "
            f"event = ~{events[0]} apart"
        )
    return y[next(name for name in names if name != events[0])], y[events[0]]
