"""What each section of the page shows, as plain values for its template: one function per section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from benchmarks.report.agreement import CELL, NO_VERDICT, NOT_RUN, VERDICTS, counts, signed_differences, tally
from benchmarks.report.claims.check import NOT_ONCE, ONCE, SIMULATED, UNTESTED, statements
from benchmarks.report.claims.check import VERDICTS as CLAIM_VERDICTS
from benchmarks.report.conventions import Comparison, summary
from benchmarks.report.grid import metric_grid, other_metrics
from benchmarks.report.latex import PAPER_SPLITS, PAPER_TRIALS
from benchmarks.report.wording import Effort, arrow, cell_values, effort, known, plural, uneven
from benchmarks.results import counting, pool
from benchmarks.results.folder import Results
from benchmarks.results.names import DATASETS, dataset_label, in_order, metric_label, model_label, model_order
from benchmarks.results.ranks import Ranking, rankings
from benchmarks.results.replications import NEEDED, enough, how_many, replication_folders
from benchmarks.results.statistics import ALPHA
from benchmarks.results.yardstick import read_error_rates

Context = dict[str, Any]  # what the page's template prints, by name
COUNTED = {"ablation": "Ablation", "beyond": "All models"}  # tables of more than one data set
PAPER_EPOCHS = 100
# Where the paper and its code are; this project's own address is added here once it has one.
LINKS = {
    "The paper, arXiv 2008.08637 (JMLR volume 23, 2022)": "https://arxiv.org/abs/2008.08637",
    "The authors' code": "https://github.com/jiaqima/SODEN",
}
# Verdicts as sentences about several values or statements.
PLURALS = {"holds": "hold", "fails": "fail", ONCE: "held in this one search", NOT_ONCE: "did not"}
ELSEWHERE = ("dcal",)  # D-calibration, a test, has a table of its own


def head(run: Results, rows: pd.DataFrame, claims: pd.DataFrame) -> Context:
    """The first screen."""
    values = rows.drop_duplicates(CELL)
    by_value, by_claim = values["verdict"].value_counts(), claims["verdict"].value_counts()
    efforts, below = efforts_of(run), shortfalls(run)
    found = tally(rows)
    return {
        "run": run.name,
        "tier": run.config["tier"],
        "tally": [{"verdict": v, "n": int(by_value.get(v, 0)), "why": _why(values, v)} for v in VERDICTS],
        "waiting": NO_VERDICT in found.searched and not below and not enough(),
        "distinct": found,
        "replications": {
            "needed": NEEDED,
            "finished": len(replication_folders()),
            "enough": enough(),
            "words": how_many(),
        },
        "claims": [{"verdict": v, "n": int(by_claim.get(v, 0)), "why": ""} for v in CLAIM_VERDICTS],
        "n_claims": len(statements()),
        "efforts": efforts,
        "below": below,
        "marks": {m: [e.label for e in efforts if e.mark == m] for m in sorted(set(run.marks.values()))},
        "missing": [dataset_label(n) for n, note in run.notes.items() if not note.get("available", True)],
        "convention": conventions(run),
        "uneven": {dataset_label(name): text for name, text in uneven(run).items()},
        "refits": refits(run),
        "taken": taken(run),
        "of_paper": bool(rows["mean"].notna().any()),
        "paragraph": paragraph(run, rows, claims),
        "links": LINKS,
        "reference": run.reference,
    }


def conventions(run: Results) -> str:
    """By which convention the data sets are scored: "published", or "published (SUPPORT), text (FLCHAIN)"."""
    names: dict[str, list[str]] = {}
    for name in dataset_names(run):
        names.setdefault(run.convention(name), []).append(dataset_label(name))
    return ", ".join(c if len(names) == 1 else f"{c} ({', '.join(sets)})" for c, sets in names.items())


def _why(rows: pd.DataFrame, verdict: str) -> str:
    """Why values were not run or not judged, if all of them have one reason."""
    reasons = rows.loc[rows["verdict"] == verdict, "why"].unique()
    return str(reasons[0]) if verdict in (NOT_RUN, NO_VERDICT) and len(reasons) == 1 else ""


def paragraph(run: Results, rows: pd.DataFrame, claims: pd.DataFrame) -> str:
    """What was found, in sentences that can be quoted."""
    total, sets = tally(rows), [dataset_label(d) for d in dataset_names(run) if d in PAPER_SPLITS]
    gaps = rows.drop_duplicates(CELL)["difference"].abs().dropna()
    texts = [f"{total.tried} of the {total.values} distinct values in the paper's tables were tried, on {_and(sets)}"]
    if total.credentialed:
        texts[0] += f"; {total.credentialed} need credentialed data and were not run"
    if len(gaps):
        apart = f"{gaps.median():.3f} in the median and by {gaps.max():.3f} at most"
        texts.append(f"The run {run.name} differs from the published values by {apart}")
    if n := sum(total.unsearched.values()):
        texts.append(f"Of the {n} values of Cox, which has no search, {_counts(total.unsearched)}")
    if n := sum(total.searched.values()):
        reasons = rows.loc[(rows["verdict"] == NO_VERDICT) & rows["difference"].notna(), "why"].unique()
        if set(total.searched) != {NO_VERDICT} or len(reasons) > 1:
            texts.append(f"Of the {n} values of models with a search, {_counts(total.searched)}")
        elif reasons[0].endswith(f"of {NEEDED} replications"):
            finished = reasons[0].split()[0]
            texts.append(
                f"The {n} values of models with a search have no verdict yet: it needs {NEEDED} replications of the "
                f"whole search, of which {finished} are finished"
            )
        else:
            texts.append(f"The {n} values of models with a search get no verdict: {reasons[0]}")
    by_set = dict(list(claims[claims["verdict"] != UNTESTED].groupby("dataset", sort=False)["verdict"]))
    names = in_order(by_set, [*DATASETS, SIMULATED])
    if names:
        counted = [
            f"{'the simulation' if name == SIMULATED else dataset_label(name)}: "
            f"{_counts(by_set[name].value_counts().to_dict())}"
            for name in names
        ]
        texts.append(f"Statements of the paper, by data set: {'; '.join(counted)}")
    return ". ".join(texts) + "."


def _counts(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {PLURALS.get(verdict, verdict)}" for verdict, n in numbers.items())


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else "no data set"


def refits(run: Results) -> Context:
    """Chosen trials that were fitted again: how many, and those that did not give their rows again."""
    again = [row for row in run.chosen if row.refit]
    bad = [row for row in again if row.refit.startswith("different")]
    texts = [f"{dataset_label(r.dataset)}, {model_label(r.model)}, split {r.split}: {r.refit}" for r in bad]
    return {"n": len(again), "different": texts}


def taken(run: Results) -> list[Context]:
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


def efforts_of(run: Results) -> list[Effort]:
    """The effort behind each data set of the run."""
    return [effort(run, name) for name in dataset_names(run)]


def shortfalls(run: Results) -> list[str]:
    """In which ways the run does less than the paper's protocol."""
    efforts = [e for e in efforts_of(run) if e.paper_splits]
    texts = []
    if trials := sorted({e.trials for e in efforts if e.trials < PAPER_TRIALS}):
        texts.append(f"{' or '.join(map(str, trials))} trials per split instead of {PAPER_TRIALS}")
    fewer = [e for e in efforts if e.splits < e.paper_splits]
    texts += [f"{plural(e.splits, 'split')} of {e.label} instead of {e.paper_splits}" for e in fewer]
    epochs = run.config["training"]["max_epochs"]
    if epochs < PAPER_EPOCHS:
        texts.append(f"at most {plural(epochs, 'epoch')} per trial instead of {PAPER_EPOCHS}")
    return texts


