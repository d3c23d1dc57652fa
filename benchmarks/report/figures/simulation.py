"""The simulation figure of Section 4: survival and hazard of two groups by SODEN and DeepHit, beside the truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from benchmarks.report.figures.style import BLACK, BLUE, VERMILION, Drawing, Look, grid, handle, legend
from benchmarks.report.figures.view import View
from benchmarks.results.names import model_label

MODELS = ("soden", "deephit")
LOOKS = (Look(BLUE, "", "-"), Look(VERMILION, "", "--"))  # x = 0, x = 1
KM_EVERY = 10  # Kaplan-Meier is marked at every tenth time, so that the truth beneath it stays visible
TOP = 10.0  # of the hazard axis: the truth ends at 8

CHOICE = (
    "Hyper-parameters of both models are the best of the same number of random draws, by the likelihood of held-out "
    "subjects of another draw of the data; the truth was not used."
)

Values = npt.NDArray[Any]


def draw(run: View) -> list[Drawing]:
    """Mean and standard deviation over the repetitions."""
    draws = run.simulations()
    metas = [meta for _, meta in draws]
    stacked = {key: np.stack([arrays[key] for arrays, _ in draws]) for key in draws[0][0]}
    times = draws[0][0]["times"]
    figure, axes = grid(2, 2, 4.6, sharex=True, sharey="row")
    for column, model in enumerate(MODELS):
        upper, lower = axes[0][column], axes[1][column]
        _band(upper, times, stacked[f"survival_{model}"], 1.0)
        _band(lower, times, stacked[f"hazard_{model}"], TOP)
        _reference(upper, times, stacked["survival_true"][0], stacked["survival_km"].mean(axis=0))
        _reference(lower, times, stacked["hazard_true"][0], None)
        upper.set_title(model_label(model))
        upper.text(0.97, 0.95, crossing_text(metas, model), transform=upper.transAxes, ha="right", va="top")
        lower.set_xlabel("time $t$")
    axes[0][0].set(ylabel="survival $S_x(t)$", ylim=(0, 1), xlim=(0, 2), xticks=np.linspace(0, 2, 5))
    axes[1][0].set(ylabel=r"hazard $\lambda_x(t)$", ylim=(0, TOP))
    black = [Look(BLACK, "", style.line) for style in LOOKS]
    handles = [handle(f"predicted, $x={x}$", style) for x, style in enumerate(LOOKS)]
    handles += [handle(f"truth, $x={x}$", style, linewidth=0.8) for x, style in enumerate(black)]
    handles += [handle("Kaplan-Meier", Look(BLACK, "o", ""), markersize=2.2)]
    legend(figure, handles, columnspacing=1.2, handlelength=2.4)
    n, repetitions = metas[0]["n"], len(metas)
    clipped = bool((stacked["hazard_deephit"].mean(axis=0) > TOP).any())
    sentences = [
        "The simulation of Section 4. Mean and one standard deviation over "
        f"{repetitions} independent {'draw' if repetitions == 1 else 'draws'} of n = {n:,}. Kaplan-Meier of the same "
        "draws.",
        f"DeepHit's hazard leaves the axis, which ends at {TOP:g}." if clipped else "",
        *(_errors(metas, m) for m in MODELS),
        CHOICE,
    ]
    caption = " ".join(filter(None, sentences))
    crossings = "; ".join(f"{model_label(m)}: {crossing_text(metas, m)}" for m in MODELS)
    alt = f"Survival and hazard curves of two groups by SODEN and DeepHit beside the truth. {crossings}."
    return [Drawing("simulation", figure, caption, alt, ("simulation/",))]


def _band(axes: Axes, times: Values, curves: Values, top: float) -> None:
    """Mean line and band of one standard deviation (ddof 1; none with a single repetition) of both groups."""
    mean = curves.mean(axis=0)
    sd = curves.std(axis=0, ddof=1) if len(curves) > 1 else np.zeros_like(mean)
    for group, style in enumerate(LOOKS):
        low, high = np.clip(mean[group] - sd[group], 0, top), np.clip(mean[group] + sd[group], 0, top)
        axes.fill_between(times, low, high, color=style.colour, alpha=0.22, linewidth=0)
        axes.plot(times, mean[group], color=style.colour, linestyle=style.line, linewidth=1.6)


def _reference(axes: Axes, times: Values, truth: Values, kaplan_meier: Values | None) -> None:
    axes.axvline(1, color="#bbbbbb", linewidth=0.7, zorder=0)
    for group, style in enumerate(LOOKS):
        axes.plot(times, truth[group], color=BLACK, linestyle=style.line, linewidth=0.8)
        if kaplan_meier is not None:
            axes.plot(times[::KM_EVERY], kaplan_meier[group, ::KM_EVERY], "o", color=BLACK, markersize=2.2)


def crossing_text(metas: list[dict[str, Any]], model: str) -> str:
    """Where the predicted curves cross, mean and sd over the repetitions where they do."""
    times = np.array([meta["models"][model]["crossing"] for meta in metas])
    crossed = times[np.isfinite(times)]
    if not len(crossed):
        return "curves do not cross"
    spread = f" ± {crossed.std(ddof=1):.2f}" if len(crossed) > 1 else ""
    often = "" if len(crossed) == len(times) else f" ({len(crossed)} of {len(times)})"
    return f"curves cross at t = {crossed.mean():.2f}{spread}{often}"


def _errors(metas: list[dict[str, Any]], model: str) -> str:
    errors = np.array([meta["models"][model]["survival_error"] for meta in metas])
    return (
        f"{model_label(model)}: mean absolute error of S for t ≤ 1.5 of {errors[:, 0].mean():.4f} (x = 0) and "
        f"{errors[:, 1].mean():.4f} (x = 1), at worst {errors.max():.4f}; {crossing_text(metas, model)}."
    )
