"""Figures of a fitted estimator; they need matplotlib, draw into `ax` or a new figure, and return the axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from soden.inputs import checked_times, column_names
from soden.outcomes import either
from soden.types import BoolArray, FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from soden.estimator import SODEN

# Okabe and Ito's colours, told apart by colour-blind readers, the yellow left out: it is faint on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
POINTS = 200  # times of a curve


def plot_survival(
    model: SODEN, X: Any, times: Any = None, *, seq: Any = None, labels: Any = None, ax: Axes | None = None
) -> Axes:
    """Draw S_x(t) of each row of X, with the range of the members' curves where there are several.

    Times beyond `horizon_`, of which no data speak, are on grey ground.

    Parameters
    ----------
    X, seq
        At most 7 subjects, as for `predict_survival`.
    times : array (k,), optional
        By default 200 times from 0 to the largest training time.
    labels : list of str, optional
        Names of the rows; by default the index of a data frame.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> ax = model.plot_survival(X[:2], labels=["first", "second"])
    >>> len(ax.get_lines())
    2
    """
    at = _times_or_grid(model, times)
    ax = _draw(model.predict_survival(X, at, seq), _range(model, model.predict_survival, X, at, seq), model, at, ax)
    ax.set(ylim=(0, 1.02), ylabel="survival S(t)")
    return _finished(ax, X, labels)


def plot_partial_effects(
    model: SODEN, X: Any, feature: Any, values: Any, times: Any = None, *, seq: Any = None, ax: Axes | None = None
) -> Axes:
    """Draw the mean S(t) of all rows of X, had they each of some values of one feature (partial dependence).

    Parameters
    ----------
    X, seq
        Subjects to average over, as for `predict_survival`.
    feature : str or int
        A column of X, by name or number.
    values : list of float
        At most 7 values of the feature.
    times : array (k,), optional
        By default 200 times from 0 to the largest training time.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> ax = model.plot_partial_effects(X, 0, [-1, 1])
    >>> [line.get_label() for line in ax.get_lines()]
    ['feature 0 = -1', 'feature 0 = 1']
    """
    at = _times_or_grid(model, times)
    rows, names = model._rows(X, seq), column_names(X) or []
    if feature not in names and feature not in range(rows.x.shape[1]):
        raise ValueError(f"X has no column {feature!r}; pass a number below {rows.x.shape[1]} or one of {names}")
    column = names.index(feature) if feature in names else feature
    means = []
    for value in values:
        x = rows.x.copy()
        x[:, column] = value
        means.append(np.exp(-model._curves(rows._replace(x=x), at)).mean(axis=0))
    name = f"feature {feature}" if isinstance(feature, int) else str(feature)
    ax = _draw(np.array(means), None, model, at, ax)
    ax.set(ylim=(0, 1.02), ylabel="mean survival S(t)")
    return _finished(ax, means, [f"{name} = {value}" for value in values])


def plot_hazard(
    model: SODEN, X: Any, times: Any = None, *, seq: Any = None, labels: Any = None, ax: Axes | None = None
) -> Axes:
    """Draw lambda_x(t), events per unit of time, of each row of X; parameters as for `plot_survival`.

    Examples
    --------
    >>> model.plot_hazard(X[:2]).get_ylabel()
    'hazard λ(t), events per unit of time'
    """
    at = _times_or_grid(model, times)
    ax = _draw(model.predict_hazard(X, at, seq), _range(model, model.predict_hazard, X, at, seq), model, at, ax)
    ax.set(ylim=(0, None), ylabel="hazard λ(t), events per unit of time")
    return _finished(ax, X, labels)


def plot_calibration(
    model: SODEN,
    X: Any,
    y: Any = None,
    event: Any = None,
    *,
    time: Any = None,
    entry: Any = None,
    seq: Any = None,
    at: float | None = None,
    groups: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw predicted S(at | x) against Kaplan-Meier's, in groups of equal size by prediction, with 95 % intervals.

    Points on the diagonal are what a calibrated model gives.

    Parameters
    ----------
    X, y, event, time, entry, seq
        Data to judge by, in the same forms as for `score`.
    at : float, optional
        The time of the predictions; by default the median event time.
    groups : int, default 10
        Number of groups.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> model.plot_calibration(X, time, event, at=1.0, groups=5).get_xlabel()
    'predicted S(1)'
    """
    rows = model._rows(X, seq)
    seen = model._judged(either(y, time), event, len(rows.x), entry)
    when = float(np.median(seen.time[seen.event])) if at is None else float(at)
    if not 0 < when <= seen.time.max():
        raise ValueError(f"at={when:g} lies outside of the observed times, 0 to {seen.time.max():g}")
    if not 1 <= groups <= len(rows.x):
        raise ValueError(f"groups must be between 1 and the number of subjects, {len(rows.x)}; got {groups!r}")
    predicted = model.predict_survival(X, when, seq)[:, 0]
    ax = _axes(ax)
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=0.8, zorder=1)
    entered = np.zeros(len(seen.time)) if seen.entry is None else seen.entry
    for rank in np.array_split(np.argsort(predicted, kind="stable"), groups):
        estimate, low, high = kaplan_meier(seen.time[rank], seen.event[rank], entered[rank], when)
        mean = predicted[rank].mean()
        ax.plot([mean, mean], [low, high], color=COLOURS[0], linewidth=1.2, alpha=0.6, zorder=2)
        ax.plot(mean, estimate, "o", color=COLOURS[0], markersize=5, zorder=3)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    ax.set(xlabel=f"predicted S({when:g})", ylabel="Kaplan-Meier, 95 % interval")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _times_or_grid(model: SODEN, times: Any) -> FloatArray:
    if times is None:
        return np.linspace(0, model._fitted().horizon_, POINTS)
    return np.sort(checked_times(times))


