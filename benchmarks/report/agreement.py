"""Each published cell with ours beside it, how far apart they are by three yardsticks, and a verdict.

Standard errors over splits say whether another ten splits would tell the two apart; on the same splits they are mild.
The absolute difference is judged beside them (close, near, far), and so is the search's own noise where it is known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from benchmarks.results.names import dataset_label

KEY = ["table", "dataset", "model", "metric", "g_tau"]
AGREES, DRIFTS = 2.0, 4.0  # at most this many combined standard errors apart; more than the second: differs
CLOSE, NEAR = 0.005, 0.01  # |difference| up to these
SEARCHES = 2 * math.sqrt(2)  # search errors: two searches, theirs and ours, each with its own noise
DISTANCES = ("close", "near", "far")
VERDICTS = ("agrees", "drifts", "differs", "failed", "not comparable", "not run")
COLUMNS = [
    *KEY,
    *("paper_mean", "paper_standard_error", "mean", "standard_error", "difference", "standard_errors", "verdict"),
    *("distance", "search_error", "within_search"),
    *("n_splits", "n_planned", "n_trials", "why"),
]
OURS = ["mean", "standard_error", "n_splits", "n_planned", "n_trials", "status"]


def agreement(
    published: pd.DataFrame, cells: pd.DataFrame, marks: Mapping[str, str], search: pd.DataFrame | None = None
) -> pd.DataFrame:
    """One row per published cell, in the paper's order.

    `standard_errors` is difference / sqrt(se1^2 + se2^2). `marks` names the data sets that are not the real ones: their
    cells are shown and never compared. `search` are `search_errors`, where the run has them.
    """
    paper = published[[*KEY, "mean", "standard_error"]]
    paper = paper.rename(columns={"mean": "paper_mean", "standard_error": "paper_standard_error"})
    both = paper.merge(cells[[*KEY, *OURS]], how="left", on=KEY, validate="one_to_one")
    both["difference"] = both["mean"] - both["paper_mean"]
    combined = np.hypot(both["standard_error"], both["paper_standard_error"])
    with np.errstate(divide="ignore", invalid="ignore"):
        both["standard_errors"] = np.where(both["difference"] == 0, 0.0, both["difference"] / combined)
    judged = [verdict(row, marks.get(row["dataset"], "")) for row in both.to_dict("records")]
    both["verdict"], both["why"] = ([text[k] for text in judged] for k in (0, 1))
    compared = both["verdict"].isin(VERDICTS[:3])
    both["standard_errors"] = both["standard_errors"].where(compared)
    both["difference"] = both["difference"].where(compared)
    both["distance"] = [distance(gap) for gap in both["difference"]]
    both = both.merge(_search(search), how="left", on=["dataset", "model", "metric", "g_tau"])
    known = both["search_error"].notna() & both["difference"].notna()
    both["within_search"] = (both["difference"].abs() <= SEARCHES * both["search_error"]).where(known)
    for name in ("n_splits", "n_planned", "n_trials"):
        both[name] = both[name].fillna(0).astype(int)
    return both[COLUMNS]


def _search(errors: pd.DataFrame | None) -> pd.DataFrame:
    columns = ["dataset", "model", "metric", "g_tau", "search_error"]
    return pd.DataFrame(columns=columns).astype({"search_error": float}) if errors is None else errors[columns]


def distance(difference: float) -> str:
    """close, near or far; nothing where there is nothing to compare. Rounding is forgiven: .005 is close."""
    if math.isnan(difference):
        return ""
    gap = round(abs(difference), 9)
    return DISTANCES[0] if gap <= CLOSE else DISTANCES[1] if gap <= NEAR else DISTANCES[2]


def verdict(row: Mapping[str, object], mark: str) -> tuple[str, str]:
    """The verdict on one cell and, where there is no plain comparison, why."""
    status = row["status"]
    if not isinstance(status, str) or status in ("missing", "not_applicable"):
        return "not run", ""
    if status == "failed":
        return "failed", "no trial of this model gave a score"
    if mark:
        return "not comparable", f"made from {mark} data"
    apart = abs(float(str(row["standard_errors"])))
    if math.isnan(float(str(row["standard_error"]))):
        return "not comparable", "one split has no error bar"
    found = "agrees" if apart <= AGREES else "drifts" if apart <= DRIFTS else "differs"
    return found, "" if status == "ok" else f"on {row['n_splits']:g} of {row['n_planned']:g} planned splits"


def table_name(table: str, dataset: str) -> str:
    """Which of the paper's tables a cell stands in."""
    return "Ablation" if table == "ablation" else dataset_label(dataset)


def counts(rows: pd.DataFrame) -> pd.DataFrame:
    """Cells per table and verdict, and how far apart the compared ones are; the last row is all tables."""
    named = rows.assign(name=[table_name(t, d) for t, d in zip(rows["table"], rows["dataset"], strict=True)])
    out = []
    for name in [*dict.fromkeys(named["name"]), "All"]:
        part = named if name == "All" else named[named["name"] == name]
        found = part["verdict"].value_counts()
        gap = part["difference"].abs().dropna()
        spread = {"median_gap": gap.median(), "largest_gap": gap.max()}
        out.append({"table": name, "cells": len(part), **{v: int(found.get(v, 0)) for v in VERDICTS}, **spread})
    return pd.DataFrame(out)


def yardsticks(rows: pd.DataFrame) -> dict[str, int]:
    """Of the compared cells: how many pass each yardstick; those of the search are of the cells it is known for."""
    compared = rows[rows["difference"].notna()]
    found = compared["distance"].value_counts()
    searched = compared["within_search"].dropna()
    return {
        "compared": len(compared),
        "agrees": int((compared["verdict"] == "agrees").sum()),
        **{name: int(found.get(name, 0)) for name in DISTANCES},
        "within_search": int(searched.astype(bool).sum()),
        "searched": len(searched),
    }


def signed_differences(rows: pd.DataFrame) -> pd.DataFrame:
    """Per data set and model: the mean of ours - published over truncations, by metric: one finding, not nine cells."""
    compared = rows[rows["difference"].notna()].drop_duplicates(["dataset", "model", "metric", "g_tau"])
    means = compared.groupby(["dataset", "model", "metric"], sort=False)["difference"].mean().unstack("metric")
    return means.reindex(columns=[m for m in ("ctd", "ibll", "ibs", "nll") if m in means]).reset_index()
