"""Every table of the paper from tidy rows: LaTeX that drops in where the paper's stands, and a CSV twin of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.report.beyond_table import beyond_rows, render_beyond
from benchmarks.report.latex import Coverage, Style
from benchmarks.report.metric_tables import PREFIX, metric_rows, other_metrics, render_metric
from benchmarks.report.other_tables import (
    DATASET_COLUMNS,
    Spaces,
    hyper_parameter_rows,
    render_datasets,
    render_hyper_parameters,
    render_related_work,
)
from benchmarks.report.pdf import document
from benchmarks.report.ranks_table import rank_rows, render_ranks
from benchmarks.report.result_tables import ablation_rows, main_rows, render_ablation, render_main
from benchmarks.results.names import DATASETS, in_order
from benchmarks.results.published import related_work
from benchmarks.results.ranks import rankings
from benchmarks.results.tidy import require

TEX = "tables.tex"  # all tables in one document


def render(content: Any, table: str, style: Style | None = None) -> str:
    """Return the LaTeX of a table, named as its file.

    It is "ablation", "beyond", "ranks", "datasets", "hyper_parameters", "related_work", a data set's name, or "metric_"
    and the name of a metric that the paper does not have.
    `content` is the cells for results, the table itself for "datasets" and "related_work", and a mapping of models to
    search spaces for "hyper_parameters".
    """
    style = style or Style()
    if table == "ablation":
        return render_ablation(content, style)
    if table == "beyond":
        return render_beyond(content, style)
    if table == "ranks":
        return render_ranks(content, style)
    if table == "datasets":
        return render_datasets(content, style)
    if table == "hyper_parameters":
        return render_hyper_parameters(content, style)
    if table == "related_work":
        return render_related_work(content)
    if table.startswith(PREFIX):
        return render_metric(content, table.removeprefix(PREFIX), style)
    return render_main(content, table, style)


def twin(content: Any, table: str, style: Style | None = None) -> pd.DataFrame:
    """The same table as data, in printed order."""
    if table == "hyper_parameters":
        return hyper_parameter_rows(content, style or Style())
    if table in ("datasets", "related_work"):
        return pd.DataFrame(content)
    if table.startswith(PREFIX):
        return metric_rows(content, table.removeprefix(PREFIX))
    rows = {"ablation": ablation_rows, "beyond": beyond_rows, "ranks": rank_rows}.get(table)
    return rows(content) if rows else main_rows(content, table)


def contents(
    cells: pd.DataFrame, datasets: pd.DataFrame | None, related: pd.DataFrame, spaces: Spaces
) -> dict[str, Any]:
    """The tables these rows can fill, in the paper's order, each with what `render` needs for it."""
    found: dict[str, Any] = {"related_work": related}
    if datasets is not None:
        found["datasets"] = datasets
    main = cells[(cells["table"] == "main") & cells["metric"].isin(("ctd", "ibll", "ibs"))]
    found.update(dict.fromkeys(in_order(main["dataset"], list(DATASETS)), cells))
    if ((cells["table"] == "ablation") & cells["metric"].isin(("nll", "ctd"))).any():
        found["ablation"] = cells
    if (cells["table"] == "beyond").any():
        found["beyond"] = cells
        if rankings(cells)[0]:
            found["ranks"] = cells
    found.update({f"{PREFIX}{name}": cells for name in other_metrics(cells)})
    found["hyper_parameters"] = spaces
    return found


def write_tables(out: Path, tables: dict[str, Any], style: Style) -> list[Path]:
    """Write every table as NAME.tex and NAME.csv; return the .tex files."""
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for name, content in tables.items():
        path = out / f"{name}.tex"
        path.write_text(render(content, name, style))
        twin(content, name, style).to_csv(out / f"{name}.csv", index=False)
        written.append(path)
    return written


@dataclass(frozen=True)
class Source:
    """What tables are made of."""

    cells: pd.DataFrame
    datasets: pd.DataFrame | None  # summaries, a row each
    spaces: Spaces
    marks: Mapping[str, str] = field(default_factory=dict)  # data set -> "synthetic", "demo"


def write_all(
    source: Source, out: Path, coverage: Coverage = "caption", title: str = "Tables", beside: Sequence[str] = ()
) -> list[str]:
    """Write every table these numbers fill, and tables.tex that shows them all; return the tables' names.

    `beside` are tables that lie there already and are to be shown, too.
    """
    labels: dict[str, str] = {}
    marks = dict(source.marks)
    if source.datasets is not None:
        require(source.datasets, DATASET_COLUMNS, "data set summaries")
        labels = dict(zip(source.datasets["dataset"], source.datasets["label"], strict=True))
        marks = {row.dataset: row.mark for row in source.datasets.itertuples() if row.mark} | marks
    related = related_work()
    tables = contents(source.cells, source.datasets, related, source.spaces)
    # The first result table explains the notation to the others, as MIMIC-SEQ's does in the paper.
    first = next((name for name in tables if tables[name] is source.cells), "mimic_seq")
    names = [path.stem for path in write_tables(out, tables, Style(marks, coverage, first, labels))]
    names += beside
    (out / TEX).write_text(document(names, related, title))
    return names
