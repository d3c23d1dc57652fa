"""Each published value with the run's beside it, and the verdict of the replications on the published one.

The verdict is on the paper's number, not on the run: it says whether searches of the same kind give such a mean. It
rests on the kept replications (`benchmarks.results.yardstick`) and is given only beside a run of the full protocol.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.report.latex import PAPER_SPLITS
from benchmarks.results import pool, yardstick
from benchmarks.results.folder import Results
from benchmarks.results.names import dataset_label, is_searched
from benchmarks.results.pool import CLOSE, CLOSE_BY, DIFFERENT, REPRODUCED, Interval
from benchmarks.results.replications import NEEDED, read_replications, replication_folders

KEY = ["table", "dataset", "model", "metric", "g_tau"]
CELL = KEY[1:]
ONE_SEARCH, NO_VERDICT, NOT_RUN = "one search", "no verdict", "not run"
VERDICTS = (*pool.VERDICTS, ONE_SEARCH, NO_VERDICT, "failed", "not comparable", NOT_RUN)
COLUMNS = [
    *(*KEY, "paper_mean", "paper_standard_error", "mean", "standard_error", "difference", "verdict", "why"),
    *("centre", "low", "high", "half_width", "low_per_split", "high_per_split", "verdict_per_split"),
    *("replications", "mean_between", "sd_between", "percentile"),
    *("standard_errors", "n_splits", "n_planned", "n_trials"),
]
# What the two spreads of a cell mean, for tables and captions.
SPREADS = {
    "standard_error": "Standard error over splits: how much the mean varies with other splits of the same subjects.",
    "sd_between": "Standard deviation between replications: how much the mean varies with another search on the same "
    "data and splits. Replications share both, so it says nothing about other samples of subjects.",
}
OURS = ["mean", "standard_error", "n_splits", "n_planned", "n_trials", "status"]
CREDENTIALED = ("mimic", "mimic_seq")
NEEDS_CREDENTIALS = "needs credentialed data"


@dataclass(frozen=True)
class Yardstick:
    """What published values are judged by, beside one run."""

    intervals: pd.DataFrame = field(default_factory=yardstick.no_intervals)
    replications: int = 0  # how many are kept
    percentiles: Mapping[tuple[str, ...], float] = field(default_factory=dict)
    own: Mapping[tuple[str, ...], Interval] = field(default_factory=dict)  # of data sets without replications
    departures: Sequence[str] = ()  # of the run from the replications' protocol


def yardstick_of(run: Results) -> Yardstick:
    """The kept intervals; for a full run also its percentiles, and intervals of its own where there are no others."""
    intervals, kept = yardstick.read_intervals(), len(replication_folders())
    full = {c["dataset"] for c in run.cells.to_dict("records") if not shortfall(c) and c["dataset"] not in run.marks}
    from_one_search = yardstick.one_search(run, full & set(CREDENTIALED))
    if not full & set(intervals["dataset"]):
        return Yardstick(intervals, kept, {}, from_one_search)
    replications = read_replications()
    departures = yardstick.departures(run.config, replications.configs[0])
    places = {} if departures else yardstick.percentiles(run, replications)
    return Yardstick(intervals, kept, places, from_one_search, departures)


def agreement(
    published: pd.DataFrame, cells: pd.DataFrame, marks: Mapping[str, str], by: Yardstick | None = None
) -> pd.DataFrame:
    """One row per entry of the paper's tables, in the paper's order.

    `marks` names the data sets that are not the real ones: their cells are shown and never compared.
    `standard_errors` is difference / sqrt(se1^2 + se2^2) over splits: the luck of the split, not of the search.
    """
    by = by or Yardstick()
    paper = published[[*KEY, "mean", "standard_error"]]
    paper = paper.rename(columns={"mean": "paper_mean", "standard_error": "paper_standard_error"})
    both = paper.merge(cells[[*KEY, *OURS]], how="left", on=KEY, validate="one_to_one")
    both = both.merge(by.intervals, how="left", on=CELL)
    both["half_width"] = np.maximum(both["high"] - both["centre"], both["centre"] - both["low"])
    judged = [verdict(row, marks.get(row["dataset"], ""), by) for row in both.to_dict("records")]
    both["verdict"], both["why"] = ([text[k] for text in judged] for k in (0, 1))
    compared = ~both["verdict"].isin(VERDICTS[-3:])
    both["difference"] = (both["mean"] - both["paper_mean"]).where(compared)
    combined = np.hypot(both["standard_error"], both["paper_standard_error"])
    with np.errstate(divide="ignore", invalid="ignore"):
        both["standard_errors"] = np.where(both["difference"] == 0, 0.0, both["difference"] / combined)
    each = [
        pool.verdict(
            row.paper_mean, Interval(row.centre_per_split, row.low_per_split, row.high_per_split, 0), row.metric
        )
        for row in both.itertuples()
    ]
    both["verdict_per_split"] = np.where(both["verdict"].isin(pool.VERDICTS) & both["centre"].notna(), each, "")
    keys = both[CELL].itertuples(index=False, name=None)
    both["percentile"] = [by.percentiles.get(key, math.nan) for key in keys]
    for name in ("n_splits", "n_planned", "n_trials", "replications"):
        both[name] = both[name].fillna(0).astype(int)
    return both[COLUMNS]


def judge(run: Results, published: pd.DataFrame) -> pd.DataFrame:
    """`agreement` of a run, by the kept replications."""
    return agreement(published, run.cells, run.marks, yardstick_of(run))


def verdict(row: Mapping[str, Any], mark: str, by: Yardstick) -> tuple[str, str]:
    """The verdict on one published value beside this run's and, where there is none, why."""
    status = row["status"]
    if not isinstance(status, str) or status in ("missing", "not_applicable"):
        return NOT_RUN, NEEDS_CREDENTIALS if row["dataset"] in CREDENTIALED else ""
    if status == "failed":
        return "failed", "no trial of this model gave a score"
    if mark:
        return "not comparable", f"made from {mark} data"
    if less := shortfall(row):
        return NO_VERDICT, less
    if not is_searched(row["model"]):
        return _unsearched(row["mean"] - row["paper_mean"]), ""
    if by.departures:
        return NO_VERDICT, "; ".join(by.departures)
    if not math.isnan(row["centre"]):
        return pool.verdict(row["paper_mean"], Interval(row["centre"], row["low"], row["high"], 0.0), row["metric"]), ""
    if where := by.own.get(tuple(row[name] for name in CELL)):
        inside = "inside" if where.contains(row["paper_mean"]) else "outside"
        return ONE_SEARCH, f"published value {inside} {where.low:.3f} to {where.high:.3f}, of draws from this search"
    if row["dataset"] in CREDENTIALED:
        return ONE_SEARCH, "its best trials were not scored (`python -m benchmarks.studies best_trials --run ...`)"
    if by.replications < NEEDED:
        return NO_VERDICT, f"{by.replications} of {NEEDED} replications"
    return NO_VERDICT, "not among the replications"


