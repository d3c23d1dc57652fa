"""Calibration: predicted survival by decile against what Kaplan-Meier observes, per model; one figure per data set."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from benchmarks.report.figures.style import (
    BLUE,
    GREEN,
    GREY,
    VERMILION,
    WIDTH,
    Drawing,
    Look,
    NothingToDraw,
    columns_for,
    handle,
    heading,
    legend,
    panels,
    title,
)
from benchmarks.report.figures.view import View, years
from benchmarks.results.names import dataset_label, model_label

LOOKS = (Look(BLUE, "o", "-"), Look(GREEN, "s", "--"), Look(VERMILION, "^", ":"))  # early, middle, late horizon
QUARTERS = ("1st quartile", "median", "3rd quartile")


def draw(run: View) -> list[Drawing]:
    """A figure per data set, a panel per model, a curve per horizon."""
    drawings = []
    for dataset in run.datasets:
        models = run.models(dataset)
        frames = {m: by_decile(run.curves(dataset, m)["curves"]) for m in models}
        if any(len(frame) for frame in frames.values()):
            drawings.append(_figure(run, dataset, frames))
    if not drawings:
        raise NothingToDraw("no model of this run has calibration rows")
    return drawings


def by_decile(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Mean over splits of predicted and observed survival per horizon (1, 2, 3) and group, and the spread.

    Horizons are quartiles of each split's event times, so splits are matched by rank, not by time. `spread` is the
    standard deviation over splits, or Greenwood's standard error where there is one split only.
    """
    frame = pd.DataFrame(rows, columns=["split", "horizon", "group", "predicted", "observed", "standard_error"])
    frame["rank"] = frame.groupby("split")["horizon"].rank(method="dense").astype(int)
    observed = frame.dropna(subset=["observed"])
    groups = observed.groupby(["rank", "group"]).agg(
        time=("horizon", "mean"),
        predicted=("predicted", "mean"),
        observed=("observed", "mean"),
        sd=("observed", "std"),
        greenwood=("standard_error", "mean"),
        n_splits=("split", "nunique"),
    )
    groups["spread"] = groups["sd"].where(groups["n_splits"] > 1, groups["greenwood"])
    return groups.drop(columns=["sd", "greenwood"]).reset_index()


def _figure(run: View, dataset: str, frames: dict[str, pd.DataFrame]) -> Drawing:
    columns = columns_for(len(frames))
    figure, axes = panels(len(frames), WIDTH / max(columns, 3), 0.75, columns, sharex=True, sharey=True)
    for panel, (model, frame) in zip(axes, frames.items(), strict=True):
        _panel(panel, frame, run.absent(dataset).get(model, "no rows"))
        title(panel, model_label(model))
    for panel in axes[-columns:]:
        panel.set_xlabel("predicted survival")
        panel.tick_params(labelbottom=True)
    figure.supylabel("observed survival (Kaplan-Meier)", fontsize=8)
    factor, unit = years(dataset)
    times = factor * pd.concat([f for f in frames.values() if len(f)]).groupby("rank")["time"].mean()
    labels = [f"t = {t:.2g}{f' {unit}' if unit else ''} ({QUARTERS[int(k) - 1]})" for k, t in times.items()]
    handles = [handle(label, style, markersize=3) for label, style in zip(labels, LOOKS, strict=False)]
    top = heading(dataset_label(dataset), run.mark(dataset), run.effort(dataset))
    legend(figure, handles, title=top, title_fontsize=9)
    gone = "; ".join(f"{model_label(m)} ({why})" for m, why in run.absent(dataset).items())
    text = (
        "Deciles of predicted survival at the quartiles of the event times; mean over splits, bars one standard "
        "deviation over splits (Greenwood's standard error if there is one split). A calibrated model is on the "
        f"diagonal.{f' Absent: {gone}.' if gone else ''}"
    )
    alt = f"Calibration curves of {', '.join(model_label(m) for m in frames)}"
    sources = tuple(f"scores/{dataset}/{m}.json" for m in frames)
    return run.drawing("calibration", dataset, figure, "Calibration", text, alt, sources)


def _panel(axes: Axes, frame: pd.DataFrame, why: str) -> None:
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
    axes.plot([0, 1], [0, 1], color="#aaaaaa", linewidth=0.8, zorder=1)
    if not len(frame):
        axes.text(0.5, 0.15, why, ha="center", color=GREY, style="italic")
    for rank, curve in frame.sort_values("predicted").groupby("rank"):
        style = LOOKS[int(rank) - 1]
        axes.errorbar(
            curve["predicted"],
            curve["observed"],
            yerr=curve["spread"],
            color=style.colour,
            marker=style.marker,
            linestyle=style.line,
            linewidth=0.9,
            markersize=2.6,
            elinewidth=0.6,
        )
