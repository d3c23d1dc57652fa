"""The paper's own numbers, read from results/published."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.results.tidy import read_table

FOLDER = Path(__file__).resolve().parents[2] / "results" / "published"


def published_cells() -> pd.DataFrame:
    """The 251 published cells with the columns of `summarise`; p-values were not published."""
    cells = read_table(_file("cells.csv"))
    return cells.assign(n_planned=cells["n_splits"], p_value=float("nan"), p_corrected=float("nan"), status="ok")


def published_datasets() -> pd.DataFrame:
    """The paper's table of data sets."""
    return pd.read_csv(_file("datasets.csv"))


def related_work() -> pd.DataFrame:
    """The paper's comparison of methods."""
    return pd.read_csv(_file("related_work.csv"))


def _file(name: str) -> Path:
    path = FOLDER / name
    if not path.is_file():
        raise FileNotFoundError(
            f"the published numbers are missing: {path}; they are part of the repository, so run from a full clone"
        )
    return path
