"""Limits of an axis that a model far off does not stretch: at the edge, an arrow and the number stand for it."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from benchmarks.report.figures.style import GREY
from benchmarks.report.wording import number

FAR = 10.0  # times the usual distance of a model from the median model
MARGIN = 0.05  # of the axis, at both ends


def limits(means: pd.Series, lows: pd.Series, highs: pd.Series, far: float = FAR) -> tuple[float, float]:
    """The lowest low and the highest high of all models but those far off; nan without models.

    A mean among the bars of the others is shown, so its own bar is, too.
    """
    away = (means - means.median()).abs()
    kept = (away <= far * max(away.median(), 1e-3)).to_numpy()
    kept = means.between(lows[kept].min(), highs[kept].max()).to_numpy()
    return float(lows[kept].min()), float(highs[kept].max())


def margins(low: float, high: float) -> tuple[float, float]:
    """The limits with a margin at both ends."""
    margin = MARGIN * (high - low) or 1e-3
    return low - margin, high + margin


def arrow_at_edge(axes: Axes, model: str, mean: float, y: float, left: bool) -> None:
    """Say that a model's mean lies beyond the left or right end of the axis."""
    text = f"← {number(mean, 2)}" if left else f"{number(mean, 2)} →"
    place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "ha": "left" if left else "right", "va": "center"}
    axes.annotate(text, (0.01 if left else 0.99, y), fontsize=6, color=GREY, gid=model, **place)
