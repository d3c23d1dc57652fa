"""Paired differences to SODEN: one dot per split, the mean, and its interval corrected for overlapping splits."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from benchmarks.report.figures.scale import arrow_at_edge, limits, margins
from benchmarks.report.figures.style import G_TAU, GREY, Drawing, Look, NothingToDraw, grid, handle, legend, look, title
from benchmarks.report.figures.view import View
from benchmarks.results.counting import corrected_interval, gains
from benchmarks.results.names import dataset_label, metric_at_tau, model_label, model_order

METRICS = {name: f"gain in {metric_at_tau(name)}" for name in ("ctd", "ibll", "ibs")}
ROW, FRAME = 0.19, 1.0  # inches per model, and around the panels


def draw(run: View) -> list[Drawing]:
    """A figure per data set, a panel per metric, a row per model."""
    gained = gains(run.scores, run.run.reference)
    gained = gained[gained["metric"].isin(list(METRICS)) & (gained["g_tau"] == G_TAU)]
    if gained.empty:
        raise NothingToDraw(f"no model shares a split with {model_label(run.run.reference)}")
    return [_figure(run, d, part) for d in run.datasets if len(part := gained[gained["dataset"] == d])]


def _figure(run: View, dataset: str, gained: pd.DataFrame) -> Drawing:
    models = model_order(gained["model"])
    figure, [panels] = grid(1, len(METRICS), FRAME + ROW * len(models), sharey=True)
    for panel, (metric, text) in zip(panels, METRICS.items(), strict=True):
        _panel(panel, gained[gained["metric"] == metric], models)
        panel.set_xlabel(text)
    panels[0].set_yticks(range(len(models)), [model_label(m) for m in models])
    panels[0].set_ylim(len(models) - 0.4, -0.6)
    title(panels[0], f"{dataset_label(dataset)}: {run.effort(dataset)}")
    title(panels[-1], "", run.mark(dataset))
    split = handle("one split", Look(GREY, "o", ""), markersize=3, alpha=0.6)
    legend(figure, [split, handle("mean and corrected 95% interval", Look(GREY, "D", "-"))])
    other = model_label(run.run.reference)
    text = (
        f"Better than {other} to the right of the line, worse to the left, P(C > τ) = 1e-8. Intervals: paired t, "
        "the variance corrected for overlapping splits (Nadeau and Bengio), not for the number of comparisons. "
        "An arrow: off the scale, the mean as printed."
    )
    alt = f"Dots of each split's difference to {other}, with means and corrected intervals, a row per model,"
    return run.drawing("differences", dataset, figure, f"Paired differences to {other}", text, alt, ("scores.csv",))


def _panel(axes: Axes, gained: pd.DataFrame, models: list[str]) -> None:
    axes.axvline(0, color="black", linewidth=0.8)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.locator_params(axis="x", nbins=4)
    splits = {model: part["gain"].to_numpy() for model, part in gained.groupby("model")}
    intervals = {model: corrected_interval(values) for model, values in splits.items()}
    ends = {model: [*splits[model], *intervals[model], 0.0] for model in splits}
    frame = pd.DataFrame(
        {"mean": values.mean(), "low": np.nanmin(ends[model]), "high": np.nanmax(ends[model])}
        for model, values in splits.items()
    )
    low, high = limits(frame["mean"], frame["low"], frame["high"])
    axes.set_xlim(*margins(low, high))
    for model, values in splits.items():
        k, style = models.index(str(model)), look(str(model))
        mean, below, above = intervals[model]
        if not low <= mean <= high:  # as Kaplan-Meier's C^td, 0 since ties earn nothing
            arrow_at_edge(axes, str(model), mean, k, left=mean < low)
            continue
        axes.plot(values, np.full(len(values), k - 0.16), "o", color=style.colour, markersize=2.2, alpha=0.55)
        axes.plot([below, above], [k + 0.14] * 2, color=style.colour, linewidth=1.1)
        axes.plot([mean], [k + 0.14], "D", color=style.colour, markersize=3.2, gid=model)
