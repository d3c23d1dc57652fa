"""Score one model on one test part: ask it once for all the times that the metrics need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from benchmarks.metrics.base import (
    LEVELS,
    Convention,
    Curve,
    Measure,
    Metric,
    MetricValue,
    Outcome,
    Prediction,
    discover,
)
from benchmarks.metrics.blocked import LARGEST, BlockedPrediction, few_times
from benchmarks.metrics.integrated import IntegratedMetric, OverTime, grid
from soden.types import BoolArray, FloatArray


@dataclass(frozen=True)
class Evaluation:
    """All scores, and the rows of each curve by its name."""

    scores: list[MetricValue]
    curves: dict[str, Sequence[NamedTuple]] = field(default_factory=dict)


def evaluate_all(
    time: FloatArray,
    event: BoolArray,
    predict: Callable[[FloatArray], FloatArray],
    nll: FloatArray | None = None,
    convention: Convention = "published",
    rows_of: Callable[[FloatArray, slice], FloatArray] | None = None,
) -> Evaluation:
    """Every discovered metric and curve; predict(times) -> (n, len(times)) is called once, with sorted distinct times.

    rows_of(times, rows) gives some rows of the same; large test parts are scored from these, in little memory.
    Keep predictions in float64 where they come from: early survival is so near 1 that float32 ties subjects.
    """
    outcome = Outcome(time, event, convention)
    measures = list(discover().values())
    asked = [m.times(outcome) for m in measures]
    times = np.unique(np.concatenate(asked))
    terms = None if nll is None else np.asarray(nll, dtype=np.float64)
    if rows_of is None or len(outcome.time) * len(times) <= LARGEST:
        prediction = Prediction(outcome, times, np.asarray(predict(times)), terms)
    else:
        prediction = _blocked(outcome, measures, times, few_times(asked), partial(rows_of, times), terms)
    scores = [
        MetricValue(m.name, level, m.compute(prediction, level))
        for m in measures
        if isinstance(m, Metric) and m.applies(prediction)
        for level in (LEVELS if m.truncated else ("",))
    ]
    return Evaluation(scores, {m.name: m.rows(prediction) for m in measures if isinstance(m, Curve)})


def _blocked(
    outcome: Outcome,
    measures: Sequence[Measure],
    times: FloatArray,
    few: FloatArray,
    predict: Callable[[slice], FloatArray],
    nll: FloatArray | None,
) -> BlockedPrediction:
    sums = {
        (m.name, level): OverTime(outcome, at, np.searchsorted(times, at), m.kernel)
        for m in measures
        if isinstance(m, IntegratedMetric)
        for level in LEVELS
        if len(at := grid(outcome, level))
    }
    return BlockedPrediction(outcome, times, np.empty((0, 0)), nll, predict=predict, few=few, empty=sums)


def evaluate(
    time: FloatArray,
    event: BoolArray,
    predict: Callable[[FloatArray], FloatArray],
    nll: FloatArray | None = None,
    convention: Convention = "published",
    rows_of: Callable[[FloatArray, slice], FloatArray] | None = None,
) -> list[MetricValue]:
    """The scores alone."""
    return evaluate_all(time, event, predict, nll, convention, rows_of).scores
