"""What a row of the trials table depends on, and which rows made earlier may be used again.

A row is used again only where its identity is the same: root seed, data, data set, model, split, settings, search
space, code, numerics and kind of device. Each part is kept in the row beside the identity, so that it can be said which
one changed. Rows that failed (an exception) are never used again.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.data.files import replacing

Row = dict[str, Any]
# The parts of an identity, and what to call one that changed.
PARTS = {
    "root_seed": "the seed",
    "data": "the data",
    "dataset": "the data set",
    "model": "the model",
    "split_rows": "the split",
    "settings": "the settings",
    "space": "the search space",
    "code": "the code",
    "numerics": "the numerics",
    "device": "the device",
}
CODES = "codes.json"  # in a run's folder: which code was proven to give the rows of another
FURTHER = "further_trials.parquet"  # in a reference: rows beyond those its numbers rest on
ROUNDING = "rounding.csv"  # in a run's folder: how far rounding alone moves the scores of its chosen trials
CURRENT = "current.json"  # in a model's folder of trials: split -> identities its rows may have to count
# What the same trial must give again: all of a row but what a clock or the machine decides.
SAME = ("seed", "status", "epochs", "best_epoch", "stopped_by", "valid_loss", "score", "solver_error")


def short_hash(value: Any) -> str:
    """Twelve hexadecimal digits of anything JSON can write."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:12]


def identity(parts: Mapping[str, Any]) -> str:
    """A short hash of everything a row depends on besides its trial's number."""
    return hashlib.sha256(json.dumps({k: parts[k] for k in PARTS}, sort_keys=True).encode()).hexdigest()[:16]


def changed(row: Mapping[str, Any], parts: Mapping[str, Any]) -> list[str]:
    """Which parts of a row's identity are not those wanted, in words."""
    return [name for key, name in PARTS.items() if key in parts and row.get(key) != parts[key]]


def differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What a trial run again did not give again, in words; empty if the row is the same to the last bit."""
    old, new = ({**{k: r.get(k) for k in SAME}, **r["hyper"]} for r in (then, now))
    names = [k for k in dict.fromkeys([*old, *new]) if k not in old or k not in new or not _equal(old[k], new[k])]
    return [f"{k} {old.get(k, 'absent')!r} then, {new.get(k, 'absent')!r} now" for k in names]


def judge(then: Mapping[str, Any], now: Mapping[str, Any], spread: float = math.nan) -> str:
    """Whether a trial run again gave its row: "identical", "equivalent: ..." or "different: ...".

    Equivalent is a row made with other numerics whose validation score is no further off than rounding alone moves the
    scores of such trials (`spread`, measured by `python -m benchmarks rounding`).
    """
    found = differences(then, now)
    if not found:
        return "identical"
    gap = abs(float(then["score"]) - float(now["score"]))
    if then.get("numerics") != now.get("numerics") and gap <= spread:
        return f"equivalent: the validation score is {gap:.2g} off, rounding alone moves it by up to {spread:.2g}"
    return "different: " + "; ".join(found)


def spreads(folder: Path) -> dict[tuple[str, str], float]:
    """(data set, model) -> how far rounding alone moves validation scores, where a run has measured it."""
    from benchmarks.results.files import read_csv

    path = folder / ROUNDING
    if not path.is_file():
        return {}
    return {(r.dataset, r.model): float(r.largest) for r in read_csv(path).itertuples()}


def _equal(one: Any, two: Any) -> bool:
    """Equal to the last bit; what is missing in a table comes back as nan."""
    return (_missing(one) and _missing(two)) or bool(one == two)


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def equal_codes(folder: Path, model: str, code: str) -> list[str]:
    """This code, and those whose rows it was proven to give again (`adopt`)."""
    proven = read_codes(folder).get(model, [])
    found = [code]
    for known in found:  # grows while it is read: equal to equal is equal
        found += [p["equals"] for p in proven if p["code"] == known and p["equals"] not in found]
    return found


def read_codes(folder: Path) -> dict[str, list[Row]]:
    """Model -> what was proven: {"code", "equals", "when", "rows"}."""
    from benchmarks.results.files import read_json

    path = folder / CODES
    return read_json(path) if path.is_file() else {}


def add_code(folder: Path, model: str, proof: Row) -> None:
    """Write down one more proof."""
    codes = read_codes(folder)
    codes.setdefault(model, []).append(proof)
    with replacing(folder / CODES) as part:
        part.write_text(json.dumps(codes, indent=1, sort_keys=True))


def write_table(rows: list[Row], path: Path) -> None:
    """One parquet row per trial; hyper-parameters as JSON text, so that a column may hold anything."""
    import pandas as pd

    flat = [r | {"hyper": json.dumps(r["hyper"], sort_keys=True)} for r in rows]
    with replacing(path) as part:
        pd.DataFrame(flat).to_parquet(part, index=False)


def read_tables(paths: Iterable[Path]) -> list[Row]:
    """Rows back from parquet, in the order of split and trial; a damaged file is an error that says what to do."""
    import pandas as pd

    rows: list[Row] = []
    for path in paths:
        try:
            frame = pd.read_parquet(path)
        except FileNotFoundError:
            raise FileNotFoundError(f"no table of trials {path}; `python -m benchmarks tune` makes it") from None
        except (OSError, ValueError) as error:  # pyarrow's own errors are ValueErrors
            raise ValueError(
                f"{path} is not a readable table of trials ({error}); delete it and run again: the journal beside it "
                "has every finished trial"
            ) from error
        if lost := [name for name in ("split", "trial", "hyper") if name not in frame]:
            raise ValueError(f"{path} is not a table of trials: it lacks {', '.join(lost)}; check the path")
        rows += plain_rows(frame)
    return sorted(rows, key=lambda r: (r["split"], r["trial"]))


def plain_rows(frame: Any) -> Iterator[Row]:
    """The rows of a table as they were before it was written."""
    for record in frame.to_dict("records"):
        yield record | {"hyper": json.loads(record["hyper"])}


def known_rows(folder: Path, dataset: str, model: str) -> list[Row]:
    """The rows of one model on one data set that a finished run has published in its trials.parquet."""
    from benchmarks.results.files import read_parquet

    path = folder / "trials.parquet"
    if not path.is_file():
        raise FileNotFoundError(
            f"known: {folder} holds no trials.parquet; name the folder of a finished run, such as results/reference"
        )
    found: list[Row] = []
    for table in (path, folder / FURTHER):
        if not table.is_file():
            continue
        frame = read_parquet(table, filters=[("dataset", "==", dataset), ("model", "==", model)])
        if len(frame) and "hyper" not in frame:
            raise ValueError(f"known: {table} was written by an older version of this project; its rows cannot be used")
        found += plain_rows(frame)
    return found
