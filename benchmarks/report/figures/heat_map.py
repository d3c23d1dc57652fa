"""Heat maps of IBS and C^td: models down, data sets across, coloured by how far each model is behind the best."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize

from benchmarks.report.figures.style import G_TAU, Drawing, NothingToDraw, grid
from benchmarks.report.figures.view import View
from benchmarks.results.names import better, dataset_label, higher_is_better, metric_at_tau, model_label, model_order
from benchmarks.results.ranks import FLOOR
from benchmarks.results.statistics import TEST_TO_TRAIN

METRICS = ("ibs", "ctd")
COLOURS = colormaps["cividis_r"]  # even in grey, and with every kind of colour vision
MOST = 4.0  # standard errors; more are coloured as these


def draw(run: View) -> list[Drawing]:
    """One figure of two panels."""
    tables = {metric: _table(run, metric) for metric in METRICS}
    if all(table.empty for table in tables.values()):
        raise NothingToDraw("the run has neither IBS nor C-td")
    models, datasets = model_order({m for t in tables.values() for m in t.index}), run.datasets
    figure, [axes] = grid(1, 2, 1.5 + 0.19 * len(models), sharey=True)
    for panel, metric in zip(axes, METRICS, strict=True):
        panel.set_title(f"{metric_at_tau(metric)} ({better(metric)} is better)")
        behind = pd.DataFrame({d: _behind(run, d, metric) for d in datasets}, index=models)
        _panel(panel, tables[metric].reindex(index=models, columns=datasets), behind, higher_is_better(metric))
    axes[0].set_yticks(range(len(models)), [model_label(m) for m in models])
    bar = figure.colorbar(
        ScalarMappable(Normalize(0, MOST), COLOURS), ax=axes, location="bottom", shrink=0.4, aspect=40
    )
    bar.set_label("standard errors behind the best", fontsize=7)
    bar.set_ticks([0, 1, 2, 3, 4], labels=["0", "1", "2", "3", "≥ 4"], fontsize=7)
    bar.outline.set_visible(False)
    marked = [f"{dataset_label(d)} ({run.mark(d)} data)" for d in datasets if run.mark(d)]
    names = ", ".join(dataset_label(d) for d in datasets)
    sentences = [
        f"All models on {names}. Means over splits, P(C > τ) = 1e-8, the best of a column in bold. The colour is the "
        "mean paired difference from the best of the column in its standard errors, with the variance corrected for "
        "overlapping splits (Nadeau and Bengio). White: no value. Kaplan-Meier gives everybody the same curve, for "
        "which C-td has no meaning.",
        f"Not the real data: {', '.join(marked)}." if marked else "",
        run.absences(),
    ]
    alt = f"Heat maps of IBS and C-td of {len(models)} models on {names}, with the values written in the cells."
    return [Drawing("heat_map", figure, " ".join(filter(None, sentences)), alt, ("cells.csv", "scores.csv"))]


def _table(run: View, metric: str) -> pd.DataFrame:
    rows = run.cells[(run.cells["metric"] == metric) & (run.cells["g_tau"] == G_TAU)].dropna(subset="mean")
    if metric == "ctd":
        rows = rows[rows["model"] != FLOOR]
    return rows.pivot(index="model", columns="dataset", values="mean")


def _behind(run: View, dataset: str, metric: str) -> pd.Series:
    """By model, how many standard errors of the paired difference it is behind the best; nan with a single split."""
    scores = run.scores
    chosen = (scores["dataset"] == dataset) & (scores["metric"] == metric) & (scores["g_tau"] == G_TAU)
    values = scores[chosen].pivot(index="split", columns="model", values="value")
    values = values.drop(columns=[FLOOR] if metric == "ctd" and FLOOR in values else [])
    if values.empty:
        return pd.Series(dtype=float)
    sign = 1 if higher_is_better(metric) else -1
    differences = values.sub(values[(sign * values.mean()).idxmax()], axis=0)
    n = differences.count()
    error = np.sqrt((1 / n + TEST_TO_TRAIN) * differences.var(ddof=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        behind = -sign * differences.mean() / error
    return behind.mask(differences.eq(0).all(), 0.0).where(n > 1)


def _panel(axes: Axes, means: pd.DataFrame, behind: pd.DataFrame, higher: bool) -> None:
    """A square per model and data set, with its mean written in it."""
    best = means.round(3).eq(means.round(3).max() if higher else means.round(3).min())
    shade = behind.where(means.notna()).clip(0, MOST).to_numpy(dtype=float)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.imshow(shade, cmap=COLOURS, vmin=0, vmax=MOST, aspect="auto")
    labels = [dataset_label(str(d)) for d in means.columns]
    axes.set_xticks(range(len(labels)), labels, rotation=35 if len(labels) > 4 else 0, fontsize=6.5)
    axes.set_xticks([k - 0.5 for k in range(1, means.shape[1])], minor=True)
    axes.set_yticks([k - 0.5 for k in range(1, means.shape[0])], minor=True)
    axes.grid(which="minor", visible=True, color="white", linewidth=1)
    axes.tick_params(which="minor", length=0)
    for (i, j), mean in np.ndenumerate(means.to_numpy(dtype=float)):
        text = "–" if np.isnan(mean) else f"{mean:.3f}"
        ink = "white" if shade[i, j] > 0.55 * MOST else "black"
        weight = "bold" if best.iloc[i, j] else "normal"
        axes.text(j, i, text, ha="center", va="center", fontsize=5.8, color=ink, weight=weight)
