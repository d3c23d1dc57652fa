"""Paired differences to SODEN: one dot per split, the mean, and its interval corrected for overlapping splits."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from benchmarks.report.figures.style import (
    G_TAU,
    GREY,
    Drawing,
    Look,
    NothingToDraw,
    dataset_label,
    grid,
    handle,
    legend,
    look,
    model_label,
    note,
    title,
)
from benchmarks.report.figures.view import View
from benchmarks.results.counting import corrected_interval, gains
from benchmarks.results.names import metric_at_tau, model_order

METRICS = {name: f"gain in {metric_at_tau(name)}" for name in ("ctd", "ibll", "ibs")}
ROW, FRAME = 0.19, 1.15  # inches per model, and around the panels


def draw(run: View) -> list[Drawing]:
    """A figure per data set, a panel per metric, a row per model."""
    gained = gains(run.scores)
    gained = gained[gained["metric"].isin(list(METRICS)) & (gained["g_tau"] == G_TAU)]
    if gained.empty:
        raise NothingToDraw("no model shares a split with SODEN")
    return [_figure(run, d, part) for d in run.datasets if len(part := gained[gained["dataset"] == d])]


def _figure(run: View, dataset: str, gained: pd.DataFrame) -> Drawing:
    models = model_order(gained["model"])
    figure, [panels] = grid(1, len(METRICS), FRAME + ROW * len(models), sharey=True)
    for panel, (metric, text) in zip(panels, METRICS.items(), strict=True):
        _panel(panel, gained[gained["metric"] == metric], models)
        panel.set_xlabel(text)
    panels[0].set_yticks(range(len(models)), [model_label(m) for m in models])
    panels[0].set_ylim(len(models) - 0.4, -0.6)
    name, mark = dataset_label(dataset), run.mark(dataset)
    title(panels[0], f"{name}: {run.effort(dataset)}")
    title(panels[-1], "", mark)
    split = handle("one split", Look(GREY, "o", ""), markersize=3, alpha=0.6)
    legend(figure, [split, handle("mean and corrected 95% interval", Look(GREY, "D", "-"))])
    said = (
        "Better than SODEN to the right of the line, worse to the left, P(C > τ) = 1e-8. Intervals: paired t with the "
        "variance corrected for overlapping splits (Nadeau and Bengio), not for the number of comparisons."
    )
    said += f" Off the scale, mean as printed: {', '.join(cut)}." if (cut := _off_scale(gained, models)) else ""
    note(figure, said)
    caption = f"Paired differences to SODEN on {name}{f' ({mark} data)' if mark else ''}. {said}"
    alt = f"Dots of each split's difference to SODEN on {name}, with means and corrected intervals, a row per model."
    return Drawing(f"differences_{dataset}", figure, caption, alt, ("scores.csv",))


def _panel(axes: Axes, gained: pd.DataFrame, models: list[str]) -> None:
    axes.axvline(0, color="black", linewidth=0.8)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.locator_params(axis="x", nbins=4)
    low, high = _limits(gained)
    for k, model in enumerate(models):
        values = gained.loc[gained["model"] == model, "gain"].to_numpy()
        if not len(values):
            continue
        if values.mean() < low:  # Kaplan-Meier's C^td, 0 since ties earn nothing, would flatten all the others
            axes.annotate(f"← {values.mean():.2f}", (low, k), va="center", fontsize=6, color=GREY)
            continue
        style = look(model)
        mean, below, above = corrected_interval(values)
        axes.plot(values, np.full(len(values), k - 0.16), "o", color=style.colour, markersize=2.2, alpha=0.55)
        axes.plot([below, above], [k + 0.14] * 2, color=style.colour, linewidth=1.1)
        axes.plot([mean], [k + 0.14], "D", color=style.colour, markersize=3.2)
    axes.set_xlim(low, high)


def _limits(gained: pd.DataFrame) -> tuple[float, float]:
    """All dots and intervals but those of models that are worse than SODEN by ten times the others' usual distance."""
    groups = [part["gain"].to_numpy() for _, part in gained.groupby("model")]
    usual = float(np.median([abs(values.mean()) for values in groups]))
    kept = [values for values in groups if values.mean() >= -10 * max(usual, 1e-3)]
    ends = [end for values in kept for end in (*values, *corrected_interval(values)) if np.isfinite(end)]
    low, high = min(0.0, *ends), max(0.0, *ends)
    margin = 0.05 * (high - low) or 1e-3
    return low - margin, high + margin


def _off_scale(gained: pd.DataFrame, models: list[str]) -> list[str]:
    means = gained.groupby(["metric", "model"])["gain"].mean()
    lows = {metric: _limits(part)[0] for metric, part in gained.groupby("metric")}
    return [model_label(m) for m in models if any(means.get((metric, m), 0) < low for metric, low in lows.items())]
