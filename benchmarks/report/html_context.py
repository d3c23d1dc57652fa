"""What the page says, as plain values: one function per section, each a reading of the run's folder."""

from __future__ import annotations

from typing import Any

import pandas as pd

from benchmarks.report.agreement import DISTANCES, VERDICTS, counts, signed_differences, table_name, yardsticks
from benchmarks.report.claims.check import VERDICTS as CLAIM_VERDICTS
from benchmarks.report.conventions import Comparison, summary
from benchmarks.report.html_format import arrow, cell_values, known, mean_and_error, number, plural, slug
from benchmarks.report.latex import PAPER_SPLITS, PAPER_TRIALS
from benchmarks.report.provenance import hyper_text, trial_rows
from benchmarks.results import counting
from benchmarks.results.folder import Results, Row
from benchmarks.results.names import (
    DATASETS,
    dataset_label,
    in_order,
    metric_label,
    model_label,
    model_order,
)
from benchmarks.results.ranks import Ranking, rankings
from benchmarks.results.statistics import ALPHA
from benchmarks.results.tidy import TRUNCATIONS

COUNTED = {"ablation": "Ablation", "beyond": "All models"}  # tables of more than one data set
PAPER_EPOCHS = 100
TABLES = {"main": ("ctd", "ibll", "ibs"), "ablation": ("nll", "ctd"), "beyond": ("ctd", "ibll", "ibs", "nll")}
FEW = 5  # splits; the fewest the paper uses


def head(run: Results, rows: pd.DataFrame, claims: pd.DataFrame) -> Row:
    """The first screen."""
    found = rows["verdict"].value_counts()
    tally: list[Row] = [{"verdict": v, "n": int(found.get(v, 0))} for v in VERDICTS]
    said = claims["verdict"].value_counts()
    efforts = [effort(run, name) for name in dataset_names(run)]
    compared = sum(t["n"] for t in tally[:3])
    return {
        "run": run.name,
        "tier": run.config["tier"],
        "cells": len(rows),
        "compared": compared,
        "tally": tally,
        "yardsticks": yardsticks(rows),
        "claims": [{"verdict": v, "n": int(said.get(v, 0))} for v in CLAIM_VERDICTS],
        "n_claims": len(claims),
        "efforts": efforts,
        "below": shortfalls(run),
        "few_splits": few_splits(run),
        "marks": {m: [e["label"] for e in efforts if e["mark"] == m] for m in sorted(set(run.marks.values()))},
        "missing": [dataset_label(n) for n, note in run.notes.items() if not note.get("available", True)],
        "convention": run.config["evaluation"]["convention"],
        "refits": refits(run),
        "taken": taken(run),
    }


def refits(run: Results) -> Row:
    """Chosen trials that were fitted again: how many, and those that did not give their rows again."""
    again = [row for row in run.chosen if row.get("refit")]
    bad = [row for row in again if str(row["refit"]).startswith("different")]
    said = [f"{dataset_label(r['dataset'])}, {model_label(r['model'])}, split {r['split']}: {r['refit']}" for r in bad]
    return {"n": len(again), "different": said}


def taken(run: Results) -> list[Row]:
    """Rows that another run made: its name, and how many of which models."""
    if "taken_from" not in run.trials:
        return []
    rows = run.trials.dropna(subset="taken_from")
    return [
        {"run": name, "n": len(part), "models": [model_label(m) for m in model_order(part["model"])]}
        for name, part in rows.groupby("taken_from")
    ]


def dataset_names(run: Results) -> list[str]:
    """Data sets with cells, in the paper's order."""
    return in_order(run.cells["dataset"], list(DATASETS))


def effort(run: Results, dataset: str) -> Row:
    """On how much the numbers of a data set rest."""
    cells = run.cells[(run.cells["dataset"] == dataset) & run.cells["mean"].notna()]
    splits = int(cells["n_splits"].max()) if len(cells) else 0
    return {
        "name": dataset,
        "label": dataset_label(dataset),
        "mark": run.marks.get(dataset, ""),
        "splits": splits,
        "released": run.split_sources.get(dataset) == "released",
        "trials": run.n_trials(dataset),
        "models": cells["model"].nunique(),
        "paper_splits": PAPER_SPLITS.get(dataset, 0),
    }


def few_splits(run: Results) -> bool:
    """Whether error bars rest on so few splits that they are wide by chance alone."""
    return any(0 < e["splits"] < FEW for e in (effort(run, name) for name in dataset_names(run)) if e["paper_splits"])


def shortfalls(run: Results) -> list[str]:
    """In which ways the run does less than the paper's protocol."""
    efforts = [e for e in (effort(run, name) for name in dataset_names(run)) if e["paper_splits"]]
    said = []
    if trials := sorted({e["trials"] for e in efforts if e["trials"] < PAPER_TRIALS}):
        said.append(f"{' or '.join(map(str, trials))} trials per split instead of {PAPER_TRIALS}")
    fewer = [e for e in efforts if e["splits"] < e["paper_splits"]]
    said += [f"{plural(e['splits'], 'split')} of {e['label']} instead of {e['paper_splits']}" for e in fewer]
    epochs = run.config["training"]["max_epochs"]
    if epochs < PAPER_EPOCHS:
        said.append(f"at most {plural(epochs, 'epoch')} per trial instead of {PAPER_EPOCHS}")
    return said


