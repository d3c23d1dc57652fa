"""The table of all models, those that the paper left out among them: a block per metric, a column per data set."""

from __future__ import annotations

import pandas as pd

from benchmarks.report.latex import (
    MOST_COLUMNS,
    Style,
    block,
    cell_text,
    coverage_note,
    floating,
    latex_arrow,
    marks_note,
)
from benchmarks.report.result_tables import HEADS, printed_order
from benchmarks.results.names import DATASETS, in_order, model_order
from benchmarks.results.tidy import TRUNCATIONS

METRICS = ("ctd", "ibll", "ibs", "nll")
G_TAU = TRUNCATIONS[0]
BLOCKS = {m: f"{HEADS.get(m, m.upper())} {latex_arrow(m)}" for m in METRICS}
CAPTION = (
    r"All models, those that the paper left out among them, with $\mathcal{P}(C>\tau) = 10^{-8}$. The \textbf{bold} "
    r"and \underline{underline} markers denote the best and the second best of all models, the ($\pm$)~error bar the "
    r"standard error of the mean, the asterisk (*) a significant difference to SODEN under a paired t-test with "
    r"p-value $<0.05$, uncorrected. The NLL is that of models with a likelihood in continuous time."
)


def beyond_rows(cells: pd.DataFrame) -> pd.DataFrame:
    """The cells of all models at all truncations, in printed order."""
    found = cells[(cells["table"] == "beyond") & cells["metric"].isin(METRICS)]
    if found.empty:
        raise ValueError("no cells for a table beyond the paper: no model was run that is not the paper's")
    return printed_order(
        found,
        metric=METRICS,
        g_tau=in_order(found["g_tau"], ("", *TRUNCATIONS)),
        model=model_order(found["model"]),
        dataset=in_order(found["dataset"], list(DATASETS)),
    )


def render_beyond(cells: pd.DataFrame, style: Style) -> str:
    """One row per model in each metric's block; NLL has the rows of those that have one."""
    rows = beyond_rows(cells)
    rows = rows[rows["g_tau"].isin(("", G_TAU))]
    datasets = in_order(rows["dataset"], list(DATASETS))
    found = {(c["metric"], c["model"], c["dataset"]): c for c in rows.to_dict("records")}
    heads = [style.dataset(d) for d in datasets]
    blocks = [" & ".join(["Metric", "Model", *heads]) + r" \\"]
    for metric in (m for m in METRICS if m in set(rows["metric"])):
        part = rows[rows["metric"] == metric]
        applies = part.loc[part["status"] != "not_applicable", "model"]
        lines = [
            " & ".join([style.model(model), *(cell_text(found.get((metric, model, d)), style) for d in datasets)])
            for model in model_order(applies)
        ]
        blocks.append(block(BLOCKS[metric], "", lines))
    caption = CAPTION + marks_note(datasets, style)
    caption += coverage_note([{str(k): v for k, v in c.items()} for c in found.values()], style)
    columns = "ll|" + "l" * len(datasets)
    return floating(
        "\n\\midrule\n".join(blocks), columns, caption, "tab:beyond", kind="table*", wide=len(datasets) > MOST_COLUMNS
    )
