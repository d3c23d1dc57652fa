"""Kaplan-Meier curves of the high- and low-risk halves that SODEN finds (Section 5.5), on every data set of a run."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes

from benchmarks.report.claims.ablation import LOG_RANK
from benchmarks.report.figures.style import (
    BLACK,
    BLUE,
    GREY,
    VERMILION,
    WIDTH,
    Drawing,
    Look,
    NothingToDraw,
    dataset_label,
    grid,
    handle,
    legend,
    note,
    title,
)
from benchmarks.report.figures.view import View, time_unit

MODEL = "soden"
LOOKS = {"low": Look(BLUE, "", "-."), "all": Look(BLACK, "", "-"), "high": Look(VERMILION, "", "--")}
LABELS = {"low": "low risk", "all": "all", "high": "high risk"}


def draw(run: View) -> list[Drawing]:
    """A panel per data set: the first split's curves, and on how many splits the log-rank test says p < 0.001."""
    groups = {d: run.curves(d, MODEL)["risk_groups"] for d in run.datasets if MODEL in run.models(d)}
    if not any(groups.values()):
        raise NothingToDraw("SODEN was not evaluated on any data set of this run")
    columns = min(len(groups), 2 if len(groups) in (2, 4) else 3)
    rows = -(-len(groups) // columns)
    width = WIDTH if columns > 1 else WIDTH / 1.6
    figure, axes = grid(rows, columns, 0.7 + rows * (2.1 if columns == 3 else 2.35), width, sharey=True)
    panels = [panel for row in axes for panel in row]
    for panel, (dataset, found) in zip(panels, groups.items(), strict=False):
        title(panel, dataset_label(dataset), run.mark(dataset), summary(found))
        _panel(panel, dataset, found)
    for row in axes:
        row[0].set_ylabel("survival")
    for empty in panels[len(groups) :]:
        empty.set_visible(False)
    legend(figure, [handle(LABELS[key], style) for key, style in LOOKS.items()])
    said = (
        "Kaplan-Meier curves of the first split's test part: all, and the halves of lower and higher survival as SODEN "
        "predicts it at the median event time (dotted line)."
    )
    note(figure, said, run.absences([MODEL]))
    tests = "; ".join(f"{dataset_label(d)}: {summary(g)}" for d, g in groups.items())
    caption = f"{said} {tests}."
    alt = f"Kaplan-Meier curves of high- and low-risk halves. {tests}."
    sources = tuple(f"scores/{d}/{MODEL}.json" for d in groups)
    return [Drawing("risk_groups", figure, caption, alt, sources)]


def _panel(axes: Axes, dataset: str, found: list[dict[str, Any]]) -> None:
    unit = time_unit(dataset)
    axes.set(xlabel=f"time ({unit})" if unit else "time", ylim=(0, 1.02))
    if not found:
        axes.text(0.5, 0.5, "SODEN has no fitted model here", transform=axes.transAxes, ha="center", color=GREY)
        return
    first = min(found, key=lambda g: g["split"])
    axes.axvline(first["time"], color=GREY, linestyle=":", linewidth=0.8)
    for key, style in LOOKS.items():
        axes.step(first["grid"], first[key], where="post", color=style.colour, linestyle=style.line)
    axes.set_xlim(0, first["grid"][-1])


def summary(found: list[dict[str, Any]]) -> str:
    """The log-rank p of the first split and on how many splits it is below 0.001."""
    if not found:
        return "no fitted model"
    first = min(found, key=lambda g: g["split"])
    often = sum(g["p_value"] < LOG_RANK for g in found)
    p = first["p_value"]
    value = "p < 0.001" if p < LOG_RANK else f"p = {p:.3f}"
    which = "" if first["split"] == 1 else f" (split {first['split']})"
    return f"log-rank {value}{which}; < 0.001 on {often} of {len(found)} splits"
