"""Every table of a run: LaTeX that drops in where the paper's stands, and the same rows as CSV."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from benchmarks.report.grid import ABLATION, BEYOND, PREFIX, Grid, dataset_grid, metric_grid, other_metrics
from benchmarks.report.latex import Coverage, Style
from benchmarks.report.other_tables import (
    DATASET_COLUMNS,
    Spaces,
    hyper_parameter_rows,
    render_datasets,
    render_hyper_parameters,
    render_related_work,
)
from benchmarks.report.pdf import document
from benchmarks.report.summary_tables import count_rows, rank_rows, render_counts, render_ranks
from benchmarks.results.counting import counted
from benchmarks.results.names import DATASETS, REFERENCE, in_order
from benchmarks.results.published import related_work
from benchmarks.results.ranks import rankings
from benchmarks.results.tidy import require

TEX = "tables.tex"  # all tables in one document


class Table(NamedTuple):
    """A table that is no grid of cells: its rows as data, and its LaTeX."""

    rows: Callable[[Any, Style], pd.DataFrame]
    latex: Callable[[Any, Style], str]


def _as_it_is(content: Any, _style: Style) -> pd.DataFrame:
    return pd.DataFrame(content)


TABLES: dict[str, Grid | Table] = {
    "ablation": ABLATION,
    "beyond": BEYOND,
    "ranks": Table(rank_rows, render_ranks),
    "counting": Table(count_rows, render_counts),
    "datasets": Table(_as_it_is, render_datasets),
    "related_work": Table(_as_it_is, render_related_work),
    "hyper_parameters": Table(hyper_parameter_rows, render_hyper_parameters),
}


def table(name: str) -> Grid | Table:
    """A table by the name of its file: one of TABLES, "metric_" and a metric's name, or a data set's name."""
    if name.startswith(PREFIX):
        return metric_grid(name.removeprefix(PREFIX))
    return TABLES.get(name) or dataset_grid(name)


def render(content: Any, name: str, style: Style | None = None) -> str:
    """The LaTeX of a table.

    `content` is the cells for results, the table itself for "datasets" and "related_work", the counted tests for
    "counting", and a mapping of models to search spaces for "hyper_parameters".
    """
    return table(name).latex(content, style or Style())


def twin(content: Any, name: str, style: Style | None = None) -> pd.DataFrame:
    """The same table as data, in printed order."""
    return table(name).rows(content, style or Style())


def contents(
    cells: pd.DataFrame, datasets: pd.DataFrame | None, spaces: Spaces, tests: pd.DataFrame | None = None
) -> dict[str, Any]:
    """The tables these rows can fill, in the paper's order, each with what `render` needs for it."""
    filled: dict[str, Any] = {"related_work": related_work()}
    if datasets is not None:
        filled["datasets"] = datasets
    main = cells[(cells["table"] == "main") & cells["metric"].isin(("ctd", "ibll", "ibs"))]
    filled.update(dict.fromkeys(in_order(main["dataset"], list(DATASETS)), cells))
    if ((cells["table"] == "ablation") & cells["metric"].isin(("nll", "ctd"))).any():
        filled["ablation"] = cells
    if (cells["table"] == "beyond").any():
        filled["beyond"] = cells
        if rankings(cells)[0]:
            filled["ranks"] = cells
    filled.update({f"{PREFIX}{name}": cells for name in other_metrics(cells)})
    filled["hyper_parameters"] = spaces
    if tests is not None:
        filled["counting"] = tests
    return filled


def write_tables(out: Path, tables: dict[str, Any], style: Style) -> list[str]:
    """Write every table as NAME.tex and NAME.csv; return the names."""
    out.mkdir(parents=True, exist_ok=True)
    for name, content in tables.items():
        (out / f"{name}.tex").write_text(render(content, name, style))
        twin(content, name, style).to_csv(out / f"{name}.csv", index=False)
    return list(tables)


def write_all(
    out: Path,
    cells: pd.DataFrame,
    datasets: pd.DataFrame | None,
    spaces: Spaces,
    scores: pd.DataFrame | None = None,
    coverage: Coverage = "caption",
    title: str = "Tables",
    uneven: Mapping[str, str] | None = None,
    reference: str = REFERENCE,
) -> list[str]:
    """Write every table these numbers fill, and tables.tex that shows them all; return the tables' names.

    `datasets` are summaries of the data sets, a row each. With `scores` the tests behind the asterisks are counted, too
    (counted_tests.csv has a row for each). `uneven` says of which data sets the metrics weigh subjects unevenly,
    `reference` is the model that others are tested against.
    """
    labels: dict[str, str] = {}
    marks: dict[str, str] = {}
    if datasets is not None:
        require(datasets, DATASET_COLUMNS, "data set summaries")
        labels = dict(zip(datasets["dataset"], datasets["label"], strict=True))
        marks = {row.dataset: row.mark for row in datasets.itertuples() if row.mark}
    tests = None if scores is None else counted(scores, reference)
    tables = contents(cells, datasets, spaces, tests)
    # The first result table explains the notation to the others, as MIMIC-SEQ's does in the paper.
    first = next((name for name in tables if tables[name] is cells), "mimic_seq")
    names = write_tables(out, tables, Style(marks, coverage, first, reference, uneven or {}, labels))
    if tests is not None:
        tests.to_csv(out / "counted_tests.csv", index=False)
    (out / TEX).write_text(document(names, tables["related_work"], title))
    return names
