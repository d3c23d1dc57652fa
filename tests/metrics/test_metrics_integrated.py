"""IBS and IBLL against plain loops, scikit-survival, pycox and closed forms."""

import math
import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sksurv.metrics import brier_score as sksurv_brier
from sksurv.util import Surv
from support.metrics_cases import cases, cohort, lookup, needed_times, predicted

from benchmarks.metrics.base import LEVELS, Outcome, Prediction, metrics
from benchmarks.metrics.integrated import GRID_POINTS, grid, score_over_time
from benchmarks.metrics.kernels import bll_block, brier_block
from benchmarks.speed import literal

IBS, IBLL = metrics()["ibs"], metrics()["ibll"]
BOTH = [IBS, IBLL]
brier_score = partial(score_over_time, kernel=brier_block)
binomial_log_likelihood = partial(score_over_time, kernel=bll_block)


@pytest.mark.parametrize("convention", ["published", "text"])
@settings(deadline=None, max_examples=20)
@given(case=cases(max_n=12))
def test_both_equal_the_plain_loop_with_all_kinds_of_ties(convention, case):
    time, event, rate, shape = case
    prediction = predicted(time, event, rate, shape, convention)
    for metric, loop in ((IBS, literal.ibs), (IBLL, literal.ibll)):
        for level in LEVELS:
            slow = loop(time.tolist(), event.tolist(), lookup(prediction), level, convention)
            assert metric.compute(prediction, level) == pytest.approx(slow, rel=1e-10, abs=1e-12, nan_ok=True)


def on_times(n, seed, convention="text"):
    time, event, rate, shape = cohort(n, seed)
    times = np.linspace(time.min(), np.quantile(time, 0.98), 60)
    survival = np.exp(-((rate[:, None] * times) ** shape[:, None]))
    return Prediction(Outcome(time, event, convention), times, survival)


def test_brier_score_equals_scikit_survival():
    p = on_times(200, seed=1)
    y = Surv.from_arrays(p.outcome.event, p.outcome.time)
    np.testing.assert_allclose(brier_score(p, p.times), sksurv_brier(y, y, p.survival, p.times)[1], atol=1e-9)


def test_both_scores_equal_pycox_where_it_divides_by_n():
    with warnings.catch_warnings():  # pycox's dependencies use interfaces that newer versions warn about
        warnings.simplefilter("ignore")
        from pycox.evaluation import ipcw
        from pycox.utils import kaplan_meier as pycox_km
    p = on_times(200, seed=2)
    time, event, n = p.outcome.time, p.outcome.event.astype(int), len(p.outcome.time)
    G = pycox_km(time, 1 - event)
    for ours, theirs in ((brier_score, ipcw.brier_score), (binomial_log_likelihood, ipcw.binomial_log_likelihood)):
        scores, _ = theirs(
            p.times,
            time,
            event,
            p.survival.T.copy(),
            np.repeat(G.to_numpy()[:, None], n, axis=1),
            p.times,
            G.index.to_numpy(),
            reduce=False,
        )
        # 1e-7: pycox clips S to [1e-7, 1 - 1e-7] inside the log, we add 1e-10
        np.testing.assert_allclose(ours(p, p.times), scores.sum(axis=1) / n, atol=1e-7)


@pytest.mark.parametrize("level", list(LEVELS))
@pytest.mark.parametrize("convention", ["published", "text"])
def test_a_coin_toss_without_censoring_scores_a_quarter_and_log_one_half(convention, level):
    outcome = Outcome(np.arange(1.0, 31.0), np.ones(30, dtype=bool), convention)
    times = needed_times(outcome)
    prediction = Prediction(outcome, times, np.full((30, len(times)), 0.5))
    assert IBS.compute(prediction, level) == pytest.approx(0.25, abs=1e-12)
    assert IBLL.compute(prediction, level) == pytest.approx(math.log(0.5), abs=1e-9)


def test_the_truth_scores_zero_and_its_opposite_one():
    time = np.arange(1.0, 21.0)
    outcome = Outcome(time, np.ones(20, dtype=bool))
    times = needed_times(outcome)
    alive = (time[:, None] > times).astype(float)
    assert IBS.compute(Prediction(outcome, times, alive), "1e-8") == 0
    assert IBS.compute(Prediction(outcome, times, 1 - alive), "1e-8") == pytest.approx(1, abs=1e-12)
    assert IBLL.compute(Prediction(outcome, times, alive), "1e-8") == pytest.approx(0, abs=1e-9)
    assert IBLL.compute(Prediction(outcome, times, 1 - alive), "1e-8") == pytest.approx(math.log(1e-10), rel=1e-9)


