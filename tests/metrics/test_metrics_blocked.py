"""Large test parts are scored row block by row block: every score has the same bits, every model the same rows."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from support.short_trials import simulate, trial

from benchmarks import registry
from benchmarks.elementary import portable_functions
from benchmarks.metrics import blocked, evaluate
from benchmarks.metrics.base import CONVENTIONS, Convention
from soden.types import FloatArray

N = 400
RNG = np.random.default_rng(3)
TIME = np.round(RNG.exponential(size=N), 2) + 0.01  # with ties
EVENT = RNG.random(N) < 0.6
RATE = np.exp(RNG.normal(size=N))


def survival(times: FloatArray, rows: slice = slice(None)) -> FloatArray:
    """Curves with ties, and a hair outside of [0, 1]."""
    S = np.round(np.exp(-RATE[rows, None] * times**1.3), 4)
    return S + np.where(S == 1, 1e-8, 0)


def scored(convention: Convention, cells: int, monkeypatch: pytest.MonkeyPatch) -> Any:
    for module in (blocked, evaluate):
        monkeypatch.setattr(module, "LARGEST", cells)
    monkeypatch.setattr(blocked, "BLOCK", 7 * 1200)
    monkeypatch.setattr("benchmarks.metrics.base.BLOCK", 7 * 1200)  # several kernel blocks, too
    return evaluate.evaluate_all(TIME, EVENT, survival, RATE * TIME, convention, survival)


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("cells", [1, 20_000, 100_000])
def test_scores_have_the_same_bits(convention: Convention, cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = scored(convention, 10**9, monkeypatch)
    parts = scored(convention, cells, monkeypatch)
    assert [score[:2] for score in parts.scores] == [score[:2] for score in whole.scores]
    assert [score[2].hex() for score in parts.scores] == [score[2].hex() for score in whole.scores]
    assert parts.curves == whole.curves


def test_rows_outside_0_1_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "LARGEST", 1)
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\]; got values from 0 to 2"):
        evaluate.evaluate(
            TIME, EVENT, survival, rows_of=lambda times, rows: np.linspace(0, 2, len(times))[None].repeat(N, 0)[rows]
        )


def test_memory_does_not_grow_with_the_square(monkeypatch: pytest.MonkeyPatch) -> None:
    """3,000 subjects at their own times are 9 million cells, 72 MB; 100,000 cells at a time are scored in 20 MB."""
    n, rng = 3_000, np.random.default_rng(1)
    time, event, rate = rng.exponential(size=n), rng.random(n) < 0.5, np.exp(rng.normal(size=n))
    for module in (blocked, evaluate):
        monkeypatch.setattr(module, "LARGEST", 100_000)
    monkeypatch.setattr(blocked, "BLOCK", 100_000)
    monkeypatch.setattr("benchmarks.metrics.base.BLOCK", 100_000)

    def some(times: FloatArray, rows: slice) -> FloatArray:
        return np.exp(-rate[rows, None] * times)

    tracemalloc.start()
    evaluate.evaluate(time, event, lambda times: some(times, slice(None)), rows_of=some)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6


@pytest.mark.parametrize("name", registry.names())
def test_a_model_predicts_rows_as_it_predicts_all(name: str) -> None:
    _, model = trial(name)
    data, times = simulate(230, 9), np.linspace(0, 4, 301)
    with portable_functions():
        whole = model.predict_survival(data, times)
        parts = [model.predict_survival(data.take(slice(k, k + 64)), times) for k in range(0, 230, 64)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
