"""What a run on the real data should show: aggregates only, beside the published value where there is one."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow.parquet as pq

from benchmarks.data.mimic3.database import count
from benchmarks.data.mimic3.tables import facts

_PUBLISHED = {
    "n": 35304,
    "censoring_rate": 0.61,
    "censored_mean": 0.21,
    "censored_median": 0.02,
    "observed_mean": 1.50,
    "observed_median": 0.42,
}
_IDS = ("subject_id", "hadm_id", "icustay_id", "time", "event")

Row = tuple[str, str, Any, Any]  # check, what of, value, published


def write_checks(
    connection: duckdb.DuckDBPyConnection, path: Path, mimic: Path, cohort: dict[str, Any], observed: dict[str, float]
) -> None:
    """Write checks.csv: row counts, outcome, columns, series, groups."""
    columns = {name: column.to_numpy() for name, column in zip(*_columns(mimic), strict=True)}
    rows = [*_tables(cohort), *_outcome(columns), *_features(columns), *_groups(connection)]
    rows += [("observed_hours", name, share, "") for name, share in observed.items()]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("check", "name", "value", "published"))
        writer.writerows(
            (check, name, f"{value:.6g}" if isinstance(value, float) else value, published)
            for check, name, value, published in rows
        )


def _columns(mimic: Path) -> tuple[list[str], list[Any]]:
    table = pq.ParquetFile(mimic).read()
    return table.column_names, table.columns


def _tables(cohort: dict[str, Any]) -> Iterator[Row]:
    for fact in facts("tables"):
        yield "rows", fact["table"], cohort["rows"][fact["table"]], int(fact["rows_v1_4"])


def _outcome(columns: dict[str, Any]) -> Iterator[Row]:
    event, time = columns["event"].astype(bool), columns["time"]
    values: dict[str, Any] = {"n": len(time), "censoring_rate": float(1 - event.mean())}
    for kind, chosen in (("censored", time[~event]), ("observed", time[event])):
        if len(chosen):
            values |= {f"{kind}_mean": float(chosen.mean()), f"{kind}_median": float(np.median(chosen))}
    for name, value in values.items():
        yield "outcome", name, value, _PUBLISHED[name]


def _features(columns: dict[str, Any]) -> Iterator[Row]:
    for name, values in columns.items():
        if name not in _IDS:
            present = values[~np.isnan(values)]
            yield "missing_share", name, float(np.isnan(values).mean()), ""
            for statistic, function in (("min", np.min), ("median", np.median), ("max", np.max)):
                yield statistic, name, float(function(present)) if len(present) else float("nan"), ""


def _groups(connection: duckdb.DuckDBPyConnection) -> Iterator[Row]:
    queries = {"age over 89": "age > 89", "aids": "aids = 1", "hem": "hem = 1", "mets": "mets = 1"}
    queries |= {f"admission type {code}": f"admissiontype = {code}" for code in (0, 1, 2)}
    queries |= {"carevue": "dbsource = 'carevue'", "metavision": "dbsource = 'metavision'"}
    for name, condition in queries.items():
        yield "count", name, count(connection, f"kept JOIN feature USING (hadm_id) WHERE {condition}"), ""
