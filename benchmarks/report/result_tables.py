"""The result tables: one per data set (models by metrics and truncations), and the ablation over all of them."""

from __future__ import annotations

import pandas as pd

from benchmarks.report.latex import (
    Cell,
    Style,
    block,
    cell_text,
    coverage_note,
    floating,
    latex_arrow,
    marks_note,
    red,
    truncation,
)
from benchmarks.results.names import (
    DATASETS,
    MODELS,
    VARIANTS,
    escape,
    in_order,
    model_order,
)
from benchmarks.results.tidy import TRUNCATIONS

METRICS = ("ctd", "ibll", "ibs")
HEADS = {"ctd": r"$C^{td}_\tau$", "ibll": "IBLL", "ibs": "IBS"}
# The paper writes the subscripts out in this one table.
METABRIC_HEADS = {"ctd": r"$C^{td}_{\tau}$", "ibll": r"$\text{IBLL}_{\tau}$", "ibs": r"$\text{IBS}_{\tau}$"}
LONG_CAPTION = (
    r"Comparison of time dependent concordance index ($C^{td}_\tau$), integrated binomial log-likelihood (IBLL), "
    r"integrated brier score (IBS) on DATASET. The \textbf{bold} and \underline{underline} markers denote the best "
    r"and the second best performance respectively. The ($\pm$)~error bar denotes the standard error of the mean. "
    r"The asterisk (*) after a baseline model performance indicates a significant (either positive or negative) "
    r"difference between that baseline model and the proposed SODEN, under pairwise t-test with p-value $<0.05$."
)
SHORT_CAPTION = (
    r"Comparison of performance on DATASET. The notations share the same definitions as in Table~\ref{NOTATION}."
)
ABLATION_CAPTION = (
    r"Comparison of negative log-likelihood (NLL) and time dependent concordance index ($C^{td}_\tau$) between SODEN "
    r"and its degenerate variants, SODEN-Cox and SODEN-PH, for ablation study. The \textbf{bold}, "
    r"\underline{underline}, and ($\pm$)~error bar share the same definitions as in Table~\ref{NOTATION}. The asterisk "
    r"(*) indicates a significant difference between the proposed SODEN and its degenerate variants, under pairwise "
    r"t-test with p-value $<0.05$."
)


def main_rows(cells: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """The cells of one data set's table, in printed order."""
    found = cells[(cells["table"] == "main") & (cells["dataset"] == dataset) & cells["metric"].isin(METRICS)]
    if found.empty:
        have = ", ".join(in_order(cells.loc[cells["table"] == "main", "dataset"], list(DATASETS))) or "none"
        raise ValueError(f"no cells for a table of {dataset!r}; the cells hold results for: {have}")
    return printed_order(
        found, g_tau=in_order(found["g_tau"], TRUNCATIONS), model=model_order(found["model"]), metric=METRICS
    )


def ablation_rows(cells: pd.DataFrame) -> pd.DataFrame:
    """The cells of the ablation table, in printed order: NLL, then C^td by truncation."""
    found = cells[(cells["table"] == "ablation") & cells["metric"].isin(("nll", "ctd"))]
    if found.empty:
        raise ValueError("no cells for the ablation table: it needs nll or ctd of soden, soden_ph or soden_cox")
    return printed_order(
        found,
        dataset=in_order(found["dataset"], list(DATASETS)),
        metric=("nll", "ctd"),
        g_tau=in_order(found["g_tau"], ("", *TRUNCATIONS)),
        model=VARIANTS,
    )


def render_main(cells: pd.DataFrame, dataset: str, style: Style) -> str:
    """One data set: a block of models per truncation, a column per metric."""
    rows = main_rows(cells, dataset)
    found = {(cell["g_tau"], cell["model"], cell["metric"]): cell for cell in _records(rows)}
    names = METABRIC_HEADS if dataset == "metabric" else HEADS
    head = " & ".join([r"$\mathcal{P}(C>\tau)$", "Model", *(f"{names[m]} {latex_arrow(m)}" for m in METRICS)])
    mark = escape(style.marks.get(dataset, ""))
    blocks = [head + r" \\"]
    for g_tau in rows["g_tau"].unique():
        lines = [
            " & ".join([_model(model, style), *(cell_text(found.get((g_tau, model, m)), style) for m in METRICS)])
            for model in rows["model"].unique()
        ]
        blocks.append(block(truncation(g_tau), mark, lines))
    caption = (
        LONG_CAPTION if dataset == style.notation else SHORT_CAPTION.replace("NOTATION", table_label(style.notation))
    )
    printed = style.dataset(dataset) + (" " + red(f"({mark} data)") if mark else "")
    caption = caption.replace("DATASET", printed) + coverage_note(_records(rows), style)
    return floating("\n\\midrule\n".join(blocks), "ll|lll", caption, table_label(dataset))


def render_ablation(cells: pd.DataFrame, style: Style) -> str:
    """All data sets: a block of metrics per data set, a column per variant."""
    rows = ablation_rows(cells)
    blocks = [" & ".join(["Dataset", r"Metric ($\mathcal{P}(C>\tau)$)", *(MODELS[m] for m in VARIANTS)]) + r" \\"]
    for dataset in rows["dataset"].unique():
        part = rows[rows["dataset"] == dataset]
        found = {(cell["metric"], cell["g_tau"], cell["model"]): cell for cell in _records(part)}
        lines = []
        for metric, g_tau in part[["metric", "g_tau"]].drop_duplicates().itertuples(index=False):
            name = "NLL" if metric == "nll" else rf"$C^{{td}}$ ({truncation(g_tau)})"
            lines.append(" & ".join([name, *(cell_text(found.get((metric, g_tau, m)), style) for m in VARIANTS)]))
        blocks.append(block(style.dataset(dataset), escape(style.marks.get(dataset, "")), lines))
    caption = ABLATION_CAPTION.replace("NOTATION", table_label(style.notation)) + marks_note(
        rows["dataset"].unique(), style
    )
    caption += coverage_note(_records(rows), style)
    return floating("\n\\midrule\n".join(blocks), "ll|lll", caption, "tab:ablation")


def table_label(dataset: str) -> str:
    """The \\label of a data set's table: the paper's for its own, the plain name for others."""
    paper = {"mimic_seq", "mimic", "support", "metabric"}
    return f"tab:{DATASETS[dataset] if dataset in paper else dataset}"


def _model(name: str, style: Style) -> str:
    return style.model(name) + (" (ours)" if name == "soden" else "")


def printed_order(cells: pd.DataFrame, **orders: list[str] | tuple[str, ...]) -> pd.DataFrame:
    """The rows by the first column's order, ties by the second's, and so on."""
    keys = {name: cells[name].map({value: i for i, value in enumerate(order)}) for name, order in orders.items()}
    return cells.loc[pd.DataFrame(keys).sort_values(list(keys)).index].reset_index(drop=True)


def _records(rows: pd.DataFrame) -> list[Cell]:
    return [{str(name): value for name, value in row.items()} for row in rows.to_dict("records")]
