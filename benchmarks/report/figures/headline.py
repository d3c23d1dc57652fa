"""The headline: every model's C^td, IBLL and IBS, ours beside the published."""

from __future__ import annotations

import math

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
from benchmarks.results.names import better, metric_at_tau

METRICS = {name: f"{metric_at_tau(name)} ({better(name)} is better)" for name in ("ctd", "ibll", "ibs")}
FAR = 10.0
ROW, FRAME = 0.16, 0.62  # inches per model, and around a panel


def draw(run: View) -> list[Drawing]:
    """Dots and standard errors; a row of panels per data set."""
    datasets = run.datasets
    if not datasets:
        raise NothingToDraw("the run has no cells")
    heights = [FRAME + ROW * len(run.models(d)) for d in datasets]
    figure, axes = grid(
        len(datasets), len(METRICS), sum(heights) + 0.45, gridspec_kw={"height_ratios": heights}, sharey="row"
    )
    cut: set[bool] = set()
    for row, dataset in zip(axes, datasets, strict=True):
        models = run.models(dataset)
        cut |= {_panel(panel, run, dataset, metric, models) for panel, metric in zip(row, METRICS, strict=True)}
        absent = run.absent(dataset)
        labels = [model_label(m) + (f" ({absent[m]})" if m in absent else "") for m in models]
        row[0].set_yticks(range(len(models)), labels)
        row[0].set_ylim(len(models) - 0.4, -0.6)
        title(row[0], f"{dataset_label(dataset)}: {run.effort(dataset)}")
        title(row[-1], "", run.mark(dataset))
    for panel, label in zip(axes[-1], METRICS.values(), strict=True):
        panel.set_xlabel(label)
    plain = Look(GREY, "o", "")
    handles = [handle("this run", plain), handle("published", plain, markerfacecolor="white")]
    compared = any(_sides(run, d)[1:] for d in datasets)
    legend(figure, handles if compared else handles[:1])
    said = "Bars: one standard error over splits, P(C > τ) = 1e-8."
    said += " An arrow: off the scale, the mean as printed." if any(cut) else ""
    said += " The paper searched 100 trials per split." if compared else ""
    if any(run.mark(d) for d in datasets):
        said += " Published values are of the real data: none is shown beside synthetic or demo data."
    note(figure, said, run.absences())
    names = ", ".join(dataset_label(d) for d in datasets)
    efforts = "; ".join(f"{dataset_label(d)}: {run.effort(d)}" for d in datasets)
    caption = (
        f"All models on {names}: filled, this run ({efforts}); "
        f"hollow, the published values where the paper has one. {said} {run.absences()}"
    )
    alt = f"Dot plot of C-td, IBLL and IBS of every model on {names}, this run beside the published values."
    return [Drawing("headline", figure, caption.strip(), alt, ("cells.csv", "datasets.csv"))]


def _panel(axes: Axes, run: View, dataset: str, metric: str, models: list[str]) -> bool:
    """Draw one metric on one data set; whether a mean is off the scale."""
    cut = False
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.locator_params(axis="x", nbins=4)
    if "soden" in models:
        k = models.index("soden")
        axes.axhspan(k - 0.5, k + 0.5, color="#f2f2f2", zorder=0, linewidth=0)
    sides = [(_values(cells, dataset, metric), offset, filled) for cells, offset, filled in _sides(run, dataset)]
    low, high = limits(pd.concat([values for values, _, _ in sides]))
    for values, offset, filled in sides:
        for k, model in enumerate(models):
            if model in values.index and pd.notna(mean := values.loc[model, "mean"]):
                if low <= mean <= high:
                    _dot(axes, values.loc[model], k + offset, look(model), filled)
                else:
                    _off_scale(axes, mean, k + offset, low if mean < low else high)
                    cut = True
            elif filled and model not in run.absent(dataset):  # the axis says so of those
                axes.annotate(
                    "no value",
                    (0.99, k + offset),
                    xycoords=("axes fraction", "data"),
                    ha="right",
                    va="center",
                    fontsize=6,
                    style="italic",
                    color=GREY,
                )
    return cut


def limits(values: pd.DataFrame) -> tuple[float, float]:
    """All dots and bars but those of models that lie ten times as far from the median model as models usually do."""
    means = values["mean"].dropna()
    if means.empty:
        return -math.inf, math.inf
    away = (means - means.median()).abs()
    kept = values.loc[values["mean"].notna()][(away <= FAR * max(away.median(), 1e-3)).to_numpy()]
    errors = kept["standard_error"].fillna(0)
    return float((kept["mean"] - errors).min()), float((kept["mean"] + errors).max())


def _off_scale(axes: Axes, mean: float, y: float, end: float) -> None:
    """Kaplan-Meier's C^td, 0 since ties earn nothing, would flatten all the others: an arrow and the number."""
    left = mean < end
    text, side = (f"← {mean:.2f}", "left") if left else (f"{mean:.2f} →", "right")
    axes.annotate(text, (end, y), ha=side, va="center", fontsize=6, color=GREY)


def _sides(run: View, dataset: str) -> list[tuple[pd.DataFrame, float, bool]]:
    """Cells, vertical offset and whether filled: ours, and the published unless the data are not the paper's."""
    if run.mark(dataset) or dataset not in set(run.published["dataset"]):
        return [(run.cells, 0.0, True)]
    return [(run.cells, -0.14, True), (run.published, 0.14, False)]


def _values(cells: pd.DataFrame, dataset: str, metric: str) -> pd.DataFrame:
    rows = cells[(cells["dataset"] == dataset) & (cells["metric"] == metric) & (cells["g_tau"] == G_TAU)]
    return rows.set_index("model")[["mean", "standard_error"]]


def _dot(axes: Axes, value: pd.Series, y: float, style: Look, filled: bool) -> None:
    error = value["standard_error"] if pd.notna(value["standard_error"]) else 0.0
    face = style.colour if filled else "white"
    axes.errorbar(
        value["mean"],
        y,
        xerr=error,
        fmt=style.marker,
        color=style.colour,
        markerfacecolor=face,
        markersize=4,
        elinewidth=0.9,
        markeredgewidth=0.9,
    )