def count_rows(rows: pd.DataFrame) -> list[Context]:
    """Cells per table and verdict."""
    return [dict(row) for row in counts(rows).to_dict("records")]


def error_rates(rows: pd.DataFrame) -> list[Context]:
    """How the yardstick judges what is known; nothing where no verdict rests on replications."""
    kept = read_error_rates() if rows["verdict"].isin(pool.VERDICTS).any() else None
    return [] if kept is None else [dict(row) for row in kept.to_dict("records")]


def signed_rows(rows: pd.DataFrame) -> list[Context]:
    """Mean signed differences of each model, and how many of its values got which verdict."""
    compared = rows[rows["difference"].notna()].drop_duplicates(CELL)
    out = []
    for row in signed_differences(rows).to_dict("records"):
        of_model = compared[(compared["dataset"] == row["dataset"]) & (compared["model"] == row["model"])]
        numbers = of_model["verdict"].value_counts()
        out.append({**row, "verdicts": {name: int(numbers.get(name, 0)) for name in pool.VERDICTS}})
    return [{metric: row.get(metric) for metric in ("ctd", "ibll", "ibs", "nll")} | row for row in out]


def mean_ranks(run: Results) -> Context | None:
    """Mean ranks over data sets where there are models beyond the paper's: a row per model, a column per metric."""
    ranked, _ = rankings(run.cells)
    if not ranked or not (run.cells["table"] == "beyond").any():
        return None
    rows = [
        {"model": model, "cells": [_rank(ranking, model) for ranking in ranked]}
        for model in model_order({model for r in ranked for model in r.mean_ranks})
    ]
    return {"n": len(ranked[0].datasets), "heads": [{"arrow": arrow(r.metric), "of": r} for r in ranked], "rows": rows}


