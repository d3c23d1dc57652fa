"""Tables of result cells: a `Grid` says which cells a table prints, in which blocks, rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from benchmarks.report.latex import (
    MOST_COLUMNS,
    Style,
    against,
    block,
    cell_text,
    coverage_note,
    floating,
    latex_arrow,
    marks_note,
    red,
    truncation,
    uneven_note,
)
from benchmarks.results.names import DATASETS, REFERENCE, VARIANTS, better, escape, in_order, metric, model_order
from benchmarks.results.tidy import PAPER_METRICS, TRUNCATIONS

HEADS = {"ctd": r"$C^{td}_\tau$", "ibll": "IBLL", "ibs": "IBS"}
# The paper writes the subscripts out in this one table.
METABRIC_HEADS = {"ctd": r"$C^{td}_{\tau}$", "ibll": r"$\text{IBLL}_{\tau}$", "ibs": r"$\text{IBS}_{\tau}$"}
TRUNCATION = r"$\mathcal{P}(C>\tau)$"
PREFIX = "metric_"  # of a table's name, so that a metric and a data set may share a name

EXPLAINED = (
    r"Comparison of time dependent concordance index ($C^{td}_\tau$), integrated binomial log-likelihood (IBLL), "
    r"integrated brier score (IBS) on DATASET. The \textbf{bold} and \underline{underline} markers denote the best "
    r"and the second best performance respectively. The ($\pm$)~error bar denotes the standard error of the mean. "
    r"The asterisk (*) after a baseline model performance indicates a significant (either positive or negative) "
    r"difference between that baseline model and the proposed SODEN, under pairwise t-test with p-value $<0.05$."
)
REFERRED = r"Comparison of performance on DATASET. The notations share the same definitions as in Table~\ref{NOTATION}."


@dataclass(frozen=True)
class Grid:
    """A table whose entries are cells: `block`, `row` and `column` are columns of cells.csv."""

    name: str  # of the file
    caption: str
    heads: tuple[str, str]  # above the names of blocks and of rows
    block: str
    row: tuple[str, ...]
    column: str
    table: str = ""  # the rows with this `table`; "": all models' where one is not the paper's, else the main tables'
    metrics: tuple[str, ...] = ()  # in printed order
    columns: tuple[str, ...] = ()  # printed even where there are no cells; default: those there are
    printed_g_tau: tuple[str, ...] = ()  # default: all
    dataset: str = ""  # the one data set that the table shows
    missing: str = "no cells for this table"  # what to say then
    kind: str = "table"  # the LaTeX float

    def rows(self, cells: pd.DataFrame, _style: Style | None = None) -> pd.DataFrame:
        """The cells of the table, in printed order."""
        table = self.table or ("beyond" if (cells["table"] == "beyond").any() else "main")
        chosen = cells[(cells["table"] == table) & cells["metric"].isin(self.metrics)]
        if self.dataset:
            chosen = chosen[chosen["dataset"] == self.dataset]
        if chosen.empty:
            have = ", ".join(in_order(cells.loc[cells["table"] == table, "dataset"], list(DATASETS))) or "none"
            raise ValueError(self.missing.format(have=have))
        orders: dict[str, Sequence[str]] = {
            "dataset": in_order(chosen["dataset"], list(DATASETS)),
            "model": model_order(chosen["model"]),
            "metric": self.metrics,
            "g_tau": in_order(chosen["g_tau"], ("", *TRUNCATIONS)),
        }
        by = list(dict.fromkeys([self.block, *([] if "g_tau" in self.row else ["g_tau"]), *self.row, self.column]))
        keys = pd.DataFrame({name: chosen[name].map(list(orders[name]).index) for name in by})
        return chosen.loc[keys.sort_values(by).index].reset_index(drop=True)

    def latex(self, cells: pd.DataFrame, style: Style) -> str:
        """The LaTeX float; a row that applies to none of its columns is left out of its block."""
        rows = self.rows(cells)
        if self.printed_g_tau:
            rows = rows[rows["g_tau"].isin(self.printed_g_tau)]
        keys = list(rows[[self.block, *self.row, self.column]].itertuples(index=False, name=None))
        by_key = dict(zip(keys, rows.to_dict("records"), strict=True))
        columns = self.columns or tuple(in_order(rows[self.column], list(DATASETS)))
        blocks = [" & ".join([*self.heads, *(self._name(self.column, c, style) for c in columns)]) + r" \\"]
        for value in rows[self.block].unique():
            applies = (rows[self.block] == value) & (rows["status"] != "not_applicable")
            lines = [
                " & ".join([self._row(key, style), *(cell_text(by_key.get((value, *key, c)), style) for c in columns)])
                for key in rows.loc[applies, list(self.row)].drop_duplicates().itertuples(index=False, name=None)
            ]
            marked = style.marks.get(self.dataset or (value if self.block == "dataset" else ""), "")
            blocks.append(block(self._name(self.block, value, style), escape(marked), lines))
        return floating(
            "\n\\midrule\n".join(blocks),
            "ll|" + "l" * len(columns),
            self._caption(rows, style),
            table_label(self.name),
            kind=self.kind,
            wide=len(columns) > MOST_COLUMNS,
        )

    def _caption(self, rows: pd.DataFrame, style: Style) -> str:
        """The caption, with what is not the real data and what is below the paper's protocol."""
        text = against(self.caption, style)
        if self.dataset:
            mark = escape(style.marks.get(self.dataset, ""))
            text = against(EXPLAINED, style) if self.dataset == style.notation else text
            text = text.replace("DATASET", style.dataset(self.dataset) + (" " + red(f"({mark} data)") if mark else ""))
        else:
            text += marks_note(rows["dataset"].unique(), style)
        text = text.replace("NOTATION", table_label(style.notation)) + coverage_note(rows.to_dict("records"), style)
        return text + (uneven_note(rows["dataset"].unique(), style) if set(rows["metric"]) & set(HEADS) else "")

    def _name(self, column: str, value: str, style: Style) -> str:
        if column == "g_tau":
            return truncation(value) if value else ""
        if column == "dataset":
            return style.dataset(value)
        if column == "model":
            return style.model(value)
        heads = METABRIC_HEADS if self.dataset == "metabric" else HEADS
        return f"{heads.get(value, value.upper())} {latex_arrow(value)}"

    def _row(self, key: tuple[str, ...], style: Style) -> str:
        if self.row == ("model",):
            return style.model(key[0]) + (" (ours)" if self.dataset and key[0] == REFERENCE else "")
        name, g_tau = key
        return "NLL" if name == "nll" else rf"$C^{{td}}$ ({truncation(g_tau)})"


