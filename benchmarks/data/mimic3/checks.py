"""The built cohort beside public figures: aggregates only, each with a tolerance, a verdict and its source."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pyarrow.parquet as pq

from benchmarks.data.mimic3.database import count
from benchmarks.data.mimic3.options import MimicOptions
from benchmarks.data.mimic3.tables import MimicError, facts

FILE = "checks.csv"
FEWEST = 10  # a smaller group is not counted in a table that people paste in public
NOT_JUDGED, EQUAL, CLOSE, OFF = "not judged", "equal", "close", "off"
_IDS = ("subject_id", "hadm_id", "icustay_id", "time", "event")
_ROWS = "mimic-code, postgres_checks.sql for v1.4"


class Check(NamedTuple):
    """One figure; `within` is a share of the published one ("2%") or an absolute width."""

    check: str
    name: str
    value: Any
    published: str = ""
    within: str = ""
    verdict: str = ""
    source: str = ""


def write_checks(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    out: Path,
    cohort: Mapping[str, Any],
    observed: Mapping[str, float],
) -> None:
    """Write checks.csv: row counts, the whole hospital, the funnel, outcome, columns, series, groups."""
    table = pq.ParquetFile(out / "mimic.parquet").read()
    columns = {name: column.to_numpy() for name, column in zip(table.column_names, table.columns, strict=True)}
    found = [*_public(cohort, columns), *_features(columns), *_groups(connection)]
    found += [Check("share of hours observed", name, share) for name, share in observed.items()]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Check._fields)
        writer.writerows(row._replace(value=_shown(row.value)) for row in found)


def verdict(value: float, published: str, within: str) -> str:
    """Equal as printed, close (within the tolerance) or off."""
    figure = float(published)
    if round(value, len(published.partition(".")[2])) == figure:
        return EQUAL
    width = float(within[:-1]) / 100 * figure if within.endswith("%") else float(within)
    return CLOSE if abs(value - figure) <= width else OFF


def table_of(built: Path) -> list[str]:
    """The checks of a finished build as lines of Markdown, to be pasted into an issue: no patient is in it."""
    if not (built / "build.json").exists():
        raise MimicError(f"{built} is not a finished build; run `python -m benchmarks mimic build` first")
    about = json.loads((built / "build.json").read_text(encoding="utf-8"))
    with (built / FILE).open(newline="", encoding="utf-8") as file:
        rows = [Check(**row) for row in csv.DictReader(file)]
    usual = MimicOptions().choices()
    changed = {name: value for name, value in about["options"].items() if value != usual.get(name)}
    judged = Counter(row.verdict for row in rows if row.verdict)
    return [
        f"Built from {about['mark'] or 'MIMIC-III v1.4'} tables; choices other than the defaults: {changed or 'none'}.",
        "",
        "| " + " | ".join(Check._fields) + " |",
        "|" + "---|" * len(Check._fields),
        *("| " + " | ".join(map(str, row)) + " |" for row in rows),
        "",
        f"{judged.total()} public figures: " + ", ".join(f"{judged[word]} {word}" for word in sorted(judged)),
    ]


def _shown(value: Any) -> Any:
    return f"{value:.4g}" if isinstance(value, float) else value


def _public(cohort: Mapping[str, Any], columns: Mapping[str, Any]) -> Iterator[Check]:
    """Figures somebody published; invented tables and the demo have others, and are not judged by them."""
    own = {"adults": cohort["adults"], "outcome": _outcome(columns)}
    own["flow"] = {f"rule {row['step']}": row["left"] for row in cohort["flow"]}
    wanted = [
        Check("rows", fact["table"], cohort["rows"][fact["table"]], fact["rows_v1_4"], "0%", source=_ROWS)
        for fact in facts("tables")
    ]
    wanted += [Check(value=own[fact["check"]].get(fact["name"]), **fact) for fact in facts("aggregates")]
    for row in wanted:
        judged = not cohort["mark"] and row.value is not None
        yield row._replace(verdict=verdict(row.value, row.published, row.within) if judged else NOT_JUDGED)


def _outcome(columns: Mapping[str, Any]) -> dict[str, float]:
    event, time = columns["event"].astype(bool), columns["time"]
    values = {"n": len(time), "censoring_rate": float(1 - event.mean())}
    for kind, chosen in (("censored", time[~event]), ("observed", time[event])):
        if len(chosen):
            values |= {f"{kind}_mean": float(chosen.mean()), f"{kind}_median": float(np.median(chosen))}
    return values


def _features(columns: Mapping[str, Any]) -> Iterator[Check]:
    """No minima and maxima: those are single patients' values."""
    for name, values in columns.items():
        if name not in _IDS:
            present = values[~np.isnan(values)]
            yield Check("share missing", name, float(np.isnan(values).mean()))
            yield Check("median", name, float(np.median(present)) if len(present) >= FEWEST else "")


def _groups(connection: duckdb.DuckDBPyConnection) -> Iterator[Check]:
    queries = {"age over 89": "age > 89", "aids": "aids = 1", "hem": "hem = 1", "mets": "mets = 1"}
    queries |= {f"admission type {code}": f"admissiontype = {code}" for code in (0, 1, 2)}
    queries |= {"carevue": "dbsource = 'carevue'", "metavision": "dbsource = 'metavision'"}
    rows = {name: f"kept JOIN feature USING (hadm_id) WHERE {condition}" for name, condition in queries.items()}
    rows["admissions the notebook loses, of those in rule 4"] = "labelled WHERE is_lost"
    rows["first record after INTIME: hour 23 ends past 24 h"] = "kept WHERE first_time > intime"
    for name, chosen in rows.items():
        n = count(connection, chosen)
        yield Check("count", name, n if n >= FEWEST or n == 0 else f"under {FEWEST}")
