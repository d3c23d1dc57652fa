"""Search curves: the best validation score one may expect of k random trials, per model; one figure per data set."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from benchmarks.report.figures.style import (
    GREY,
    Drawing,
    NothingToDraw,
    columns_for,
    dataset_label,
    grid,
    heading,
    look,
    model_label,
    note,
    title,
)
from benchmarks.report.figures.view import View
from benchmarks.results.names import selected_by

SCORES = {"loss": "−valid. loss", "ctd": "valid. $C^{td}$"}  # what models are chosen by, or a score of their own

Values = npt.NDArray[np.float64]


def draw(run: View) -> list[Drawing]:
    """A figure per data set, a panel per model that was searched."""
    drawings = []
    for dataset in run.datasets:
        trials = run.trials[run.trials["dataset"] == dataset]
        searched = [m for m in run.models(dataset) if (trials[trials["model"] == m].groupby("split").size() > 1).any()]
        if searched:
            drawings.append(_figure(run, dataset, trials, searched))
    if not drawings:
        raise NothingToDraw("no model of this run was searched with more than one trial")
    return drawings


def expected_best(scores: Values) -> Values:
    """E[best of k trials], k = 1..n, over all ways to take k of the n trials without replacement.

    With scores sorted, the best of k is the i-th smallest (i = 1..n) with probability C(i-1, k-1) / C(n, k). Trials
    without a score (nan: failed or diverged) are never best; draws of such trials alone are left out of the mean.
    """
    n, good = len(scores), np.sort(scores[np.isfinite(scores)])
    if not len(good):
        return np.full(n, np.nan)
    rank = np.arange(n - len(good) + 1, n + 1)  # the failed take the lowest places
    weight = np.ones(len(good))  # C(i-1, k-1) / C(n, k) up to a factor that the division below removes
    best = np.empty(n)
    for k in range(1, n + 1):
        best[k - 1] = weight @ good / weight.sum()
        # C(i-1, k) = C(i-1, k-1) (i - k) / k; divided by n - k instead, the largest weight stays 1.
        weight = weight * np.maximum(rank - k, 0) / max(n - k, 1)
    return best


def curves(trials: pd.DataFrame) -> Values:
    """(splits, k) expected best scores, each split shifted to the mean level of all.

    Splits differ in how well their validation part can be predicted, which is not what a search curve shows: each
    split's gap to its own best of all trials is kept, the level of that best is replaced by its mean over splits.
    """
    found = []
    for _, split in trials.sort_values(["split", "trial"]).groupby("split"):
        scores = split["score"].where(split["status"] == "ok").to_numpy(dtype=float)
        best = expected_best(scores)
        if np.isfinite(best).all():
            found.append(best)
    if not found:
        return np.empty((0, 0))
    length = min(len(best) for best in found)
    gaps = np.stack([best[:length] - best[-1] for best in found])
    level: Values = gaps + np.mean([best[-1] for best in found])
    return level


def _figure(run: View, dataset: str, trials: pd.DataFrame, models: list[str]) -> Drawing:
    columns = columns_for(len(models))
    rows = -(-len(models) // columns)
    figure, axes = grid(rows, columns, 0.75 + 1.5 * rows)
    panels = [panel for row in axes for panel in row]
    for panel, model in zip(panels, models, strict=False):
        _panel(panel, model, curves(trials[trials["model"] == model]))
    for empty in panels[len(models) :]:
        empty.set_visible(False)
    name, mark = dataset_label(dataset), run.mark(dataset)
    figure.suptitle(heading(name, mark, run.effort(dataset)), fontsize=9)
    said = (
        "Expected best validation score of k trials over all orders of the trials made; line: mean over splits, band: "
        "one standard deviation over splits of the gap to the split's own best. Scores of different models are on "
        "different scales."
    )
    bad = int((trials["status"] != "ok").sum())
    failed = f"{bad} of {len(trials)} trials failed or diverged; they count as trials, never as best." if bad else ""
    others = [model_label(m) for m in run.models(dataset) if m not in models]
    unsearched = f"One trial or none per split: {', '.join(others)}." if others else ""
    note(figure, said, failed, unsearched)
    alt = f"Best validation score against the number of trials on {name}, one panel per model."
    caption = f"Search curves on {name}{f' ({mark} data)' if mark else ''}. {said} {failed} {unsearched}".strip()
    return Drawing(f"search_{dataset}", figure, caption, alt, ("trials.parquet",))


def _panel(axes: Axes, model: str, found: Values) -> None:
    title(axes, model_label(model))
    axes.set_xlabel("trials $k$", fontsize=7)
    axes.set_ylabel(SCORES.get(selected_by(model), "own valid. score"), fontsize=7)
    axes.tick_params(labelsize=7)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True, min_n_ticks=1))
    axes.locator_params(axis="y", nbins=4)
    if not found.size:
        axes.set(xticks=[], yticks=[])
        axes.text(0.5, 0.5, "all trials failed", transform=axes.transAxes, ha="center", color=GREY, style="italic")
        return
    style: Any = look(model)
    k = np.arange(1, found.shape[1] + 1)
    mean = found.mean(axis=0)
    sd = found.std(axis=0, ddof=1) if len(found) > 1 else np.zeros_like(mean)
    axes.fill_between(k, mean - sd, mean + sd, color=style.colour, alpha=0.2, linewidth=0)
    axes.plot(k, mean, color=style.colour, marker=style.marker if len(k) <= 20 else "", markersize=3)
