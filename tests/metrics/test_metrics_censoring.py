"""G against lifelines, scikit-survival, the plain loop and closed forms."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from lifelines import KaplanMeierFitter
from sksurv.nonparametric import CensoringDistributionEstimator
from sksurv.util import Surv
from support.metrics_cases import cases, cohort

from benchmarks.metrics.base import Outcome
from benchmarks.metrics.censoring import fit_censoring, kaplan_meier
from benchmarks.speed.literal import censoring_survival


# lifelines says so whenever it is asked to interpolate
@pytest.mark.filterwarnings("ignore:Approximating using linear interpolation")
@settings(deadline=None, max_examples=25)
@given(cases())
def test_both_readings_equal_lifelines_with_ties(case):
    time, event, _, _ = case
    at = np.concatenate([time, np.linspace(0, 10, 57)])
    model = KaplanMeierFitter().fit(time, event_observed=1 - event.astype(int))
    linear = model.predict(at, interpolate=True).to_numpy()
    steps = model.predict(at).to_numpy()
    np.testing.assert_allclose(fit_censoring(time, event, interpolate=True)(at), linear, atol=1e-9)
    np.testing.assert_allclose(fit_censoring(time, event, interpolate=False)(at), steps, atol=1e-9)


@settings(deadline=None, max_examples=40)
@given(cases())
def test_events_first_equals_scikit_survival_with_ties(case):
    time, event, _, _ = case
    assume(event.any())  # sksurv refuses data without events
    theirs = CensoringDistributionEstimator().fit(Surv.from_arrays(event, time))
    ours = fit_censoring(time, event, interpolate=False, ties="events_first")
    np.testing.assert_allclose(ours(time), theirs.predict_proba(time), atol=1e-9)


@pytest.mark.parametrize("interpolate", [False, True])
def test_the_plain_loop_agrees(interpolate):
    time, event, _, _ = cohort(60, seed=1)
    at = np.linspace(0, time.max() * 1.1, 101)
    loop = censoring_survival(time.tolist(), event.tolist(), interpolate)
    np.testing.assert_allclose(
        fit_censoring(time, event, interpolate=interpolate)(at), [loop(t) for t in at], atol=1e-12
    )


def test_event_tied_with_a_censoring_by_hand():
    # At t = 2: three at risk, one censored, one event. Plain: 1 - 1/3. Events first: 1 - 1/2.
    time, event = np.array([1.0, 2.0, 2.0, 3.0]), np.array([True, True, False, True])
    assert fit_censoring(time, event, interpolate=False)(np.array([2.0]))[0] == pytest.approx(2 / 3)
    first = fit_censoring(time, event, interpolate=False, ties="events_first")
    assert first(np.array([2.0]))[0] == pytest.approx(1 / 2)


def test_between_observed_times_the_two_readings_differ_by_hand():
    time, event = np.array([1.0, 3.0, 4.0]), np.array([False, True, True])  # G: 1 up to t = 1, then 2/3
    at = np.array([0.0, 0.5, 1.0, 2.0, 9.0])
    np.testing.assert_allclose(fit_censoring(time, event, interpolate=False)(at), [1, 1, 2 / 3, 2 / 3, 2 / 3])
    np.testing.assert_allclose(fit_censoring(time, event, interpolate=True)(at), [1, 5 / 6, 2 / 3, 2 / 3, 2 / 3])


def test_a_true_two_fifths_is_not_below_the_level_by_rounding():
    # Five subjects, three censored: G = 4/5 * 3/4 * 2/3, a hair off 0.4 in floating point.
    time, event = np.arange(1.0, 6.0), np.array([False, False, False, True, True])
    assert fit_censoring(time, event, interpolate=True)(np.array([4.0]))[0] == 0.4


def test_greenwood_without_censoring_is_the_binomial_standard_error():
    time = np.arange(1.0, 11.0)
    _, survival, error = kaplan_meier(time, np.ones(10, dtype=bool))
    np.testing.assert_allclose(survival, 1 - np.arange(1, 11) / 10)
    np.testing.assert_allclose(error, np.sqrt(survival * (1 - survival) / 10), atol=1e-12)


@pytest.mark.parametrize(
    ("convention", "level", "tau"),
    [  # G: 1, .8 at t = 2, .6 at 3, .4 at 4, .2 at 5, all censored but the first and the sixth
        ("published", "1e-8", 6.0),
        ("published", "0.2", 4.0),
        ("published", "0.4", 3.0),
        ("text", "1e-8", 6.0),
        ("text", "0.2", 5.0),
        ("text", "0.4", 4.0),
    ],
)
def test_tau_is_the_last_time_above_the_level_or_the_first_at_it(convention, level, tau):
    time, event = np.arange(1.0, 7.0), np.array([True, False, False, False, False, True])
    assert Outcome(time, event, convention).tau(level) == tau


def test_there_is_no_tau_if_all_leave_at_once():
    outcome = Outcome(np.ones(3), np.zeros(3, dtype=bool))
    assert np.isnan(outcome.tau("0.4"))
