"""D-calibration and the calibration curve against scipy, lifelines and closed forms."""

import numpy as np
import pytest
from lifelines import KaplanMeierFitter
from scipy.stats import chisquare, kstest
from support.metrics_cases import cohort, predicted

from benchmarks.metrics.base import Outcome, discover, metrics
from benchmarks.metrics.calibration import QUANTILES, calibration_curve
from benchmarks.metrics.dcal import d_calibration


def test_without_censoring_it_is_the_chi_squared_test_of_a_histogram():
    own = np.random.default_rng(0).beta(2, 3, size=500)
    theirs = chisquare(np.histogram(own, bins=10, range=(0, 1))[0])
    ours = d_calibration(own, np.ones(500, dtype=bool))
    assert ours.statistic == pytest.approx(theirs.statistic)
    assert ours.p_value == pytest.approx(theirs.pvalue)


def test_a_censored_subject_is_spread_over_what_is_left_by_hand():
    # S = 0.25 with ten bins: two full bins and half of the third, 0.4 + 0.4 + 0.2 of one subject.
    counts = d_calibration(np.array([0.25]), np.array([False])).counts
    np.testing.assert_allclose(counts, [0.4, 0.4, 0.2, 0, 0, 0, 0, 0, 0, 0], atol=1e-12)


def test_the_edges_belong_somewhere():
    counts = d_calibration(np.array([0.0, 1.0, 0.1, 0.0, 1.0]), np.array([True, True, True, False, False])).counts
    np.testing.assert_allclose(counts, [2.1, 1.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 1.1], atol=1e-12)


def test_p_values_of_the_true_model_are_uniform_without_censoring():
    rng = np.random.default_rng(1)
    p = [d_calibration(rng.uniform(size=400), np.ones(400, dtype=bool)).p_value for _ in range(300)]
    assert kstest(p, "uniform").pvalue > 0.01


def test_the_true_model_passes_and_a_shifted_one_fails_with_censoring():
    time, event, rate, shape = cohort(2000, seed=2)
    p_value, statistic = metrics()["dcal_p"], metrics()["dcal"]
    true, shifted = (predicted(time, event, scale * rate, shape, times=np.sort(time)) for scale in (1, 2))
    assert p_value.compute(true, "") > 0.05
    assert p_value.compute(shifted, "") < 1e-6
    assert statistic.compute(shifted, "") > statistic.compute(true, "")


def test_each_row_is_the_kaplan_meier_of_its_group():
    time, event, rate, shape = cohort(600, seed=3)
    horizon = float(np.median(time))
    survival = np.exp(-((rate * horizon) ** shape))
    rows = calibration_curve(time, event, survival, horizon)
    assert [r.group for r in rows] == list(range(1, 11))
    assert sum(r.n for r in rows) == 600
    edges = [-np.inf, *np.quantile(survival, np.arange(1, 10) / 10), np.inf]
    for r, low, high in zip(rows, edges[:-1], edges[1:], strict=True):
        member = (survival > low) & (survival <= high)
        lifelines = KaplanMeierFitter().fit(time[member], event[member]).predict(horizon)
        assert r.observed == pytest.approx(lifelines, abs=1e-9)
        assert r.predicted == pytest.approx(survival[member].mean())


def test_the_true_model_s_curve_is_near_the_diagonal():
    time, event, rate, shape = cohort(5000, seed=4)
    curve = discover()["calibration"]
    rows = curve.rows(predicted(time, event, rate, shape, times=curve.times(Outcome(time, event))))
    assert len({r.horizon for r in rows}) == len(QUANTILES)
    z = [(r.observed - r.predicted) / r.standard_error for r in rows]
    assert np.max(np.abs(z)) < 4  # thirty standard normal deviates


def test_equal_predictions_share_a_group_whatever_the_order_of_rows():
    time, event, _, _ = cohort(100, seed=5)
    rows = calibration_curve(time, event, np.full(100, 0.5), 1.0)
    assert [(r.group, r.n, r.predicted) for r in rows] == [(1, 100, 0.5)]


def test_a_group_whose_follow_up_ends_before_the_horizon_has_no_observed_value():
    rows = calibration_curve(np.array([1.0, 2.0]), np.array([True, False]), np.array([0.5, 0.5]), 3.0)
    assert np.isnan(rows[0].observed)
    ended = calibration_curve(np.array([1.0, 2.0]), np.array([True, True]), np.array([0.5, 0.5]), 3.0)
    assert ended[0].observed == 0.0


def test_nobody_has_left_before_the_first_time():
    rows = calibration_curve(np.array([1.0, 2.0]), np.array([True, True]), np.array([0.9, 0.9]), 0.5)
    assert (rows[0].observed, rows[0].standard_error) == (1.0, 0.0)


def test_without_events_there_is_no_curve():
    prediction = predicted([1.0, 2.0, 3.0], [False] * 3, [1.0] * 3, [1.0] * 3)
    assert discover()["calibration"].rows(prediction) == []
