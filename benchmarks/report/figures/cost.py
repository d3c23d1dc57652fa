"""Cost against accuracy: seconds per trial beside C^td and IBS, with the models nothing else beats in both."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from benchmarks.report.figures.labelling import place_labels
from benchmarks.report.figures.style import (
    G_TAU,
    WIDTH,
    Drawing,
    NothingToDraw,
    dark,
    dataset_label,
    freeze,
    grid,
    look,
    model_label,
    note,
    title,
)
from benchmarks.report.figures.view import View
from benchmarks.results.names import higher_is_better, metric_at_tau

METRICS = {
    name: metric_at_tau(name) + ("" if higher_is_better(name) else " (axis inverted)") for name in ("ctd", "ibs")
}


def draw(run: View) -> list[Drawing]:
    """A row of panels per data set; better is up, cheaper is left."""
    tables = {d: table for d in run.datasets if len(table := costs(run, d))}
    if not tables:
        raise NothingToDraw("no model of this run has both trials and scores")
    figure, axes = grid(len(tables), len(METRICS), 0.5 + 2.15 * len(tables), WIDTH)
    labels: dict[Axes, list[Annotation]] = {}
    for row, (dataset, table) in zip(axes, tables.items(), strict=True):
        for panel, (metric, label) in zip(row, METRICS.items(), strict=True):
            labels[panel] = _panel(panel, table[table["metric"] == metric], metric)
            panel.set_ylabel(label)
        title(row[0], f"{dataset_label(dataset)}: {run.effort(dataset)}")
        title(row[-1], "", run.mark(dataset))
    for panel in axes[-1]:
        panel.set_xlabel("median seconds per trial (log scale)")
    said = (
        "Up and left is better. Bars: one standard error over splits. Grey line: models no other beats in both cost "
        "and score. Wall clock of this run's machine, failed trials included."
    )
    note(figure, said, run.absences())
    freeze(figure)  # the panels' sizes must be known before labels can be placed
    for row, table in zip(axes, tables.values(), strict=True):
        for panel, metric in zip(row, METRICS, strict=True):
            place_labels(panel, labels[panel], bars(table[table["metric"] == metric]))
    names = ", ".join(dataset_label(d) for d in tables)
    caption = f"Cost against accuracy on {names}. {said} {run.absences()}".strip()
    alt = f"Scatter plot of seconds per trial against C-td and IBS of every model on {names}."
    return [Drawing("cost", figure, caption, alt, ("cells.csv", "trials.parquet"))]


def costs(run: View, dataset: str) -> pd.DataFrame:
    """Columns model, metric, mean, standard_error, seconds; models without a score left out.

    The median, because the first trial of a process also pays for loading libraries and compiling kernels.
    """
    cells = run.cells[(run.cells["dataset"] == dataset) & (run.cells["g_tau"] == G_TAU)]
    cells = cells[cells["metric"].isin(list(METRICS)) & cells["mean"].notna()]
    seconds = run.trials[run.trials["dataset"] == dataset].groupby("model")["seconds"].median()
    table = cells[["model", "metric", "mean", "standard_error"]].assign(seconds=cells["model"].map(seconds))
    return table.dropna(subset="seconds")


def pareto(seconds: pd.Series, goodness: pd.Series) -> list[int]:
    """Positions, cheapest first, of the points no other beats: each is better than everything cheaper."""
    order = sorted(range(len(seconds)), key=lambda i: (seconds.iloc[i], -goodness.iloc[i]))
    front: list[int] = []
    for i in order:
        if not front or goodness.iloc[i] > goodness.iloc[front[-1]]:
            front.append(i)
    return front


def bars(table: pd.DataFrame) -> list[tuple[float, float, float]]:
    """The error bars (x, low, high), which labels must not cover."""
    error = table["standard_error"].fillna(0.0)
    return list(zip(table["seconds"], table["mean"] - error, table["mean"] + error, strict=True))


def _panel(axes: Axes, table: pd.DataFrame, metric: str) -> list[Annotation]:
    """Draw the points; return their labels, to be placed when the layout is known."""
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.margins(0.25, 0.14)
    goodness = table["mean"] if higher_is_better(metric) else -table["mean"]
    front = table.iloc[pareto(table["seconds"], goodness)]
    # To the right of its last point the front is flat: everything there costs more for less.
    ends = [*front["seconds"], table["seconds"].max()], [*front["mean"], front["mean"].iloc[-1]]
    axes.step(*ends, where="post", color="#c4c4c4", linewidth=1, zorder=1)
    labels = []
    for row in table.itertuples():
        style = look(row.model)
        error = row.standard_error if pd.notna(row.standard_error) else 0.0
        axes.errorbar(
            row.seconds, row.mean, yerr=error, fmt=style.marker, color=style.colour, elinewidth=0.8, markersize=5
        )
        label = axes.annotate(
            model_label(row.model),
            (row.seconds, row.mean),
            xytext=(6, 3),
            textcoords="offset points",
            fontsize=6.5,
            color=dark(style.colour),
            path_effects=[withStroke(linewidth=1.5, foreground="white")],
        )
        labels.append(label)
    if not higher_is_better(metric):
        axes.invert_yaxis()
    return labels
