"""Kaplan-Meier curves of the high- and low-risk halves that SODEN finds (Section 5.5), on every data set of a run."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes

from benchmarks.report.claims.relations import LOG_RANK
from benchmarks.report.figures.style import (
    BLACK,
    BLUE,
    GREY,
    VERMILION,
    WIDTH,
    Drawing,
    Look,
    NothingToDraw,
    handle,
    legend,
    panels,
    title,
)
from benchmarks.report.figures.view import View, years
from benchmarks.report.wording import p_is
from benchmarks.results.names import dataset_label

MODEL = "soden"
LOOKS = {"low": Look(BLUE, "", "-."), "all": Look(BLACK, "", "-"), "high": Look(VERMILION, "", "--")}
LABELS = {"low": "low risk", "all": "all", "high": "high risk"}


def draw(run: View) -> list[Drawing]:
    """A panel per data set: the first split's curves, and on how many splits the log-rank test says p < 0.001."""
    groups = {d: run.curves(d, MODEL)["risk_groups"] for d in run.datasets if MODEL in run.models(d)}
    if not any(groups.values()):
        raise NothingToDraw("SODEN was not evaluated on any data set of this run")
    columns = min(len(groups), 2 if len(groups) in (2, 4) else 3)
    figure, axes = panels(
        len(groups), 2.0 if columns == 3 else 2.35, 0.5, columns, WIDTH if columns > 1 else WIDTH / 1.6, sharey=True
    )
    for k, (panel, (dataset, rows)) in enumerate(zip(axes, groups.items(), strict=True)):
        title(panel, dataset_label(dataset), run.mark(dataset), _often(rows))
        _panel(panel, dataset, rows)
        if k % columns == 0:
            panel.set_ylabel("survival")
    legend(figure, [handle(LABELS[key], style) for key, style in LOOKS.items()])
    tests = "; ".join(f"{dataset_label(d)}: {summary(g)}" for d, g in groups.items())
    caption = (
        "Kaplan-Meier curves of the first split's test part: all, and the halves of lower and higher survival as SODEN "
        f"predicts it at the median event time (dotted line). {tests}. {run.absences([MODEL])}".strip()
    )
    alt = f"Kaplan-Meier curves of high- and low-risk halves. {tests}."
    sources = tuple(f"scores/{d}/{MODEL}.json" for d in groups)
    return [Drawing("risk_groups", figure, caption, alt, sources)]


def _panel(axes: Axes, dataset: str, rows: list[dict[str, Any]]) -> None:
    factor, unit = years(dataset)
    axes.set(xlabel=f"time ({unit})" if unit else "time", ylim=(0, 1.02))
    if not rows:
        axes.text(0.5, 0.5, "SODEN has no fitted model here", transform=axes.transAxes, ha="center", color=GREY)
        return
    first = min(rows, key=lambda g: g["split"])
    times = [factor * t for t in first["grid"]]
    axes.axvline(factor * first["time"], color=GREY, linestyle=":", linewidth=0.8)
    for key, style in LOOKS.items():
        axes.step(times, first[key], where="post", color=style.colour, linestyle=style.line)
    axes.set_xlim(0, times[-1])
    axes.locator_params(axis="x", nbins=5)


def summary(rows: list[dict[str, Any]]) -> str:
    """The log-rank p of the first split and on how many splits it is below 0.001."""
    if not rows:
        return "no fitted model"
    first = min(rows, key=lambda g: g["split"])
    which = "" if first["split"] == 1 else f" (split {first['split']})"
    return f"log-rank {p_is(first['p_value'])}{which}; < 0.001 on {_of_splits(rows)}"


def _often(rows: list[dict[str, Any]]) -> str:
    """The same in few words, for the panel."""
    return f"p < 0.001 on {_of_splits(rows)}" if rows else ""


def _of_splits(rows: list[dict[str, Any]]) -> str:
    return f"{sum(g['p_value'] < LOG_RANK for g in rows)} of {len(rows)} splits"