def table_label(name: str) -> str:
    """The \\label of a table: the paper's for its own data sets, the plain name for others."""
    return f"tab:{DATASETS[name] if name in ('mimic_seq', 'mimic', 'support', 'metabric') else name}"


def dataset_grid(dataset: str) -> Grid:
    """The paper's table of one data set: a block per truncation, models down, metrics across."""
    return Grid(
        name=dataset,
        caption=REFERRED,
        heads=(TRUNCATION, "Model"),
        block="g_tau",
        row=("model",),
        column="metric",
        table="main",
        metrics=("ctd", "ibll", "ibs"),
        columns=("ctd", "ibll", "ibs"),
        dataset=dataset,
        missing=f"no cells for a table of {dataset!r}; the cells hold results for: {{have}}",
    )


def metric_grid(name: str) -> Grid:
    """The table of a metric that the paper does not have: a block per truncation, models down, data sets across."""
    found = metric(name)
    return Grid(
        name=f"{PREFIX}{name}",
        caption=rf"{found.label if found else name} ({better(name)} is better), a metric beyond the paper's. "
        r"The \textbf{bold} and \underline{underline} markers denote the best and the second best, the ($\pm$)~error "
        r"bar the standard error of the mean, the asterisk (*) a significant difference to SODEN under a paired t-test "
        r"with p-value $<0.05$.",
        heads=(TRUNCATION, "Model"),
        block="g_tau",
        row=("model",),
        column="dataset",
        metrics=(name,),
    )


ABLATION = Grid(
    name="ablation",
    caption=r"Comparison of negative log-likelihood (NLL) and time dependent concordance index ($C^{td}_\tau$) between "
    r"SODEN and its degenerate variants, SODEN-Cox and SODEN-PH, for ablation study. The \textbf{bold}, "
    r"\underline{underline}, and ($\pm$)~error bar share the same definitions as in Table~\ref{NOTATION}. The asterisk "
    r"(*) indicates a significant difference between the proposed SODEN and its degenerate variants, under pairwise "
    r"t-test with p-value $<0.05$.",
    heads=("Dataset", rf"Metric ({TRUNCATION})"),
    block="dataset",
    row=("metric", "g_tau"),
    column="model",
    table="ablation",
    metrics=("nll", "ctd"),
    columns=VARIANTS,
    missing="no cells for the ablation table: it needs nll or ctd of soden, soden_ph or soden_cox",
)
BEYOND = Grid(
    name="beyond",
    caption=r"All models, those that the paper left out among them, with $\mathcal{P}(C>\tau) = 10^{-8}$. The "
    r"\textbf{bold} and \underline{underline} markers denote the best and the second best of all models, the "
    r"($\pm$)~error bar the standard error of the mean, the asterisk (*) a significant difference to SODEN under a "
    r"paired t-test with p-value $<0.05$, uncorrected. The NLL is that of models with a likelihood in continuous time.",
    heads=("Metric", "Model"),
    block="metric",
    row=("model",),
    column="dataset",
    table="beyond",
    metrics=("ctd", "ibll", "ibs", "nll"),
    printed_g_tau=("", TRUNCATIONS[0]),
    missing="no cells for a table beyond the paper: no model was run that is not the paper's",
    kind="table*",
)


def other_metrics(cells: pd.DataFrame) -> list[str]:
    """The metrics of these cells that the paper does not report and that this checkout has, but for p-values.

    A mean of p-values over splits says nothing; the page counts the splits whose test keeps the model.
    """
    known = {name for name, _ in PAPER_METRICS} | {"dcal_p"}
    return [name for name in in_order(cells["metric"], ()) if name not in known and metric(name) is not None]