def agreement_tables(rows: pd.DataFrame, run: Results) -> list[Row]:
    """The published cells by table, with the counts of each."""
    totals = {row["table"]: row for row in counts(rows).to_dict("records")}
    named = rows.assign(name=[table_name(t, d) for t, d in zip(rows["table"], rows["dataset"], strict=True)])
    return [
        {
            "name": name,
            "counts": totals[name],
            "rows": [
                _agreement_row(row) | {"mark": run.marks.get(row["dataset"], "")} for row in part.to_dict("records")
            ],
            "run": bool((part["verdict"] != "not run").any()),
            "mark": run.marks.get(part["dataset"].iloc[0], "") if name != "Ablation" else "",
        }
        for name, part in named.groupby("name", sort=False)
    ]


def _agreement_row(row: Row) -> Row:
    rests = "" if not row["n_splits"] else f"{row['n_splits']} × {row['n_trials']}"
    return row | {
        "id": slug("cell", row["table"], row["dataset"], row["model"], row["metric"], row["g_tau"]),
        "rows_id": slug("rows", row["dataset"], row["model"]),
        "paper": mean_and_error(row["paper_mean"], row["paper_standard_error"]),
        "ours": mean_and_error(row["mean"], row["standard_error"]),
        "difference_text": number(row["difference"], 3, sign=True),
        "apart": number(row["standard_errors"], 1, sign=True),
        "search": number(row["search_error"], 4),
        "within": {True: "within", False: "beyond"}.get(row["within_search"], "–"),
        "rests": rests,
    }


def count_rows(rows: pd.DataFrame) -> list[Row]:
    """Cells per table and verdict."""
    return [dict(row) for row in counts(rows).to_dict("records")]


def signed_rows(rows: pd.DataFrame) -> list[Row]:
    """Mean signed differences of each model, and how many of its cells are close, near and far."""
    compared = rows[rows["difference"].notna()].drop_duplicates(["dataset", "model", "metric", "g_tau"])
    out = []
    for row in signed_differences(rows).to_dict("records"):
        mine = compared[(compared["dataset"] == row["dataset"]) & (compared["model"] == row["model"])]
        found = mine["distance"].value_counts()
        out.append({**row, **{name: int(found.get(name, 0)) for name in DISTANCES}})
    return [{metric: row.get(metric) for metric in ("ctd", "ibll", "ibs", "nll")} | row for row in out]


def result_tables(run: Results, rows: pd.DataFrame) -> list[Row]:
    """The paper's result tables with our numbers, the paper's below; one per data set, and the ablation."""
    keys = ["table", "dataset", "model", "metric", "g_tau"]
    judged = {tuple(row[k] for k in keys): row for row in rows.to_dict("records")}
    cells = {tuple(row[k] for k in keys): row for row in run.cells.to_dict("records")}
    beyond = set(run.cells.loc[run.cells["table"] == "beyond", "dataset"])
    tables = []
    for dataset in dataset_names(run):
        for table, metrics in TABLES.items():
            part = run.cells[(run.cells["table"] == table) & (run.cells["dataset"] == dataset)]
            models = model_order(part["model"])
            if len(models) < (2 if table == "ablation" else 1):
                continue
            if table != "beyond" and dataset in beyond and dataset not in PAPER_SPLITS:
                continue  # all of it stands in the table of all models
            columns = [(m, g) for m in metrics for g in (("",) if m == "nll" else TRUNCATIONS)]
            body = []
            for model in models:
                found = [(table, dataset, model, m, g) for m, g in columns]
                body.append({"model": model, "cells": [_result(cells.get(k), judged.get(k), k) for k in found]})
            heads = [{"metric": metric_label(m), "arrow": arrow(m), "g_tau": g} for m, g in columns]
            tables.append({**effort(run, dataset), "table": table, "heads": heads, "body": body})
    return tables


def _result(cell: Row | None, row: Row | None, key: tuple[str, ...]) -> Row:
    shown = cell_values(cell) | {"verdict": row["verdict"] if row else "", "paper": "", "title": ""}
    if cell is None or not known(cell["mean"]):
        return shown
    trials = int(cell["n_trials"]) if known(cell["n_trials"]) else 0
    title = f"{cell['n_splits']} of {cell['n_planned']} splits, {plural(trials, 'trial')} each"
    if known(cell["p_value"]):
        title += f"; against SODEN p = {cell['p_value']:.2g}, corrected {cell['p_corrected']:.2g}"
    compared = row is not None and row["verdict"] != "not comparable"  # invented data have no published value
    paper = mean_and_error(row["paper_mean"], row["paper_standard_error"]) if row and compared else ""
    link = slug("rows", key[1], key[2])
    return shown | {"partial": cell["status"] == "partial", "paper": paper, "title": title, "link": link}


