"""MIMIC-SEQ: the first 24 hourly bins of each series, filled from the admission's own values."""

from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data.mimic3.database import count, run_sql
from benchmarks.data.mimic3.options import MimicOptions

HOURS = 24
_LABS = ("bun", "wbc", "bicarbonate", "sodium", "potassium", "bilirubin")
RAW15 = ("gcs_verbal", "gcs_motor", "gcs_eyes", "sysbp", "heart_rate", "tempc", "pao2", "fio2", "urine", *_LABS)
PROCESSED12 = ("gcs", "sysbp", "heart_rate", "tempc", "pao2fio2", "urine", *_LABS)


class Observed(NamedTuple):
    """Of one series: the share of all patients' 24 hours with a value, and of how many patients there is one."""

    share: float
    patients: int


Grid = npt.NDArray[np.float64]  # (series, admission, hour): each series lies in one piece, as its column is written


def build_series(connection: duckdb.DuckDBPyConnection, options: MimicOptions, path: Path) -> dict[str, Observed]:
    """Write mimic_seq.parquet (subject_id, hour, one column per series); return what was observed of each series."""
    run_sql(connection, "bins", options.choices())
    names: tuple[str, ...] = RAW15 if options.seq_features == "raw15" else ("gcs", *RAW15[3:])
    grid = _observed(connection, names)
    seen = np.isfinite(grid)
    patients = seen.any(axis=2).sum(axis=1).tolist()
    observed = dict(zip(names, map(Observed, seen.mean(axis=(1, 2)).tolist(), patients), strict=True))
    _fill(connection, grid, names)
    if options.seq_features == "processed12":
        grid, names = _with_ratio(connection, grid, names), PROCESSED12
    grid = _repeat_last(connection, grid)
    subjects = connection.execute("SELECT subject_id FROM kept ORDER BY place").fetchnumpy()["subject_id"]
    columns: dict[str, Any] = {"subject_id": np.repeat(subjects, HOURS)}
    columns["hour"] = np.tile(np.arange(HOURS, dtype=np.int32), len(subjects))
    columns |= {name: series.ravel() for name, series in zip(names, grid, strict=True)}
    pq.write_table(pa.table(columns), path, compression="zstd")
    return observed


def _observed(connection: duckdb.DuckDBPyConnection, names: tuple[str, ...]) -> Grid:
    """The bins as measured, NaN where there is nothing."""
    grid = np.full((len(names), count(connection, "kept"), HOURS), np.nan)
    query = "SELECT place, bin, value FROM bin WHERE series = ? AND bin < ?"
    for series, name in zip(grid, names, strict=True):
        rows = connection.execute(query, [name, HOURS]).fetchnumpy()
        series[rows["place"], rows["bin"]] = rows["value"]
    return grid


def _fill(connection: duckdb.DuckDBPyConnection, grid: Grid, names: tuple[str, ...]) -> None:
    """Forward, then backward; urine is a flow, so its empty hours get the admission's mean instead."""
    query = "SELECT place, first_value, mean_value FROM fill WHERE series = ?"
    for series, name in zip(grid, names, strict=True):
        rows = connection.execute(query, [name]).fetchnumpy()
        fallback = np.full(len(series), np.nan)
        fallback[rows["place"]] = rows["mean_value" if name == "urine" else "first_value"]
        if name != "urine":
            series[:] = _forward(series)
        np.copyto(series, fallback[:, None], where=np.isnan(series))


def _forward(series: Grid) -> Grid:
    last = np.maximum.accumulate(np.where(np.isnan(series), 0, np.arange(HOURS)), axis=1)
    return np.take_along_axis(series, last, axis=1)


def _repeat_last(connection: duckdb.DuckDBPyConnection, grid: Grid) -> Grid:
    """An admission with fewer than 24 bins repeats its last one; the span rule makes that rare."""
    bins = connection.execute("SELECT bins FROM timeline ORDER BY place").fetchnumpy()["bins"]
    if (bins >= HOURS).all():
        return grid
    hour = np.minimum(np.arange(HOURS), bins[:, None] - 1)
    return np.take_along_axis(grid, hour[None], axis=2)


def _with_ratio(connection: duckdb.DuckDBPyConnection, grid: Grid, names: tuple[str, ...]) -> Grid:
    """PaO2 and FiO2 merged into their ratio; where a charted FiO2 of 0 leaves none, filled like the others."""
    pao2, fio2 = grid[names.index("pao2")], grid[names.index("fio2")]
    ratio = _forward(np.divide(pao2, fio2, out=np.full_like(pao2, np.nan), where=fio2 != 0))
    rows = connection.execute("SELECT place, ratio FROM first_ratio").fetchnumpy()
    fallback = np.full(len(ratio), np.nan)
    fallback[rows["place"]] = rows["ratio"]
    np.copyto(ratio, fallback[:, None], where=np.isnan(ratio))
    return np.concatenate([grid[: names.index("pao2")], ratio[None], grid[names.index("fio2") + 1 :]])
