"""Cost against accuracy: seconds per trial beside C^td and IBS, with the models that no other beats in both."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from benchmarks.report.figures.scale import limits, margins
from benchmarks.report.figures.style import G_TAU, GREY, Drawing, NothingToDraw, grid, handle, legend, look, title
from benchmarks.report.figures.view import View
from benchmarks.results.names import dataset_label, higher_is_better, metric_at_tau, model_label, model_order

METRICS = {
    name: metric_at_tau(name) + ("" if higher_is_better(name) else " (axis inverted)") for name in ("ctd", "ibs")
}

CHEAP = 5.0  # times the usual distance of a model from the median model, in decades of seconds


def draw(run: View) -> list[Drawing]:
    """Two panels per data set, two data sets to a row where there are many; better is up, cheaper is left."""
    tables = {d: table for d in run.datasets if len(table := costs(run, d))}
    if not tables:
        raise NothingToDraw("no model of this run has both trials and scores")
    beside = 1 if len(tables) <= 2 else 2
    rows = -(-len(tables) // beside)
    figure, axes = grid(rows, 2 * beside, 0.7 + (2.1 if beside == 1 else 1.75) * rows)
    places = [line[k : k + 2] for line in axes for k in range(0, 2 * beside, 2)]
    for pair, (dataset, table) in zip(places, tables.items(), strict=False):
        for panel, (metric, label) in zip(pair, METRICS.items(), strict=True):
            _panel(panel, table[table["metric"] == metric], metric)
            panel.set_ylabel(label, fontsize=7)
        title(pair[0], dataset_label(dataset) + (f": {run.effort(dataset)}" if beside == 1 else ""))
        title(pair[-1], "", run.mark(dataset))
    for pair in places[len(tables) :]:
        for panel in pair:
            panel.set_visible(False)
    figure.supxlabel("median seconds per trial (log scale)", fontsize=8)
    models = model_order({model for table in tables.values() for model in table["model"]})
    legend(figure, [handle(model_label(m), look(m), linestyle="") for m in models], fontsize=7)
    names = ", ".join(dataset_label(d) for d in tables)
    caption = (
        f"Cost against accuracy on {names}. Up and left is better. Bars: one standard error over splits. Grey line: "
        "models no other beats in both cost and score. Arrows: off the scale, a mean as printed. Wall clock of this "
        f"run's machine, failed trials included. {run.absences()}"
    )
    alt = f"Scatter plot of seconds per trial against C-td and IBS of every model on {names}."
    return [Drawing("cost", figure, caption.strip(), alt, ("cells.csv", "trials.parquet"))]


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


def _panel(axes: Axes, table: pd.DataFrame, metric: str) -> None:
    higher = higher_is_better(metric)
    error = table["standard_error"].fillna(0.0)
    low, high = limits(table["mean"], table["mean"] - error, table["mean"] + error)
    ends = margins(low, high)
    axes.set_ylim(*(ends if higher else ends[::-1]))
    axes.tick_params(labelsize=6.5)
    axes.locator_params(axis="y", nbins=5)
    first, last = _time_axis(axes, table["seconds"])
    left, right = axes.get_xlim()
    front = table.iloc[pareto(table["seconds"], table["mean"] if higher else -table["mean"])]
    # To the right of its last point the front is flat: everything there costs more for less.
    steps = [*front["seconds"], right], [*front["mean"], front["mean"].iloc[-1]]
    axes.step(*steps, where="post", color="#c4c4c4", linewidth=1, zorder=1)
    noted: list[tuple[float, bool]] = []  # where along the axis there is a text, and whether above its point
    for row, bar in zip(table.itertuples(), error, strict=True):
        style = look(row.model)
        point: dict[str, Any] = {"marker": style.marker, "color": style.colour, "markersize": 4.5, "gid": row.model}
        x, y, arrows = row.seconds, row.mean, []
        if not first <= x <= last:  # as Kaplan-Meier, which costs next to nothing
            x, arrows = left * (right / left) ** (0.06 if x < first else 0.94), ["←" if x < first else "→"]
        if not low <= y <= high:
            worse = (y < low) == higher
            bottom, top = axes.get_ylim()
            y = bottom + (0.05 if worse else 0.95) * (top - bottom)
            arrows.append(f"{'↓' if worse else '↑'} {row.mean:.2f}")
        else:
            axes.errorbar(x, y, yerr=bar, fmt="none", ecolor=style.colour, elinewidth=0.8)
        axes.plot([x], [y], **point)
        if arrows:
            share = math.log(x / left) / math.log(right / left)
            ha = "left" if share < 0.3 else "right" if share > 0.7 else "center"
            above = (y - axes.get_ylim()[0]) / (axes.get_ylim()[1] - axes.get_ylim()[0]) < 0.5
            near = sum(abs(share - other) < 0.5 and above == was_above for other, was_above in noted)  # texts to clear
            noted.append((share, above))
            lift = 4 + 8 * near
            place: dict[str, Any] = {"xytext": (0, lift if above else -lift), "textcoords": "offset points"}
            place |= {"ha": ha, "va": "bottom" if above else "top"}
            axes.annotate(" ".join(arrows), (x, y), fontsize=6, color=GREY, **place)


def _time_axis(axes: Axes, seconds: pd.Series) -> tuple[float, float]:
    """Set a log scale with as many ticks as fit; return the cheapest and the dearest time that it shows."""
    times = np.log10(seconds)
    low, high = limits(times, times, times, far=CHEAP)
    margin = 0.08 * (high - low) + 0.05
    before, after = (2 * margin if beyond.any() else margin for beyond in (times < low, times > high))
    axes.set_xscale("log")
    axes.set_xlim(10 ** (low - before), 10 ** (high + after))
    decades = high - low
    axes.xaxis.set_major_locator(LogLocator(subs=(1,) if decades > 2 else (1, 3) if decades > 0.8 else (1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    return float(10 ** (low - 1e-9)), float(10 ** (high + 1e-9))
