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
    dataset_label,
    grid,
    handle,
    heading,
    legend,
    model_label,
    note,
    title,
)
from benchmarks.report.figures.view import View, time_unit

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
    known = frame.dropna(subset=["observed"])
    found = known.groupby(["rank", "group"]).agg(
        time=("horizon", "mean"),
        predicted=("predicted", "mean"),
        observed=("observed", "mean"),
        sd=("observed", "std"),
        greenwood=("standard_error", "mean"),
        n_splits=("split", "nunique"),
    )
    found["spread"] = found["sd"].where(found["n_splits"] > 1, found["greenwood"])
    return found.drop(columns=["sd", "greenwood"]).reset_index()


def _figure(run: View, dataset: str, frames: dict[str, pd.DataFrame]) -> Drawing:
    columns = columns_for(len(frames))
    rows = -(-len(frames) // columns)
    figure, axes = grid(rows, columns, 0.95 + rows * WIDTH / max(columns, 3), WIDTH, sharex=True, sharey=True)
    panels = [panel for row in axes for panel in row]
    for panel, (model, frame) in zip(panels, frames.items(), strict=False):
        _panel(panel, frame, run.absent(dataset).get(model, "no rows"))
        title(panel, model_label(model))
    for empty in panels[len(frames) :]:
        empty.set_visible(False)
    name, mark = dataset_label(dataset), run.mark(dataset)
    figure.supylabel("observed survival (Kaplan-Meier)", fontsize=8)
    times = pd.concat([f for f in frames.values() if len(f)]).groupby("rank")["time"].mean()
    labels = [f"t = {t:.2g} ({QUARTERS[int(k) - 1]})" for k, t in times.items()]
    handles = [handle(label, style, markersize=3) for label, style in zip(labels, LOOKS, strict=False)]
    legend(figure, handles, title=heading(name, mark, run.effort(dataset)), title_fontsize=9)
    for panel in panels[len(frames) - columns : len(frames)]:
        panel.set_xlabel("predicted survival")
        panel.tick_params(labelbottom=True)
    unit = time_unit(dataset)
    said = (
        f"Deciles of predicted survival at the quartiles of the event times{f' ({unit})' if unit else ''}; mean over "
        "splits, bars one standard deviation over splits (Greenwood's standard error if there is one split). "
        "A calibrated model is on the diagonal."
    )
    gone = "; ".join(f"{model_label(m)} ({why})" for m, why in run.absent(dataset).items())
    note(figure, said, f"Absent: {gone}." if gone else "")
    alt = f"Calibration curves on {name} of {', '.join(model_label(m) for m in frames)}."
    sources = tuple(f"scores/{dataset}/{m}.json" for m in frames)
    caption = f"Calibration on {name}{f' ({mark} data)' if mark else ''}. {said}"
    return Drawing(f"calibration_{dataset}", figure, caption, alt, sources)


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