def _rank(ranking: Ranking, model: str) -> Context:
    rank = ranking.mean_ranks.get(model)
    return {"rank": rank, "best": rank == min(ranking.mean_ranks.values())}


def metric_tables(run: Results) -> list[Context]:
    """Metrics that the paper does not have: a row per model, a column per data set and truncation."""
    tables = []
    for name in other_metrics(run.cells):
        rows = metric_grid(name).rows(run.cells)
        if name in ELSEWHERE or not rows["mean"].notna().any():
            continue
        cells = {(c["dataset"], c["g_tau"], c["model"]): c for c in rows.to_dict("records")}
        columns = list(dict.fromkeys((dataset, g_tau) for dataset, g_tau, _ in cells))
        heads = [{"dataset": dataset_label(d), "mark": run.marks.get(d, ""), "g_tau": g} for d, g in columns]
        body = [
            {"model": model_label(model), "cells": [cell_values(cells.get((*column, model))) for column in columns]}
            for model in dict.fromkeys(rows["model"])
        ]
        tables.append({"label": metric_label(name), "arrow": arrow(name), "heads": heads, "body": body})
    return tables


def extra_tables(run: Results) -> list[Context]:
    """D-calibration, which the paper does not report: the statistic, and on how many splits it is not rejected."""
    tables = []
    for dataset in dataset_names(run):
        scores = run.scores[run.scores["dataset"] == dataset]
        p_values = scores[scores["metric"] == "dcal_p"].dropna(subset="value")
        cells = run.cells[(run.cells["dataset"] == dataset) & (run.cells["metric"] == "dcal")]
        scored = {row["model"]: row for row in cells.to_dict("records") if known(row["mean"])}
        rows = []
        for model in model_order(scored):
            p_of_splits = p_values.loc[p_values["model"] == model, "value"]
            row = {"model": model, "mean": scored[model]["mean"], "error": scored[model]["standard_error"]}
            rows.append(row | {"kept": int((p_of_splits >= ALPHA).sum()), "of": len(p_of_splits)})
        if rows:
            tables.append({"effort": effort(run, dataset), "rows": rows})
    return tables


def counting_rows(run: Results) -> list[Context]:
    """Per table: its tests, how many survive each correction, and wins split by split; real data only."""
    real = run.scores[~run.scores["dataset"].isin(run.marks)]
    if real.empty or run.reference not in set(real["model"]):
        return []
    rows = counting.counts(counting.counted(real, run.reference)).to_dict("records")
    return [row | {"name": COUNTED.get(row["table"], dataset_label(row["table"]))} for row in rows]


def convention_tables(compared: list[Comparison], run: Results) -> list[Context]:
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
        for c in compared
    ]