def _range(model: SODEN, predict: Any, X: Any, at: FloatArray, seq: Any) -> FloatArray | None:
    """The least and the largest of the members' curves, (2, n, k)."""
    if len(model.models_) == 1:
        return None
    each = predict(X, at, seq, members=True)
    return np.stack([each.min(axis=0), each.max(axis=0)])


def _draw(curves: FloatArray, band: FloatArray | None, model: SODEN, at: FloatArray, ax: Axes | None) -> Axes:
    """Curves and bands; what lies beyond the horizon is on grey ground."""
    if len(curves) > len(COLOURS):
        raise ValueError(f"{len(curves)} curves cannot be told apart; pass at most {len(COLOURS)} rows of X")
    ax = _axes(ax)
    start = len(ax.get_lines())  # a second call on the same axes goes on with the next colours
    for i, curve in enumerate(curves):
        colour = COLOURS[(start + i) % len(COLOURS)]
        ax.plot(at, curve, color=colour, linewidth=1.8)
        if band is not None:
            ax.fill_between(at, band[0, i], band[1, i], color=colour, alpha=0.15, linewidth=0)
    if at[-1] > model.horizon_:
        ax.axvspan(model.horizon_, at[-1], color="0.93", zorder=0)
    ax.set(xlim=(0, at[-1]), xlabel="time t")
    return ax


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plots need matplotlib; install it, or soden[plot]") from None
    return plt.subplots(figsize=(5.5, 3.8), layout="constrained")[1]


def _finished(ax: Axes, X: Any, labels: Any) -> Axes:
    """Name the newest lines in a legend."""
    names = [str(label) for label in (getattr(X, "index", range(len(X))) if labels is None else labels)]
    if len(names) != len(X):
        raise ValueError(f"labels must name each row of X, {len(X)} of them; got {len(names)}")
    for line, name in zip(ax.get_lines()[-len(names) :], names, strict=True):
        line.set_label(name)
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def kaplan_meier(time: FloatArray, event: BoolArray, entry: FloatArray, at: float) -> tuple[float, float, float]:
    """S(at) and its 95 % interval (log-log transformed, Greenwood's variance); subjects are at risk from entry on."""
    log_S = variance = 0.0
    for t in np.unique(time[event & (time <= at)]):
        died, at_risk = int(((time == t) & event).sum()), int(((time >= t) & ((entry < t) | (t == 0))).sum())
        if died == at_risk:
            return 0.0, 0.0, 0.0
        log_S += float(np.log1p(-died / at_risk))
        variance += died / (at_risk * (at_risk - died))
    S = float(np.exp(log_S))
    if log_S == 0:
        return 1.0, 1.0, 1.0
    spread = np.exp(1.959963984540054 * np.sqrt(variance) / abs(log_S))
    return S, float(S**spread), float(S ** (1 / spread))
