"""Bring a run together: scores, conventions, tests, cells and data sets as CSV, trials.parquet, environment.json."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from benchmarks.data.files import replacing
from benchmarks.results.files import read_parquet
from benchmarks.results.statistics import compare, summarise

KEYS = ["dataset", "model", "split", "metric", "g_tau"]


def gather_scores(paths: Iterable[Path]) -> pd.DataFrame:
    """All tidy scores, sorted, so that the order in which jobs ended leaves no trace."""
    frames = [frame for path in paths if len(frame := read_parquet(path))]
    if not frames:
        raise ValueError("no model has a score: every trial failed or diverged; see the trials and logs of this run")
    return pd.concat(frames).sort_values(["convention", *KEYS], ignore_index=True)


def gather_trials(paths: Iterable[Path]) -> pd.DataFrame:
    """All trial rows of the run."""
    frame = pd.concat([read_parquet(path) for path in paths], ignore_index=True)
    return frame.sort_values(["dataset", "model", "split", "trial"], ignore_index=True)


def gather(scores: pd.DataFrame, trials: pd.DataFrame, convention: str, planned: pd.DataFrame, out: Path) -> None:
    """Write the run's tables of numbers."""
    main = scores[scores["convention"] == convention][[*KEYS, "value"]].reset_index(drop=True)
    slim = trials[["dataset", "model", "split", "trial", "status"]]
    for name, frame in (
        ("scores.csv", main),
        ("conventions.csv", scores),
        ("tests.csv", compare(main)),
        ("cells.csv", summarise(main, slim, planned=planned)),
        ("planned.csv", planned),
    ):
        with replacing(out / name) as part:
            frame.to_csv(part, index=False)
    with replacing(out / "trials.parquet") as part:
        trials.to_parquet(part, index=False)
