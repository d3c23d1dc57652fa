"""Search curves: the best validation score one may expect of k random trials, per model; one figure per data set."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from benchmarks.report.figures.style import GREY, Drawing, NothingToDraw, heading, look, panels, title
from benchmarks.report.figures.view import View
from benchmarks.results.names import dataset_label, model_label, selected_by

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
    bests = []
    for _, split in trials.sort_values(["split", "trial"]).groupby("split"):
        scores = split["score"].where(split["status"] == "ok").to_numpy(dtype=float)
        best = expected_best(scores)
        if np.isfinite(best).all():
            bests.append(best)
    if not bests:
        return np.empty((0, 0))
    length = min(len(best) for best in bests)
    gaps = np.stack([best[:length] - best[-1] for best in bests])
    level: Values = gaps + np.mean([best[-1] for best in bests])
    return level


def _figure(run: View, dataset: str, trials: pd.DataFrame, models: list[str]) -> Drawing:
    figure, axes = panels(len(models), 1.5, 0.35)
    for panel, model in zip(axes, models, strict=True):
        _panel(panel, model, curves(trials[trials["model"] == model]))
    figure.suptitle(heading(dataset_label(dataset), run.mark(dataset), run.effort(dataset)), fontsize=9)
    bad = int((trials["status"] != "ok").sum())
    unsearched = [model_label(m) for m in run.models(dataset) if m not in models]
    sentences = [
        "Expected best validation score of k trials over all orders of the trials made; line: mean over splits, band: "
        "one standard deviation over splits of the gap to the split's own best. Scores of different models are on "
        "different scales.",
        f"{bad} of {len(trials)} trials failed or diverged; they count as trials, never as best." if bad else "",
        f"One trial or none per split: {', '.join(unsearched)}." if unsearched else "",
    ]
    alt = "Best validation score against the number of trials, one panel per model,"
    text = " ".join(filter(None, sentences))
    return run.drawing("search", dataset, figure, "Search curves", text, alt, ("trials.parquet",))


def _panel(axes: Axes, model: str, splits: Values) -> None:
    title(axes, model_label(model))
    axes.set_xlabel("trials $k$", fontsize=7)
    axes.set_ylabel(SCORES.get(selected_by(model), "own valid. score"), fontsize=7)
    axes.tick_params(labelsize=7)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True, min_n_ticks=1))
    axes.locator_params(axis="y", nbins=4)
    if not splits.size:
        axes.set(xticks=[], yticks=[])
        axes.text(0.5, 0.5, "all trials failed", transform=axes.transAxes, ha="center", color=GREY, style="italic")
        return
    style: Any = look(model)
    k = np.arange(1, splits.shape[1] + 1)
    mean = splits.mean(axis=0)
    sd = splits.std(axis=0, ddof=1) if len(splits) > 1 else np.zeros_like(mean)
    axes.fill_between(k, mean - sd, mean + sd, color=style.colour, alpha=0.2, linewidth=0)
    axes.plot(k, mean, color=style.colour, marker=style.marker if len(k) <= 20 else "", markersize=3)
