"""MIMIC-SEQ: the first 24 hourly bins of each series, filled from the admission's own values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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

Grid = npt.NDArray[np.float64]  # (admission, hour, series)


def build_series(connection: duckdb.DuckDBPyConnection, options: MimicOptions, path: Path) -> dict[str, float]:
    """Write mimic_seq.parquet (subject_id, hour, one column per series); the share of hours observed per series."""
    run_sql(connection, "bins", options.choices())
    extracted: tuple[str, ...] = RAW15 if options.seq_features == "raw15" else ("gcs", *RAW15[3:])
    observed = _observed(connection, extracted)
    share = dict(zip(extracted, np.isfinite(observed).mean(axis=(0, 1)).tolist(), strict=True))
    filled = _repeat_last(connection, _filled(connection, observed, extracted))
    names = extracted
    if options.seq_features == "processed12":
        filled, names = _with_ratio(connection, filled, extracted, options.impute_window), PROCESSED12
    subjects = connection.execute("SELECT subject_id FROM kept ORDER BY place").fetchnumpy()["subject_id"]
    columns: dict[str, Any] = {"subject_id": np.repeat(subjects, HOURS)}
    columns["hour"] = np.tile(np.arange(HOURS, dtype=np.int32), len(subjects))
    columns |= {name: filled[:, :, i].ravel() for i, name in enumerate(names)}
    pq.write_table(pa.table(columns), path, compression="zstd")
    return share


def _observed(connection: duckdb.DuckDBPyConnection, names: tuple[str, ...]) -> Grid:
    """The bins as measured, NaN where there is nothing."""
    grid = np.full((count(connection, "kept"), HOURS, len(names)), np.nan)
    for i, name in enumerate(names):
        rows = connection.execute(
            "SELECT place, bin, value FROM bin WHERE series = ? AND bin < ?", [name, HOURS]
        ).fetchnumpy()
        grid[rows["place"], rows["bin"], i] = rows["value"]
    return grid


def _filled(connection: duckdb.DuckDBPyConnection, observed: Grid, names: tuple[str, ...]) -> Grid:
    """Forward, then backward; urine is a flow, so its empty hours get the admission's mean instead."""
    grid = observed.copy()
    for i, name in enumerate(names):
        rows = connection.execute(
            "SELECT place, first_value, mean_value FROM fill WHERE series = ?", [name]
        ).fetchnumpy()
        fallback = np.full(len(grid), np.nan)
        fallback[rows["place"]] = rows["mean_value" if name == "urine" else "first_value"]
        series = grid[:, :, i] if name == "urine" else _forward(grid[:, :, i])
        grid[:, :, i] = np.where(np.isnan(series), fallback[:, None], series)
    return grid


def _forward(series: Grid) -> Grid:
    last = np.maximum.accumulate(np.where(np.isnan(series), 0, np.arange(HOURS)), axis=1)
    return np.take_along_axis(series, last, axis=1)


def _repeat_last(connection: duckdb.DuckDBPyConnection, grid: Grid) -> Grid:
    """An admission with fewer than 24 bins repeats its last one."""
    bins = connection.execute("SELECT bins FROM timeline ORDER BY place").fetchnumpy()["bins"]
    hour = np.minimum(np.arange(HOURS), bins[:, None] - 1)
    return np.take_along_axis(grid, hour[:, :, None], axis=1)


def _with_ratio(connection: duckdb.DuckDBPyConnection, grid: Grid, names: tuple[str, ...], window: str) -> Grid:
    """PaO2 and FiO2 merged into their ratio; hours with a charted FiO2 of 0 are filled forward, then backward."""
    at = names.index("pao2")
    pao2, fio2 = grid[:, :, at], grid[:, :, at + 1]
    ratio = _forward(pao2 / np.where(fio2 == 0, np.nan, fio2))
    for place in np.flatnonzero((fio2 == 0).any(axis=1)):
        valid = ratio[place][np.isfinite(ratio[place])]
        later = _later_ratio(connection, int(place), pao2[place, -1]) if window == "full" else np.nan
        ratio[place] = np.where(np.isnan(ratio[place]), valid[0] if valid.size else later, ratio[place])
    return np.concatenate([grid[:, :, :at], ratio[:, :, None], grid[:, :, at + 2 :]], axis=2)


def _later_ratio(connection: duckdb.DuckDBPyConnection, place: int, pao2: float) -> float:
    """The first ratio after hour 24 of an admission whose FiO2 is 0 until then; NaN if there never is one."""
    query = "SELECT bin, series, value FROM bin WHERE place = ? AND bin >= ? AND series IN ('pao2', 'fio2')"
    later: dict[int, dict[str, float]] = {}
    for hour, name, value in connection.execute(query, [place, HOURS]).fetchall():
        later.setdefault(hour, {})[name] = value
    for _, measured in sorted(later.items()):
        pao2 = measured.get("pao2", pao2)
        if measured.get("fio2", 0) > 0:
            return pao2 / measured["fio2"]
    return float("nan")
