"""Heat maps of IBS and C^td: models down, data sets across, colour by the rank on the data set."""

from __future__ import annotations

import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes

from benchmarks.report.figures.style import G_TAU, Drawing, NothingToDraw, dataset_label, grid, model_label, note
from benchmarks.report.figures.view import View
from benchmarks.results.names import better, higher_is_better, metric_at_tau, model_order

METRICS = ("ibs", "ctd")
COLOURS = colormaps["cividis"]  # even in grey, and with every kind of colour vision


def draw(run: View) -> list[Drawing]:
    """One figure of two panels."""
    tables = {metric: _table(run, metric) for metric in METRICS}
    if all(table.empty for table in tables.values()):
        raise NothingToDraw("the run has neither IBS nor C-td")
    models, datasets = model_order({m for t in tables.values() for m in t.index}), run.datasets
    figure, [panels] = grid(1, 2, 1.1 + 0.19 * len(models), sharey=True)
    for panel, metric in zip(panels, METRICS, strict=True):
        panel.set_title(f"{metric_at_tau(metric)} ({better(metric)} is better)")
        _panel(panel, tables[metric].reindex(index=models, columns=datasets), higher_is_better(metric))
    panels[0].set_yticks(range(len(models)), [model_label(m) for m in models])
    said = (
        "Means over splits, P(C > τ) = 1e-8. The colour is the rank among the models of its column, the brightest the "
        "best. Ties earn nothing in the published C-td, which is 0 for a curve that is the same for everybody."
    )
    marked = [f"{dataset_label(d)} ({run.mark(d)} data)" for d in datasets if run.mark(d)]
    note(figure, said, f"Not the real data: {', '.join(marked)}." if marked else "", run.absences())
    names = ", ".join(dataset_label(d) for d in datasets)
    alt = f"Heat maps of IBS and C-td of {len(models)} models on {names}, with the values written in the cells."
    return [Drawing("heat_map", figure, f"All models on {names}. {said}", alt, ("cells.csv",))]


def _table(run: View, metric: str) -> pd.DataFrame:
    rows = run.cells[(run.cells["metric"] == metric) & (run.cells["g_tau"] == G_TAU)].dropna(subset="mean")
    return rows.pivot(index="model", columns="dataset", values="mean")


def _panel(axes: Axes, values: pd.DataFrame, higher: bool) -> None:
    """Squares by rank, best 1.0; what has no value stays white."""
    rank = values.rank(ascending=higher, pct=True)
    low = rank.min()
    shade = (rank - low) / (1 - low).replace(0, 1)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.imshow(shade.to_numpy(dtype=float), cmap=COLOURS, vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(values.shape[1]), [dataset_label(str(d)) for d in values.columns], rotation=35, fontsize=6.5)
    axes.set_xticks([k - 0.5 for k in range(1, values.shape[1])], minor=True)
    axes.set_yticks([k - 0.5 for k in range(1, values.shape[0])], minor=True)
    axes.grid(which="minor", visible=True, color="white", linewidth=1)
    axes.tick_params(which="minor", length=0)
    for i, row in enumerate(values.to_numpy(dtype=float)):
        for j, value in enumerate(row):
            if value == value:
                ink = "black" if shade.iloc[i, j] > 0.55 else "white"
                weight = "bold" if shade.iloc[i, j] == 1 else "normal"
                axes.text(j, i, f"{value:.3f}", ha="center", va="center", fontsize=5.8, color=ink, weight=weight)
            else:
                axes.text(j, i, "–", ha="center", va="center", fontsize=6)