def _unsearched(difference: float) -> str:
    """Of a model that is fitted without a search: there is no chance in it but rounding."""
    gap = round(abs(difference), 9)
    return REPRODUCED if gap <= pool.COX_LARGEST else CLOSE_BY if gap <= CLOSE else DIFFERENT


def shortfall(cell: Mapping[str, Any]) -> str:
    """In what a cell does less than the paper's protocol, in words; empty where it does not."""
    wanted, less = PAPER_SPLITS.get(cell["dataset"], 0), []
    if is_searched(cell["model"]) and not cell["n_trials"] >= pool.LIST:
        less.append(f"{cell['n_trials']:g} trials instead of {pool.LIST}")
    if cell["n_splits"] < max(wanted, cell["n_planned"]):
        less.append(f"{cell['n_splits']:g} splits instead of {max(wanted, cell['n_planned']):g}")
    return "; ".join(less)


def table_name(table: str, dataset: str) -> str:
    """Which of the paper's tables a value stands in."""
    return "Ablation" if table == "ablation" else dataset_label(dataset)


def counts(rows: pd.DataFrame) -> pd.DataFrame:
    """Table entries per table and verdict, and how far apart the compared ones are; the last row is all tables."""
    named = rows.assign(name=[table_name(t, d) for t, d in zip(rows["table"], rows["dataset"], strict=True)])
    out = []
    for name in [*dict.fromkeys(named["name"]), "All"]:
        part = named if name == "All" else named[named["name"] == name]
        by_verdict = part["verdict"].value_counts()
        gap = part["difference"].abs().dropna()
        spread = {"median_gap": gap.median(), "largest_gap": gap.max()}
        out.append({"table": name, "cells": len(part), **{v: int(by_verdict.get(v, 0)) for v in VERDICTS}, **spread})
    return pd.DataFrame(out)


@dataclass(frozen=True)
class Tally:
    """Counts of distinct published values: SODEN's C stands in two tables and counts once."""

    entries: int  # of the paper's tables
    values: int  # distinct ones
    tried: int  # of which this run has a value from real data
    credentialed: int  # not tried, because their data need credentials
    searched: dict[str, int]  # verdict -> tried values of models with a search
    unsearched: dict[str, int]  # the same of Cox
    replications: int
    inside: int  # searched values with a percentile between 2.5 and 97.5
    placed: int  # searched values with a percentile


def tally(rows: pd.DataFrame) -> Tally:
    """How many distinct published values got which verdict."""
    values = rows.drop_duplicates(CELL)
    tried = values[values["difference"].notna()]
    searched = tried["model"].map(is_searched).astype(bool)
    placed = tried["percentile"].dropna()

    def by_verdict(part: pd.DataFrame) -> dict[str, int]:
        return {v: int(n) for v in VERDICTS if (n := (part["verdict"] == v).sum())}

    return Tally(
        entries=len(rows),
        values=len(values),
        tried=len(tried),
        credentialed=int((values["why"] == NEEDS_CREDENTIALS).sum()),
        searched=by_verdict(tried[searched]),
        unsearched=by_verdict(tried[~searched]),
        replications=int(rows["replications"].max()),
        inside=int(placed.between(2.5, 97.5).sum()),
        placed=len(placed),
    )


def signed_differences(rows: pd.DataFrame) -> pd.DataFrame:
    """Per data set and model: the mean of ours - published over truncations, by metric: one finding, not nine cells."""
    compared = rows[rows["difference"].notna()].drop_duplicates(CELL)
    means = compared.groupby(["dataset", "model", "metric"], sort=False)["difference"].mean().unstack("metric")
    return means.reindex(columns=[m for m in ("ctd", "ibll", "ibs", "nll") if m in means]).reset_index()
