"""A table for every metric that the paper does not have: models down, data sets across, a block per truncation."""

from __future__ import annotations

import pandas as pd

from benchmarks.report.html_format import arrow, cell_values
from benchmarks.report.latex import (
    MOST_COLUMNS,
    Style,
    block,
    cell_text,
    coverage_note,
    floating,
    marks_note,
    truncation,
)
from benchmarks.report.result_tables import printed_order
from benchmarks.results.folder import Results, Row
from benchmarks.results.names import (
    DATASETS,
    better,
    dataset_label,
    in_order,
    metric,
    metric_label,
    model_label,
    model_order,
)
from benchmarks.results.tidy import PAPER_METRICS, TRUNCATIONS

PREFIX = "metric_"  # of a table's name, so that a metric and a data set may share one
# The page shows D-calibration as a test, with its own table.
ELSEWHERE = ("dcal", "dcal_p")
CAPTION = (
    r"METRIC (DIRECTION is better), a metric beyond the paper's. The \textbf{bold} and "
    r"\underline{underline} markers denote the best and the second best, the ($\pm$)~error bar the standard error of "
    r"the mean, the asterisk (*) a significant difference to SODEN under a paired t-test with p-value $<0.05$."
)


def other_metrics(cells: pd.DataFrame) -> list[str]:
    """The metrics of these cells that the paper does not report and this checkout has."""
    paper = {name for name, _ in PAPER_METRICS}
    return [name for name in in_order(cells["metric"], ()) if name not in paper and metric(name) is not None]


def metric_rows(cells: pd.DataFrame, name: str) -> pd.DataFrame:
    """The cells of one metric, in printed order: all models' where one is not the paper's, else the main ones'."""
    table = "beyond" if (cells["table"] == "beyond").any() else "main"
    found = cells[(cells["table"] == table) & (cells["metric"] == name)]
    return printed_order(
        found,
        g_tau=in_order(found["g_tau"], ("", *TRUNCATIONS)),
        model=model_order(found["model"]),
        dataset=in_order(found["dataset"], list(DATASETS)),
    )


def render_metric(cells: pd.DataFrame, name: str, style: Style) -> str:
    """LaTeX; the first column holds the truncation, where there is one."""
    rows = metric_rows(cells, name)
    found = {(c["g_tau"], c["model"], c["dataset"]): c for c in rows.to_dict("records")}
    datasets = list(dict.fromkeys(rows["dataset"]))
    heads = [style.dataset(d) for d in datasets]
    blocks = [" & ".join([r"$\mathcal{P}(C>\tau)$", "Model", *heads]) + r" \\"]
    for g_tau in rows["g_tau"].unique():
        lines = [
            " & ".join([style.model(m), *(cell_text(found.get((g_tau, m, d)), style) for d in datasets)])
            for m in rows["model"].unique()
        ]
        blocks.append(block(truncation(g_tau) if g_tau else "", "", lines))
    about = metric(name)
    caption = CAPTION.replace("METRIC", about.label if about else name)
    caption = caption.replace("DIRECTION", better(name))
    caption += marks_note(datasets, style) + coverage_note(list(found.values()), style)
    columns, wide = "ll|" + "l" * len(datasets), len(datasets) > MOST_COLUMNS
    return floating("\n\\midrule\n".join(blocks), columns, caption, f"tab:{PREFIX}{name}", wide=wide)


def page_tables(run: Results) -> list[Row]:
    """The same for the page: a row per model, a column per data set and truncation."""
    tables = []
    for name in other_metrics(run.cells):
        rows = metric_rows(run.cells, name)
        if name in ELSEWHERE or not rows["mean"].notna().any():
            continue
        found = {(c["dataset"], c["g_tau"], c["model"]): c for c in rows.to_dict("records")}
        columns = list(dict.fromkeys((dataset, g_tau) for dataset, g_tau, _ in found))
        heads = [{"dataset": dataset_label(d), "mark": run.marks.get(d, ""), "g_tau": g} for d, g in columns]
        body = [
            {"model": model_label(model), "cells": [cell_values(found.get((*column, model))) for column in columns]}
            for model in dict.fromkeys(rows["model"])
        ]
        tables.append({"label": metric_label(name), "arrow": arrow(name), "heads": heads, "body": body})
    return tables
