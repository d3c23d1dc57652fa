"""Intervals for published means, made from the kept replications, and where a run's own means stand in them.

results/replications/intervals.csv has a row per data set, model, metric and truncation; error_rates.csv says how often
the same rule accepts what it should and rejects what it should not. Both are written by `benchmarks/studies/yardstick`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.results import pool
from benchmarks.results.folder import Results
from benchmarks.results.pool import Array, Interval, Lists, Pool
from benchmarks.results.replications import BEST_TRIALS, FOLDER, NEEDED, Searches, read_searches, replication_folders
from benchmarks.results.tidy import read_table

INTERVALS, ERROR_RATES = "intervals.csv", "error_rates.csv"
KEY = ["dataset", "model", "metric", "g_tau"]
LEFT_OUT = 0.05  # share of draws with a chosen trial that was not scored, up to which an interval is made
COLUMNS = [
    *(*KEY, "replications", "mean_between", "sd_between"),
    *("centre", "low", "high", "centre_per_split", "low_per_split", "high_per_split"),
]


def read_intervals(folder: Path = FOLDER) -> pd.DataFrame:
    """The kept intervals; empty with fewer replications than a verdict rests on."""
    kept = len(replication_folders(folder))
    path = folder / INTERVALS
    if kept < NEEDED:
        return no_intervals()
    frame = read_table(path)[COLUMNS] if path.is_file() else no_intervals()
    if set(frame["replications"]) != {kept}:
        raise ValueError(
            f"{path} is not made from the {kept} replications beside it; "
            "`python -m benchmarks.studies yardstick` makes it again"
        )
    return frame


def no_intervals() -> pd.DataFrame:
    """A table of intervals without rows."""
    return pd.DataFrame(columns=COLUMNS).astype(dict.fromkeys(COLUMNS[len(KEY) :], float))


def read_error_rates(folder: Path = FOLDER) -> pd.DataFrame | None:
    """How the yardstick judges what is known to be right and to be wrong; None where it was not measured."""
    path = folder / ERROR_RATES
    return read_table(path) if path.is_file() else None


def make_intervals(searches: Searches) -> pd.DataFrame:
    """The intervals of all cells of searched models, with one list for all splits and with a list per split.

    `mean_between` and `sd_between` are the mean and standard deviation between the replications' own means.
    """
    between = searches.means()
    rows = []
    for dataset, model in searches.searched:
        configurations, cells = searches.pool(dataset, model)
        found = {lists: new_searches(configurations, lists) for lists in ("shared", "per_split")}
        for i, cell in enumerate(cells):
            means = between.loc[(dataset, *cell, model)].to_numpy(float)
            key = (dataset, model, *cell, len(searches.names), means.mean(), means.std(ddof=1))
            one, each = (pool.interval(*found[lists][i]) for lists in ("shared", "per_split"))
            rows.append((*key, one.centre, one.low, one.high, each.centre, each.low, each.high))
            if (missing := max(one.missing, each.missing)) > LEFT_OUT:
                raise ValueError(
                    f"{model} on {dataset}: in {missing:.0%} of the draws a chosen trial has no test score; "
                    "score more of them (`python -m benchmarks.studies best_trials`)"
                )
    return pd.DataFrame(rows, columns=COLUMNS)


def new_searches(configurations: Pool, lists: Lists) -> list[tuple[Array, float]]:
    """Per cell, the means of searches drawn from the pool, and by how much a new search varies more."""
    shared = pool.draw_means(configurations, "shared")
    if lists == "shared":
        return [(means, pool.widening(configurations.size)) for means in shared]
    own = pool.draw_means(configurations, lists)
    ratios = [
        np.nanvar(one) / np.nanvar(each) if np.nanvar(each) else 1.0 for one, each in zip(shared, own, strict=True)
    ]
    return [(m, pool.widening(configurations.size, ratio=float(r))) for m, r in zip(own, ratios, strict=True)]


def percentiles(run: Results, searches: Searches) -> dict[tuple[str, ...], float]:
    """Per (data set, model, metric, g_tau), where a full run's mean stands among new searches of its own kind."""
    lists: Lists = "shared" if run.config.get("configurations") == "shared" else "per_split"
    means = run.cells.drop_duplicates(KEY).set_index(KEY)["mean"]
    places: dict[tuple[str, ...], float] = {}
    for dataset, model in searches.searched:
        if not ((run.cells["dataset"] == dataset) & (run.cells["model"] == model)).any():
            continue
        configurations, cells = searches.pool(dataset, model)
        for cell, (drawn, widen) in zip(cells, new_searches(configurations, lists), strict=True):
            if (key := (dataset, model, *cell)) in means.index:
                places[key] = pool.percentile(float(means[key]), drawn, widen)
    return places


def one_search(run: Results, datasets: Collection[str]) -> dict[tuple[str, ...], Interval]:
    """Intervals for data sets without replications, from draws of half of the run's own configurations.

    Empty where the run's best trials were not scored.
    """
    if not datasets or not (run.path / BEST_TRIALS).is_file():
        return {}
    searches = read_searches([run.path])
    lists: Lists = "shared" if run.config.get("configurations") == "shared" else "per_split"
    intervals: dict[tuple[str, ...], Interval] = {}
    for dataset, model in searches.searched:
        if dataset in datasets:
            configurations, cells = searches.pool(dataset, model, run.convention(dataset))
            own = configurations.mean()
            for cell, where in zip(cells, pool.one_search(configurations, lists, own), strict=True):
                intervals[(dataset, model, *cell)] = where
    return intervals


def departures(config: Mapping[str, Any], protocol: Mapping[str, Any]) -> list[str]:
    """How a run's training differs from that of the replications, in words."""
    mine, wanted = ({**c.get("training", {}), "convention": _convention(c)} for c in (config, protocol))
    both = [name for name in wanted if name in mine]
    return [f"{name} {mine[name]} instead of {wanted[name]}" for name in both if mine[name] != wanted[name]]


def _convention(config: Mapping[str, Any]) -> str:
    """The convention of the paper's data sets; "auto" means published for them."""
    return str(config["evaluation"]["convention"]).replace("auto", "published")
