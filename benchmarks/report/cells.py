"""The table of cells on the page: every number of the run beside the published one, and all that each rests on.

The page shows the table and carries the same numbers as data, split by split, so that its reader can open a cell,
leave splits out or choose another convention (template/recompute.js).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from benchmarks import data
from benchmarks.report.latex import PAPER_SPLITS
from benchmarks.report.provenance import hyper_text, trial_rows, used_hyper
from benchmarks.report.wording import arrow, cell_values, effort, known, mean_and_error, number, slug, uneven
from benchmarks.results.folder import Results
from benchmarks.results.names import (
    DATASETS,
    dataset_label,
    higher_is_better,
    in_order,
    metric_label,
    model_label,
    model_order,
)
from benchmarks.results.replications import read_replications
from benchmarks.results.statistics import ALPHA, TEST_TO_TRAIN
from benchmarks.results.tidy import PAPER_METRICS

TABLES = {"main": ("ctd", "ibll", "ibs"), "ablation": ("nll", "ctd"), "beyond": ("ctd", "ibll", "ibs", "nll")}
TITLES = {"main": "", "ablation": "SODEN and its variants", "beyond": "with models beyond the paper's"}
Key = tuple[str, str, str, str]  # data set, model, metric, truncation


def name_of(key: Key) -> str:
    """The cell's name in links: cell-support-soden-ctd-1e-8."""
    return slug("cell", *key)


def heads() -> list[dict[str, Any]]:
    """The metrics above the columns, each with its truncations."""
    metrics = dict.fromkeys(metric for metric, _ in PAPER_METRICS)
    columns = {m: [g for metric, g in PAPER_METRICS if metric == m] for m in metrics}
    return [{"metric": m, "label": metric_label(m), "arrow": arrow(m), "levels": columns[m]} for m in metrics]


def groups(run: Results, rows: pd.DataFrame) -> list[dict[str, Any]]:
    """The paper's result tables in its order, one after the other: each a data set's models, ranked among themselves.

    Tables of which the run has nothing stand at the end, with the published values alone; none if it has nothing of the
    paper.
    """
    rows = of_paper(rows)
    judged = {
        (r["table"], *(r[k] for k in ("dataset", "model", "metric", "g_tau"))): r for r in rows.to_dict("records")
    }
    cells = {(c["table"], c["dataset"], c["model"], c["metric"], c["g_tau"]): c for c in run.cells.to_dict("records")}
    ours, paper = {key[:2] for key in cells}, {key[:2] for key in judged}
    beyond = {dataset for table, dataset in ours if table == "beyond"}
    wanted = [
        (table, dataset)
        for dataset in in_order({d for _, d in ours | paper}, list(DATASETS))
        for table in TABLES
        # All of a data set that the paper does not have stands in the table of all models.
        if table == "beyond" or dataset not in beyond or dataset in PAPER_SPLITS
    ]
    named: set[Key] = set()
    weights = uneven(run)
    tables = []
    for table, dataset in sorted(wanted, key=lambda pair: pair not in ours and pair[1] not in {d for _, d in ours}):
        models = model_order({key[2] for key in (*cells, *judged) if key[:2] == (table, dataset)})
        if len(models) < (2 if table == "ablation" else 1):
            continue
        body = []
        for model in models:
            line: list[dict[str, Any] | None] = []
            for metric, g_tau in PAPER_METRICS:
                key = (dataset, model, metric, g_tau)
                there = metric in TABLES[table] and ((table, *key) in cells or (table, *key) in judged)
                line.append(_entry(key, cells.get((table, *key)), judged.get((table, *key)), named) if there else None)
            body.append({"model": model, "cells": line})
        about = {"effort": effort(run, dataset), "uneven": weights.get(dataset, ""), "title": TITLES[table]}
        tables.append({"run": (table, dataset) in ours, "rows": body, **about})
    return tables


def choices(groups: Sequence[Mapping[str, Any]], run: Results) -> dict[str, Any]:
    """What the reader can filter by, and the splits that can be left out."""
    return {
        "datasets": list(dict.fromkeys(group["effort"].name for group in groups)),
        "models": model_order({row["model"] for group in groups for row in group["rows"]}),
        "splits": sorted(map(int, run.scores["split"].unique())),
        "unrun": any(not group["run"] for group in groups),
    }


