"""The page about predictions that came from outside: their scores among the reference's, and every test."""

from __future__ import annotations

from typing import Any

import pandas as pd

from benchmarks.data.dataset import Dataset
from benchmarks.report.html import render
from benchmarks.report.wording import arrow, cell_values, number
from benchmarks.results.folder import Results
from benchmarks.results.names import metric_label, model_label, model_order
from benchmarks.results.statistics import ALPHA
from benchmarks.results.tidy import TRUNCATIONS

COLUMNS = [(metric, g_tau) for metric in ("ctd", "ibll", "ibs") for g_tau in TRUNCATIONS]


def page(
    reference: Results, dataset: Dataset, name: str, label: str, cells: pd.DataFrame, tests: pd.DataFrame, between: str
) -> str:
    """One self-contained page; same scores, same bytes."""
    by_key = {(c["model"], c["metric"], c["g_tau"]): c for c in cells[cells["table"] == "beyond"].to_dict("records")}
    labels = {model: label if model == name else model_label(model) for model, _, _ in by_key}
    models = [*model_order(set(labels) - {name}), name]
    return render(
        "score.html",
        label=label,
        dataset=dataset.label,
        mark=dataset.mark,
        reference=reference.name,
        n_splits=int(cells["n_splits"].max()),
        between=between,
        alpha=ALPHA,
        heads=[f"{metric_label(m)} {arrow(m)} {g}" for m, g in COLUMNS],
        body=[
            {"label": labels[m], "own": m == name, "cells": [cell_values(by_key.get((m, *key))) for key in COLUMNS]}
            for m in models
        ],
        tests=[
            _test(row, labels)
            for key in COLUMNS
            for model in models
            for row in tests.to_dict("records")
            if (row["metric"], row["g_tau"], row["model"]) == (*key, model)
        ],
    )


def _test(row: dict[Any, Any], labels: dict[str, str]) -> dict[str, Any]:
    return {
        **row,
        "label": labels[row["model"]],
        "metric_label": f"{metric_label(row['metric'])} {row['g_tau']}",
        "mean_text": number(row["mean"], 4),
        "their_text": number(row["their_mean"], 4),
        "difference_text": number(row["difference"], 4, sign=True),
    }
