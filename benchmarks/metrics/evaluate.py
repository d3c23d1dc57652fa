"""Score one model on one test part: ask it once for all the times that the metrics need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from benchmarks.metrics.base import LEVELS, Convention, Curve, Metric, Outcome, Prediction, Score, discover
from soden.types import BoolArray, FloatArray


@dataclass(frozen=True)
class Evaluation:
    """All scores, and the rows of each curve by its name."""

    scores: list[Score]
    curves: dict[str, Sequence[NamedTuple]] = field(default_factory=dict)


def evaluate_all(
    time: FloatArray,
    event: BoolArray,
    predict: Callable[[FloatArray], FloatArray],
    nll: FloatArray | None = None,
    convention: Convention = "published",
) -> Evaluation:
    """Every discovered metric and curve; predict(times) -> (n, len(times)) is called once, with sorted distinct times.

    Keep predictions in float64 where they come from: early survival is so near 1 that float32 ties subjects.
    """
    outcome = Outcome(time, event, convention)
    measures = list(discover().values())
    times = np.unique(np.concatenate([m.times(outcome) for m in measures]))
    terms = None if nll is None else np.asarray(nll, dtype=np.float64)
    prediction = Prediction(outcome, times, np.asarray(predict(times)), terms)
    scores = [
        Score(m.name, level, m.compute(prediction, level))
        for m in measures
        if isinstance(m, Metric) and m.applies(prediction)
        for level in (LEVELS if m.truncated else ("",))
    ]
    return Evaluation(scores, {m.name: m.rows(prediction) for m in measures if isinstance(m, Curve)})


def evaluate(
    time: FloatArray,
    event: BoolArray,
    predict: Callable[[FloatArray], FloatArray],
    nll: FloatArray | None = None,
    convention: Convention = "published",
) -> list[Score]:
    """The scores alone."""
    return evaluate_all(time, event, predict, nll, convention).scores