def mean_ranks(run: Results) -> Row | None:
    """Mean ranks over data sets where there are models beyond the paper's: a row per model, a column per metric."""
    found, _ = rankings(run.cells)
    if not found or not (run.cells["table"] == "beyond").any():
        return None
    heads = [
        {"metric": r.metric, "arrow": arrow(r.metric), "p": r.p_value, "p_contenders": r.p_contenders}
        | {"cd": r.critical_difference}
        for r in found
    ]
    rows = [
        {"model": model, "cells": [_rank(ranking, model) for ranking in found]}
        for model in model_order({model for r in found for model in r.mean_ranks})
    ]
    return {"n": len(found[0].datasets), "heads": heads, "rows": rows}


def _rank(ranking: Ranking, model: str) -> Row:
    rank = ranking.mean_ranks.get(model)
    return {"rank": rank, "best": rank == min(ranking.mean_ranks.values())}


def extra_tables(run: Results) -> list[Row]:
    """D-calibration, which the paper does not report: the statistic, and on how many splits it is not rejected."""
    tables = []
    for dataset in dataset_names(run):
        scores = run.scores[run.scores["dataset"] == dataset]
        p_values = scores[scores["metric"] == "dcal_p"].dropna(subset="value")
        cells = run.cells[(run.cells["dataset"] == dataset) & (run.cells["metric"] == "dcal")]
        found = {row["model"]: row for row in cells.to_dict("records") if known(row["mean"])}
        rows = []
        for model in model_order(found):
            mine = p_values.loc[p_values["model"] == model, "value"]
            row = {"model": model, "mean": found[model]["mean"], "error": found[model]["standard_error"]}
            rows.append(row | {"kept": int((mine >= ALPHA).sum()), "of": len(mine)})
        if rows:
            tables.append({**effort(run, dataset), "rows": rows})
    return tables


def counting_rows(run: Results) -> list[Row]:
    """Per table: its tests against SODEN, how many survive each correction, and wins split by split; real data only."""
    real = run.scores[~run.scores["dataset"].isin(run.marks)]
    if real.empty or "soden" not in set(real["model"]):
        return []
    found = counting.counts(counting.counted(real)).to_dict("records")
    return [row | {"name": COUNTED.get(row["table"], dataset_label(row["table"]))} for row in found]


def convention_tables(found: list[Comparison], run: Results) -> list[Row]:
    """A table per data set and family: conventions down, models across."""
    return [
        {
            "dataset": dataset_label(c.dataset),
            "mark": run.marks.get(c.dataset, ""),
            "family": c.family,
            "models": [model_label(m) for m in c.models],
            "summary": summary(c),
            "rows": [
                {
                    "label": row.label,
                    "cells": [{"mean": row.means[m], "rank": row.ranks[m]} for m in c.models],
                    "tau": row.tau,
                    "base": row is c.rows[0],
                    "same_order": row.same_order,
                    "same_best": row.same_best,
                }
                for row in c.rows
            ],
        }
        for c in found
    ]


def chosen_tables(run: Results) -> list[Row]:
    """Per data set and model: the chosen trial of each split and the scores it gave."""
    scores = {(r.dataset, r.model, r.split, r.metric, r.g_tau): r.value for r in run.scores.itertuples(index=False)}
    shown = (("ctd", "1e-8"), ("ctd", "0.2"), ("ctd", "0.4"), ("ibll", "1e-8"), ("ibs", "1e-8"), ("nll", ""))
    tables = []
    for dataset in dataset_names(run):
        mine = [row for row in run.chosen if row["dataset"] == dataset]
        for model in model_order({row["model"] for row in mine}):
            trials = trial_rows(run, dataset, model)
            rows = [_chosen_row(row, scores, shown, trials) for row in mine if row["model"] == model]
            tables.append(
                {
                    "id": slug("rows", dataset, model),
                    "dataset": dataset_label(dataset),
                    "model": model_label(model),
                    "mark": run.marks.get(dataset, ""),
                    "heads": [f"{metric_label(m)} {g}".strip() for m, g in shown],
                    "command": f"python -m benchmarks explain {dataset} ctd 0.4 {model} --run {run.name}",
                    "rows": rows,
                }
            )
    return tables


def _chosen_row(row: Row, scores: dict[Any, float], shown: Any, trials: dict[Any, Row]) -> Row:
    trial = int(row["trial"]) if known(row.get("trial")) else None
    key = (row["dataset"], row["model"], row["split"])
    behind = trials.get((row["split"], trial), {})
    return {
        "split": row["split"],
        "trial": "none" if trial is None else str(trial),
        "n_trials": row["n_trials"],
        "score": number(row.get("score"), 4),
        "values": [number(scores.get((*key, *metric)), 4) for metric in shown],
        "seed": row.get("seed") if trial is not None else "",
        "hyper": hyper_text(row.get("hyper")),
        "identity": row.get("identity", ""),
        "code": behind.get("code", ""),
    }
