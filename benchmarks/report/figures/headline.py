"""The headline: every model's C^td, IBLL and IBS, ours beside the published."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from benchmarks.report.figures.scale import arrow_at_edge, limits, margins
from benchmarks.report.figures.style import (
    G_TAU,
    GREY,
    VERMILION,
    WIDTH,
    Drawing,
    Look,
    NothingToDraw,
    grid,
    handle,
    legend,
    title,
)
from benchmarks.report.figures.view import View
from benchmarks.results.names import better, dataset_label, metric_at_tau, model_label
from benchmarks.results.replications import read_replications

METRICS = {name: f"{metric_at_tau(name)} ({better(name)} is better)" for name in ("ctd", "ibll", "ibs")}
DARK, LIGHT, TICK = "#30343b", "#b4b8bf", "#6b6b6b"
WIDE = 9.0  # inches of a figure with two data sets beside each other
ROW, FRAME = 0.16, 0.62  # inches per model, and around a panel


def draw(run: View) -> list[Drawing]:
    """A row of panels per data set, in each a row per model: this run's mean joined to the published one."""
    datasets = run.datasets
    if not datasets:
        raise NothingToDraw("the run has no cells")
    replicated = read_replications().means()
    beside = 1 if len(datasets) <= 3 else 2
    lines = [datasets[k : k + beside] for k in range(0, len(datasets), beside)]
    heights = [FRAME + ROW * max(len(run.models(d)) for d in line) for line in lines]
    width = WIDTH if beside == 1 else WIDE
    figure, axes = grid(
        len(lines), beside * len(METRICS), sum(heights) + 0.45, width, gridspec_kw={"height_ratios": heights}
    )
    places = [line[k : k + len(METRICS)] for line in axes for k in range(0, beside * len(METRICS), len(METRICS))]
    for row, dataset in zip(places, datasets, strict=False):
        models, absent = run.models(dataset), run.absent(dataset)
        for panel, metric in zip(row, METRICS, strict=True):
            _panel(panel, run, dataset, metric, models, replicated)
            panel.set_yticks(range(len(models)), [])
            panel.set_ylim(len(models) - 0.4, -0.6)
        labels = [model_label(m) + (f" ({absent[m]})" if m in absent else "") for m in models]
        row[0].set_yticks(range(len(models)), labels)
        title(row[0], f"{dataset_label(dataset)}: {run.effort(dataset)}")
        title(row[-1], "", run.mark(dataset))
        for panel, (metric, label) in zip(row, METRICS.items(), strict=True):
            if dataset in datasets[-beside:]:
                panel.set_xlabel(label if beside == 1 else metric_at_tau(metric))
            if beside > 1:
                panel.tick_params(labelsize=6.5)
                panel.locator_params(axis="x", nbins=3)
    for row in places[len(datasets) :]:
        for panel in row:
            panel.set_visible(False)
    handles = [handle("this run", Look(DARK, "o", ""), markersize=5)]
    if any(_compared(run, d) for d in datasets):
        handles.append(handle("published", Look(LIGHT, "o", ""), markersize=5))
        if len(replicated):
            handles.append(handle("replications", Look(TICK, "|", ""), markersize=6))
    legend(figure, handles)
    names = ", ".join(dataset_label(d) for d in datasets)
    efforts = "; ".join(f"{dataset_label(d)}: {run.effort(d)}" for d in datasets)
    sentences = [
        f"All models on {names}: dark, this run ({efforts}), {model_label(run.run.reference)} in colour; grey, the "
        "published value where the paper has one, joined to this run's. Bars: one standard error over splits, "
        "P(C > τ) = 1e-8. An arrow: off the scale, the mean as printed.",
        "Ticks: the means of the replications, other searches on the same data and splits." if len(replicated) else "",
        "Published values are of the real data: none is shown beside synthetic or demo data."
        if any(run.mark(d) for d in datasets)
        else "",
        run.absences(),
    ]
    alt = f"Dot plot of C-td, IBLL and IBS of every model on {names}, this run beside the published values."
    return [Drawing("headline", figure, " ".join(filter(None, sentences)), alt, ("cells.csv", "datasets.csv"))]


def _panel(axes: Axes, run: View, dataset: str, metric: str, models: list[str], replicated: pd.DataFrame) -> None:
    """One metric on one data set: a row per model, ours joined to the published value."""
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.locator_params(axis="x", nbins=4)
    ours = _values(run.cells, dataset, metric, models)
    published = _values(run.published, dataset, metric, models) if _compared(run, dataset) else ours.iloc[:0]
    drawn = pd.concat([ours, published])
    low, high = limits(drawn["mean"], drawn["mean"] - drawn["error"], drawn["mean"] + drawn["error"])
    if len(drawn):
        axes.set_xlim(*margins(low, high))
    for model in models:
        y = models.index(model)
        both = [values.loc[model] for values in (published, ours) if model in values.index]
        if len(both) == 2 and all(low <= side["mean"] <= high for side in both):
            axes.plot([side["mean"] for side in both], [y, y], color=LIGHT, linewidth=2.2, zorder=2)
        where = (dataset, metric, G_TAU, model)
        ticks = replicated.loc[where].to_numpy() if len(published) and where in replicated.index else []
        axes.plot(ticks, [y + 0.26] * len(ticks), "|", color=TICK, markersize=4, markeredgewidth=0.8, zorder=3)
        sides = ((published, LIGHT, 6.0, 3), (ours, VERMILION if model == run.run.reference else DARK, 4.0, 4))
        for values, colour, size, order in sides:
            if model not in values.index:
                continue
            mean, error = values.loc[model, ["mean", "error"]]
            if not low <= mean <= high:
                arrow_at_edge(axes, model, mean, y, left=mean < low)
                continue
            dot = axes.errorbar(
                mean, y, xerr=error, fmt="o", color=colour, markersize=size, elinewidth=0.8, zorder=order
            ).lines[0]
            dot.set_gid(model)
    for model in set(models) - set(ours.index) - set(run.absent(dataset)):  # the axis says so of the absent
        place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "center"}
        axes.annotate(
            "no value", (0.99, models.index(model)), fontsize=6, style="italic", color=GREY, gid=model, **place
        )


def _compared(run: View, dataset: str) -> bool:
    """True if the paper has the data set and these are the real data."""
    return not run.mark(dataset) and dataset in set(run.published["dataset"])


def _values(cells: pd.DataFrame, dataset: str, metric: str, models: list[str]) -> pd.DataFrame:
    """Mean and standard error by model, of those that are drawn."""
    rows = cells[(cells["dataset"] == dataset) & (cells["metric"] == metric) & (cells["g_tau"] == G_TAU)]
    rows = rows[rows["model"].isin(models) & rows["mean"].notna()].set_index("model")
    return pd.DataFrame({"mean": rows["mean"], "error": rows["standard_error"].fillna(0.0)})