def _entry(key: Key, cell: Mapping[str, Any] | None, row: Mapping[str, Any] | None, named: set[Key]) -> dict[str, Any]:
    """A cell as printed; the first of its key gets the name that links lead to."""
    shown = {"text": "–", "mean": "", "mark": ""} if cell is None else cell_values(cell)
    first, verdict = key not in named, row["verdict"] if row else ""
    named.add(key)
    compared = row is not None and verdict != "not comparable"  # invented data have no published value
    paper = mean_and_error(row["paper_mean"], row["paper_standard_error"]) if row and compared else ""
    partial = cell is not None and cell["status"] == "partial"
    where = {"key": "/".join(key), "name": name_of(key), "id": name_of(key) if first else ""}
    return shown | where | {"verdict": verdict, "paper": paper, "partial": partial}


def of_paper(rows: pd.DataFrame) -> pd.DataFrame:
    """The published values beside the run's; none if it has a value beside none of them."""
    return rows if rows["mean"].notna().any() else rows.iloc[:0]


def contents(run: Results, rows: pd.DataFrame) -> dict[str, Any]:
    """What the page carries for its script: scores per split, what is known of each cell, and the chosen trials."""
    rows = of_paper(rows)
    scored = (
        run.conventions
        if len(run.conventions)
        else run.scores.assign(convention=run.scores["dataset"].map(run.convention))
    )
    paper = pd.MultiIndex.from_frame(scored[["metric", "g_tau"]]).isin(list(PAPER_METRICS))
    scored = scored[paper & scored["dataset"].isin(run.cells["dataset"])]
    splits = {d: sorted(map(int, part["split"].unique())) for d, part in scored.groupby("dataset")}
    scores: dict[str, dict[str, list[float | None]]] = {}
    for key, part in scored.groupby(["dataset", "model", "metric", "g_tau", "convention"]):
        *cell, convention = map(str, key)
        by_split = dict(zip(part["split"], part["value"], strict=True))
        values = [by_split.get(split, math.nan) for split in splits[cell[0]]]
        scores.setdefault("/".join(cell), {})[convention] = [v if math.isfinite(v) else None for v in values]
    models = model_order({*run.cells["model"], *rows["model"]})
    return {
        "run": run.name,
        "reference": run.reference,
        "alpha": ALPHA,
        "testToTrain": TEST_TO_TRAIN,
        "metrics": {m: {"label": metric_label(m), "higher": higher_is_better(m)} for m, _ in PAPER_METRICS},
        "models": {m: model_label(m) for m in models},
        "datasets": {d: dataset_label(d) for d in dict.fromkeys((*run.cells["dataset"], *rows["dataset"]))},
        "conventions": {d: run.convention(d) for d in splits},
        "splits": splits,
        "scores": scores,
        "cells": _cells(rows),
        "chosen": _chosen(run),
    }


def _cells(rows: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """What is known of each published cell, in words."""
    searches = read_replications().means()
    replicated = {
        key: [number(v, 4) for v in line] for key, line in zip(searches.index, searches.to_numpy(), strict=True)
    }
    by_key = {}
    for row in rows.to_dict("records"):
        key = (row["dataset"], row["model"], row["metric"], row["g_tau"])
        where = f"{number(row['low'], 4)} to {number(row['high'], 4)}" if known(row["low"]) else ""
        by_key["/".join(key)] = {
            "paper": mean_and_error(row["paper_mean"], row["paper_standard_error"]),
            "difference": number(row["difference"], 4, sign=True),
            "verdict": row["verdict"],
            "why": row["why"],
            "searches": where,
            "percentile": number(row["percentile"], 1) if known(row["percentile"]) else "",
            "replications": replicated.get((row["dataset"], row["metric"], row["g_tau"], row["model"]), []),
        }
    return by_key


def _chosen(run: Results) -> dict[str, list[dict[str, Any]]]:
    """Data set and model -> the chosen trial of each split."""
    by_cell: dict[str, list[dict[str, Any]]] = {}
    behind = {pair: trial_rows(run, *pair) for pair in dict.fromkeys((c.dataset, c.model) for c in run.chosen)}
    momentum = run.config["training"]["use_momentum"]
    for row in run.chosen:
        series = row.dataset in data.names() and data.has_series(row.dataset)
        trial = behind[row.dataset, row.model].get((row.split, row.trial))
        by_cell.setdefault(f"{row.dataset}/{row.model}", []).append(
            {
                "split": row.split,
                "trial": f"{'none' if row.trial is None else row.trial} of {row.n_trials}",
                "score": number(row.score, 4),
                "hyper": hyper_text(used_hyper(row.hyper, momentum, series)),
                "seed": str(row.seed),
                "identity": row.identity,
                "code": trial["code"] if trial else "",
            }
        )
    return by_cell


def as_script(content: Mapping[str, Any]) -> str:
    """JSON that can stand inside a script element: no character of it ends the element."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