def test_brier_score_by_hand_with_a_censoring():
    # G = 1 before 2, then 2/3 (text). At t = 2.5: event at 1 (weight 1), censored at 2 (nothing), alive at 3 (1.5).
    outcome = Outcome(np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, False, True, True]), "text")
    prediction = Prediction(outcome, np.array([2.5]), np.array([[0.2], [0.9], [0.6], [0.7]]))
    expected = (0.2**2 + 0.4**2 * 1.5 + 0.3**2 * 1.5) / 4
    assert brier_score(prediction, np.array([2.5]))[0] == pytest.approx(expected)


def test_weights_undo_the_censoring():
    # The true curves score the same in expectation with and without censoring; 0.01 is about three standard errors.
    time, event, rate, shape = cohort(4000, seed=3, censoring_scale=4.0)
    rng = np.random.default_rng(4)
    whole = rng.exponential(size=4000) ** (1 / shape) / rate
    times = np.linspace(0.05, 1.5, 30)
    survival = np.exp(-((rate[:, None] * times) ** shape[:, None]))
    weighted = brier_score(Prediction(Outcome(time, event, "text"), times, survival), times).mean()
    plain = brier_score(Prediction(Outcome(whole, np.ones(4000, dtype=bool), "text"), times, survival), times).mean()
    assert weighted == pytest.approx(plain, abs=0.01)


@pytest.mark.parametrize("metric", BOTH)
@settings(deadline=None, max_examples=15)
@given(case=cases(), seed=st.integers(0, 2**16))
def test_the_order_of_rows_and_the_unit_of_time_do_not_matter(metric, case, seed):
    time, event, rate, shape = case
    order = np.random.default_rng(seed).permutation(len(time))
    before = predicted(time, event, rate, shape)
    shuffled = predicted(time[order], event[order], rate[order], shape[order])
    days = predicted(time * 256, event, rate / 256, shape)  # a power of two: the same digits
    for level in LEVELS:
        value = metric.compute(before, level)
        assert metric.compute(shuffled, level) == pytest.approx(value, rel=1e-9, nan_ok=True)
        assert metric.compute(days, level) == pytest.approx(value, rel=1e-9, nan_ok=True)


@pytest.mark.parametrize("metric", BOTH)
def test_the_model_behind_the_data_beats_a_random_one_and_that_a_reversed_one(metric):
    time, event, rate, shape = cohort(500, seed=5)
    sign = 1 if metric.higher_is_better else -1
    random = np.random.default_rng(6).permutation(500)
    ranks = np.argsort(np.argsort(rate))
    reversed_ = np.sort(rate)[::-1][ranks]
    predictions = [predicted(time, event, r, shape) for r in (rate, rate[random], reversed_)]
    for level in LEVELS:
        good, chance, bad = (sign * metric.compute(p, level) for p in predictions)
        assert good > chance > bad


@pytest.mark.parametrize(("convention", "start"), [("published", 0.25), ("text", 0.0)])
def test_the_grid_has_the_convention_s_size_and_ends(convention, start):
    outcome = Outcome(np.array([0.25, 1.0, 2.0, 3.0]), np.array([True, True, False, True]), convention)
    times = grid(outcome, "0.4")
    assert (len(times), times[0], times[-1]) == (GRID_POINTS[convention], start, 3.0)


def test_subjects_and_times_without_weight_are_left_out():
    # The last subject is censored, so G(3) = 0: published drops it, and ends the grid at 2.
    outcome = Outcome(np.array([1.0, 2.0, 3.0]), np.array([True, True, False]))
    times = needed_times(outcome)
    prediction = Prediction(outcome, times, np.broadcast_to([[0.5], [0.5], [0.0]], (3, len(times))))
    assert grid(outcome, "1e-8")[-1] == 2.0
    assert IBS.compute(prediction, "1e-8") == pytest.approx(0.25)


@pytest.mark.parametrize("metric", BOTH)
def test_all_censored_at_once_is_nan(metric):
    prediction = predicted([2.0, 2.0], [False, False], [1.0, 1.0], [1.0, 1.0])
    assert np.isnan(metric.compute(prediction, "0.4"))
