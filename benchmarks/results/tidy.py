"""Read and check tables of scores: one row per (dataset, model, split, metric, g_tau), with canonical types."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.metrics.base import LEVELS
from benchmarks.results.files import read_csv, read_parquet

CELL = ["dataset", "metric", "g_tau"]  # what models are compared on
SCORE = ["dataset", "model", "split", "metric", "g_tau"]  # what identifies a score
# The paper's rows: three metrics at three truncations, and the likelihood, which has none.
TRUNCATIONS = tuple(LEVELS)
PAPER_METRICS = (*((metric, g_tau) for metric in ("ctd", "ibll", "ibs") for g_tau in TRUNCATIONS), ("nll", ""))


def tidy_scores(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the scores with canonical types; missing columns and contradictory rows are errors."""
    require(scores, [*SCORE, "value"], "scores")
    scores = scores.copy()
    scores["g_tau"] = [canonical_g_tau(value) for value in scores["g_tau"]]
    scores["value"] = scores["value"].astype(float)
    twice = scores[scores.duplicated(SCORE)]
    if len(twice):
        key = ", ".join(f"{name}={twice.iloc[0][name]!r}" for name in SCORE)
        raise ValueError(
            f"scores hold {len(twice)} rows that name a score a second time (first: {key}); "
            "keep one row per dataset, model, split, metric and g_tau, under one convention"
        )
    return scores


def canonical_g_tau(value: Any) -> str:
    """Return P(C > tau) as the string used everywhere: "1e-8", "0.2", or "" for none (CSV readers make floats)."""
    if pd.isna(value) or value == "":
        return ""
    try:
        return re.sub(r"e-0+", "e-", f"{float(value):g}")
    except ValueError:
        raise ValueError(
            f'g_tau must be a number such as "1e-8" or "0.2", or "" for a metric without truncation; got {value!r}'
        ) from None


def require(frame: pd.DataFrame, columns: Iterable[str], what: str) -> None:
    """Raise if a table lacks a column."""
    wanted = list(columns)
    if missing := [name for name in wanted if name not in frame.columns]:
        raise ValueError(
            f"{what} lack the columns {', '.join(missing)}; wanted {', '.join(wanted)}, got {', '.join(frame.columns)}"
        )


def read_table(path: Path) -> pd.DataFrame:
    """Read a CSV or Parquet table of this project; g_tau stays text and no text becomes NaN."""
    if not path.is_file():
        raise FileNotFoundError(f"no such table: {path}; it must be a CSV or Parquet file")
    if path.suffix == ".parquet":
        return read_parquet(path)
    return read_csv(path, dtype={"g_tau": str}).fillna({"g_tau": "", "mark": "", "status": ""})
