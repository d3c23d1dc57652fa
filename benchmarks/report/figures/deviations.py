"""Forest plots of what one change to training does to a mean score, by searches of the reference with that change."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from scipy import stats

from benchmarks.report.deviations import SWITCHES
from benchmarks.report.figures.scale import arrow_at_edge, limits, margins
from benchmarks.report.figures.style import G_TAU, VERMILION, Drawing, NothingToDraw, grid, title
from benchmarks.report.figures.view import View
from benchmarks.results.names import VARIANTS, dataset_label, higher_is_better, metric_at_tau, model_label, model_order
from benchmarks.results.statistics import ALPHA

METRICS = {name: f"gain in {metric_at_tau(name)}" for name in ("ctd", "ibll", "ibs")}
INK = "#30343b"
ROW, FRAME = 0.15, 0.55  # inches per row, and around a panel


def draw(run: View) -> list[Drawing]:
    """A row of panels per data set: changes and models down, the effect with its interval; better is to the right."""
    if not SWITCHES.is_file():
        raise NothingToDraw("no switch was measured (`python -m benchmarks.studies switches`)")
    effects = pd.read_csv(SWITCHES, dtype={"g_tau": str})
    effects = effects[effects["metric"].isin(list(METRICS)) & (effects["g_tau"] == G_TAU)]
    effects["effect"] *= effects["metric"].map(lambda name: 1 if higher_is_better(name) else -1)
    datasets = [name for name in run.datasets if name in set(effects["dataset"])]
    if not datasets:
        raise NothingToDraw("no switch was measured on a data set of this run")
    parts = {name: _ordered(effects[effects["dataset"] == name]) for name in datasets}
    heights = [FRAME + ROW * len(rows) for rows in parts.values()]
    figure, axes = grid(
        len(parts), len(METRICS), sum(heights) + 0.2, gridspec_kw={"height_ratios": heights}, sharey="row"
    )
    for line, (dataset, rows) in zip(axes, parts.items(), strict=True):
        for panel, metric in zip(line, METRICS, strict=True):
            _panel(panel, effects[(effects["dataset"] == dataset) & (effects["metric"] == metric)], rows)
        line[0].set_yticks(
            range(len(rows)), [f"{change}: {model_label(model)}" for change, model in rows], fontsize=6.5
        )
        line[0].set_ylim(len(rows) - 0.4, -0.6)
        title(line[0], dataset_label(dataset))
    for panel, text in zip(axes[-1], METRICS.values(), strict=True):
        panel.set_xlabel(text)
    names = ", ".join(dataset_label(name) for name in datasets)
    caption = (
        f"What one change to training does on {names}: searches of 10 trials per split with the change, minus the same "
        "searches without it: better to the right of the line. Bars: 95% intervals of the paired t-test over splits, "
        "which overlap; not corrected for the number of changes. SODEN and variants in colour. An arrow: off the scale."
    )
    alt = f"Forest plots of the effects of {len({c for rows in parts.values() for c, _ in rows})} changes on {names}."
    return [Drawing("deviations", figure, caption, alt, ("results/reference/switches.csv",))]


def _ordered(effects: pd.DataFrame) -> list[tuple[str, str]]:
    """The (change, model) rows: changes as they were measured, models as everywhere."""
    return [
        (str(change), model)
        for change, part in effects.groupby("change", sort=False)
        for model in model_order(part["model"])
    ]


def _panel(axes: Axes, effects: pd.DataFrame, rows: list[tuple[str, str]]) -> None:
    axes.axvline(0, color="#8a8f98", linewidth=0.8)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=6.5)
    axes.locator_params(axis="x", nbins=3)
    half = effects["standard_error"] * stats.t.ppf(1 - ALPHA / 2, effects["splits"] - 1)
    low, high = limits(effects["effect"], effects["effect"] - half, effects["effect"] + half)
    axes.set_xlim(*margins(min(low, 0.0), max(high, 0.0)))
    for row, bar in zip(effects.itertuples(), half, strict=True):
        y, colour = rows.index((str(row.change), str(row.model))), VERMILION if row.model in VARIANTS else INK
        if not low <= row.effect <= high:
            arrow_at_edge(axes, str(row.model), row.effect, y, left=row.effect < low)
            continue
        dot = axes.errorbar(row.effect, y, xerr=bar, fmt="o", color=colour, markersize=3, elinewidth=0.8).lines[0]
        dot.set_gid(row.model)
