"""How many trials would have been enough: the expected test score of the best of k trials, by hindsight."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from benchmarks.report.figures.style import (
    G_TAU,
    Drawing,
    NothingToDraw,
    dataset_label,
    grid,
    handle,
    heading,
    legend,
    look,
    model_label,
    note,
)
from benchmarks.report.figures.view import View
from benchmarks.report.latex import latex_arrow
from benchmarks.results.names import metric_at_tau, model_order
from benchmarks.results.search_noise import expected_scores

METRICS = {name: f"test {metric_at_tau(name)}" for name in ("ctd", "ibs")}


def draw(run: View) -> list[Drawing]:
    """A figure per data set: a panel per metric, a line per model."""
    hindsight = run.run.hindsight
    if hindsight is None:
        raise NothingToDraw("no trials were scored in hindsight (`python -m benchmarks hindsight`)")
    some = hindsight[hindsight["metric"].isin(list(METRICS)) & (hindsight["g_tau"] == G_TAU)]
    found = expected_scores(some)
    return [_figure(run, d, part) for d in run.datasets if len(part := found[found["dataset"] == d])]


def _figure(run: View, dataset: str, found: pd.DataFrame) -> Drawing:
    models = model_order(found["model"])
    figure, [panels] = grid(1, len(METRICS), 2.9)
    for panel, (metric, text) in zip(panels, METRICS.items(), strict=True):
        _panel(panel, found[found["metric"] == metric], models)
        panel.set_ylabel(f"{text} {latex_arrow(metric)}")
    name, mark = dataset_label(dataset), run.mark(dataset)
    handles = [handle(model_label(m), look(m), markersize=3) for m in models]
    legend(figure, handles, title=heading(name, mark, run.effort(dataset)), title_fontsize=9, fontsize=6.5)
    said = (
        "Mean over splits of the test score that the best of k trials, by validation score, has on average over all "
        "ways to take k of the trials made; drawn where the trials that were scored are the best of 99% of these ways. "
        "Scored in hindsight: no choice ever saw these numbers. Where a line turns the wrong way, more search fits "
        "the validation part."
    )
    note(figure, said)
    caption = f"Test score against the number of trials on {name}{f' ({mark} data)' if mark else ''}. {said}"
    alt = f"Lines of the expected test score of the best of k trials on {name}, one per model."
    return Drawing(f"enough_{dataset}", figure, caption, alt, ("hindsight.parquet",))


def _panel(axes: Axes, found: pd.DataFrame, models: list[str]) -> None:
    axes.set_xlabel("trials $k$")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, min_n_ticks=1))
    for model in models:
        mine = found[found["model"] == model].sort_values("k")
        style = look(model)
        every = max(1, len(mine) // 8)
        line: dict[str, Any] = {
            "color": style.colour,
            "linestyle": style.line,
            "marker": style.marker,
            "markevery": every,
        }
        axes.plot(mine["k"], mine["expected"], markersize=3, linewidth=1, **line)
