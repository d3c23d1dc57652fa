"""Small outcomes with predictions, random and adversarial, for the tests of the metrics."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from benchmarks.metrics.base import Outcome, Prediction, discover


def needed_times(outcome: Outcome) -> np.ndarray:
    return np.unique(np.concatenate([m.times(outcome) for m in discover().values()]))


def predicted(time, event, rate, shape, convention="published", times=None) -> Prediction:
    """Weibull curves S_i(t) = exp(-(rate_i t)^shape_i): they cross, and equal parameters tie at every time."""
    outcome = Outcome(np.asarray(time, dtype=float), np.asarray(event), convention)
    times = needed_times(outcome) if times is None else times
    curve = np.exp(-((np.asarray(rate)[:, None] * times) ** np.asarray(shape)[:, None]))
    return Prediction(outcome, times, curve)


def lookup(prediction: Prediction):
    """S(i, t) for the plain loops, from the very same numbers: exp of a scalar may round otherwise than a vector's."""
    column = {t: k for k, t in enumerate(prediction.times.tolist())}
    return lambda i, t: float(prediction.survival[i, column[t]])


@st.composite
def cases(draw, max_n: int = 25):
    """(time, event, rate, shape), tied in time (a few integers), events with censorings, and in predictions."""
    n = draw(st.integers(2, max_n))
    time = draw(st.lists(st.integers(1, 8), min_size=n, max_size=n))
    event = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    rate = draw(st.lists(st.sampled_from([0.05, 0.1, 0.2, 0.5]), min_size=n, max_size=n))
    shape = draw(st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=n, max_size=n))
    return np.array(time, dtype=float), np.array(event), np.array(rate), np.array(shape)


def cohort(n: int, seed: int, censoring_scale: float = 2.0):
    """Continuous times without ties: (time, event, rate, shape) with the curves the event times come from."""
    rng = np.random.default_rng(seed)
    rate, shape = np.exp(0.7 * rng.normal(size=n)), rng.choice([0.7, 1.0, 1.6], size=n)
    event_time = rng.exponential(size=n) ** (1 / shape) / rate
    censoring_time = rng.exponential(censoring_scale, size=n)
    return np.minimum(event_time, censoring_time), event_time <= censoring_time, rate, shape
