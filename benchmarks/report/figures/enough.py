"""How many trials would have been enough: the test score of searches of k trials, drawn from those made."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from benchmarks.report.figures.style import G_TAU, Drawing, NothingToDraw, grid, handle, heading, legend, look
from benchmarks.report.figures.view import View
from benchmarks.results.names import better, dataset_label, metric_at_tau, model_label, model_order
from benchmarks.results.pool import LIST, draw_growth
from benchmarks.results.replications import BEST_TRIALS, Searches, enough, read_replications, read_searches

METRICS = {name: f"test {metric_at_tau(name)}" for name in ("ctd", "ibs")}


def draw(run: View) -> list[Drawing]:
    """A figure per data set: a panel per metric, a line per model."""
    full = [d for d in run.datasets if run.run.n_trials(d) >= LIST]
    if not full:
        raise NothingToDraw(f"a run of {LIST} trials per split is wanted")
    searches = read_replications() if enough() else read_searches([run.run.path])
    if searches.best.empty:
        raise NothingToDraw(
            f"the run has no {BEST_TRIALS} (`python -m benchmarks.studies best_trials --run {run.run.name}`)"
        )
    scores = growth(searches)
    return [_figure(run, d, part, searches) for d in full if len(part := scores[scores["dataset"] == d])]


def growth(searches: Searches) -> pd.DataFrame:
    """Mean test score of searches of k trials, and its standard deviation with one list for all splits and one each."""
    frames = []
    for dataset, model in searches.searched:
        pool, cells = searches.pool(dataset, model)
        size = min(pool.size, LIST)
        shared, own = (draw_growth(pool, lists, size=size) for lists in ("shared", "per_split"))
        for i, (metric, g_tau) in enumerate(cells):
            if metric in METRICS and g_tau == G_TAU:
                values = {"expected": shared[0, i], "sd_shared": shared[1, i], "sd_per_split": own[1, i]}
                frames.append(
                    pd.DataFrame({"k": range(1, size + 1), **values}).assign(
                        dataset=dataset, model=model, metric=metric
                    )
                )
    return pd.concat(frames, ignore_index=True).dropna(subset="expected")


def _figure(run: View, dataset: str, scores: pd.DataFrame, searches: Searches) -> Drawing:
    models = model_order(scores["model"])
    figure, [panels] = grid(1, len(METRICS), 2.9)
    for panel, (metric, text) in zip(panels, METRICS.items(), strict=True):
        _panel(panel, scores[scores["metric"] == metric], models)
        panel.set_ylabel(f"{text} ({better(metric)} is better)")
    handles = [handle(model_label(m), look(m), markersize=3) for m in models]
    top = heading(dataset_label(dataset), run.mark(dataset), run.effort(dataset))
    legend(figure, handles, title=top, title_fontsize=9, fontsize=6.5)
    made = f"{len(searches.names)} replications" if len(searches.names) > 1 else "this search"
    text = (
        f"Mean over splits of the test score of searches of k trials, drawn from those of {made}; drawn where the "
        "trials scored on the test part are the chosen ones of 99% of the draws. They were scored after the choice and "
        "never for it. Where a line turns the wrong way, more search fits the validation part."
    )
    alt = "Lines of the expected test score of the best of k trials, one per model,"
    what = "Test score against the number of trials"
    return run.drawing("enough", dataset, figure, what, text, alt, (BEST_TRIALS,))


def _panel(axes: Axes, scores: pd.DataFrame, models: list[str]) -> None:
    axes.set_xlabel("trials $k$")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, min_n_ticks=1))
    for model in models:
        of_model = scores[scores["model"] == model].sort_values("k")
        style, every = look(model), max(1, len(of_model) // 8)
        line: dict[str, Any] = {"color": style.colour, "linestyle": style.line, "marker": style.marker}
        axes.plot(of_model["k"], of_model["expected"], markevery=every, markersize=3, linewidth=1, **line)
