"""C^td, Antolini's and Uno's C against plain loops, pycox, scikit-survival, lifelines and what must hold of any C."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lifelines.utils import concordance_index
from sksurv.metrics import concordance_index_ipcw
from sksurv.util import Surv
from support.metrics_cases import cases, cohort, lookup, needed_times, predicted

from benchmarks.metrics.antolini import antolini_ctd
from benchmarks.metrics.base import LEVELS, Outcome, Prediction, metrics
from benchmarks.metrics.uno import uno_c
from benchmarks.speed import literal

C = {name: metrics()[name] for name in ("ctd", "antolini", "uno")}
ALL = [("ctd", level) for level in LEVELS] + [("antolini", "")] + [("uno", level) for level in LEVELS]


@pytest.fixture(scope="module")
def pycox_concordance():
    with warnings.catch_warnings():  # pycox's dependencies use interfaces that newer versions warn about
        warnings.simplefilter("ignore")
        from pycox.evaluation.concordance import concordance_td
    return concordance_td


@pytest.mark.parametrize("convention", ["published", "text"])
@settings(deadline=None, max_examples=60)
@given(case=cases())
def test_ctd_equals_the_plain_loop_with_all_kinds_of_ties(convention, case):
    time, event, rate, shape = case
    prediction = predicted(time, event, rate, shape, convention)
    for level in LEVELS:
        slow = literal.ctd(time.tolist(), event.tolist(), lookup(prediction), level, convention)
        assert C["ctd"].compute(prediction, level) == pytest.approx(slow, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("method", ["adj_antolini", "antolini"])
@settings(deadline=None, max_examples=60)
@given(case=cases())
def test_antolini_equals_pycox_with_all_kinds_of_ties(pycox_concordance, method, case):
    time, event, rate, shape = case
    assume(event.any())
    times = np.unique(time)
    survival = np.exp(-((rate[:, None] * times) ** shape[:, None]))
    try:
        theirs = pycox_concordance(
            time, event.astype(int), survival.T.copy(), np.searchsorted(times, time), method=method
        )
    except ZeroDivisionError:  # no comparable pair
        theirs = np.nan
    ours = antolini_ctd(time, event, survival, times, method)
    assert ours == pytest.approx(theirs, abs=1e-12, nan_ok=True)


def test_antolini_takes_survival_at_the_event_times_by_default():
    time, event, rate, shape = cohort(50, seed=3)
    times = np.unique(time[event])
    survival = np.exp(-((rate[:, None] * times) ** shape[:, None]))
    metric = C["antolini"].compute(predicted(time, event, rate, shape), "")
    assert antolini_ctd(time, event, survival) == metric


def test_a_model_that_ignores_x_has_antolini_c_one_half_only_when_ties_are_adjusted():
    time, event, _, _ = cohort(40, seed=4)
    survival = np.tile(np.exp(-np.unique(time[event])), (40, 1))
    assert antolini_ctd(time, event, survival) == 0.5
    assert antolini_ctd(time, event, survival, method="antolini") == 0.0


@settings(deadline=None, max_examples=60)
@given(case=cases(), tau=st.sampled_from([3.0, 5.5, np.inf]))
def test_uno_equals_scikit_survival_with_all_kinds_of_ties(case, tau):
    time, event, rate, _ = case
    assume(event[time < tau].any())  # sksurv refuses data without events
    assume((fit_sksurv_g(time, event)[event & (time < tau)] > 0).all())  # and weights that are infinite
    y = Surv.from_arrays(event, time)
    ours = uno_c(time, event, rate, tau)
    assume(not np.isnan(ours))
    assert ours == pytest.approx(concordance_index_ipcw(y, y, rate, tau=tau)[0], abs=1e-9)


def fit_sksurv_g(time, event):
    from sksurv.nonparametric import CensoringDistributionEstimator

    return CensoringDistributionEstimator().fit(Surv.from_arrays(event, time)).predict_proba(time)


def test_without_censoring_every_c_of_a_one_dimensional_risk_is_harrells():
    time, _, rate, _ = cohort(80, seed=5)
    prediction = predicted(time, np.ones(80, dtype=bool), rate, np.ones(80))
    harrell = concordance_index(time, -rate)
    for name, level in ALL[:1] + ALL[3:5]:
        assert C[name].compute(prediction, level) == pytest.approx(harrell, abs=1e-12)


@pytest.mark.parametrize("level", list(LEVELS))
@pytest.mark.parametrize("convention", ["published", "text"])
def test_for_proportional_hazards_without_ties_uno_and_ctd_are_one_index(convention, level):
    time, event, rate, _ = cohort(200, seed=9, censoring_scale=1.0)
    prediction = predicted(time, event, rate, np.ones(200), convention)
    assert C["uno"].compute(prediction, level) == pytest.approx(C["ctd"].compute(prediction, level), abs=1e-12)


def test_ctd_by_hand():
    # G = 1 until the censoring at 2, then 3/4 * ... : events at 1 (weight 1) and 3 (weight 1 / (2/3)^2 = 9/4).
    time, event = np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, False, True, True])
    times = needed_times(Outcome(time, event))
    survival = np.ones((4, len(times))) * np.array([0.5, 0.6, 0.9, 0.4])[:, None]
    prediction = Prediction(Outcome(time, event), times, survival)
    # Event at 1 against three, two of them concordant; event at 3 against one, discordant.
    assert C["ctd"].compute(prediction, "1e-8") == pytest.approx(2 / (3 + 9 / 4))


@pytest.mark.parametrize(("name", "level"), ALL)
def test_perfect_beats_random_beats_reversed(name, level):
    time, event, _, _ = cohort(120, seed=6)
    ones = np.ones(120)
    random_rate = np.exp(np.random.default_rng(7).normal(size=120))
    perfect, random, reversed_ = (
        C[name].compute(predicted(time, event, rate, ones), level)
        for rate in (1 / time, random_rate, 1 / time[::-1].copy())
    )
    worst = C[name].compute(predicted(time, event, time, ones), level)
    assert perfect == 1
    assert worst == 0
    assert 0.3 < random < 0.7
    assert worst < reversed_ < perfect


@settings(deadline=None, max_examples=25)
@given(case=cases(), seed=st.integers(0, 2**16))
def test_the_order_of_rows_does_not_matter(case, seed):
    time, event, rate, shape = case
    order = np.random.default_rng(seed).permutation(len(time))
    for convention in ("published", "text"):
        before = predicted(time, event, rate, shape, convention)
        after = predicted(time[order], event[order], rate[order], shape[order], convention)
        for name, level in ALL:
            value = C[name].compute(before, level)
            assert C[name].compute(after, level) == pytest.approx(value, abs=1e-12, nan_ok=True)


@settings(deadline=None, max_examples=25)
@given(case=cases())
def test_a_monotone_change_of_the_clock_does_not_matter(case):
    time, event, rate, shape = case
    clock = np.expm1  # any increasing function; the curves come along

    def at(stretch):
        outcome = Outcome(stretch(time), event)
        times = np.unique(time)
        return Prediction(outcome, stretch(times), np.exp(-((rate[:, None] * times) ** shape[:, None])))

    for name, level in ALL:
        value = C[name].compute(at(lambda t: t), level)
        assert C[name].compute(at(clock), level) == pytest.approx(value, abs=1e-12, nan_ok=True)


def test_truncation_leaves_out_late_events():
    # Good early, bad late: at levels that cut the late events off, C is higher.
    time, event, _, _ = cohort(300, seed=8, censoring_scale=1.0)
    outcome = Outcome(time, event)
    times = needed_times(outcome)
    order = np.where(times[None, :] < outcome.tau("0.4"), 1, -1) * time[:, None]
    prediction = Prediction(outcome, times, 1 / (1 + np.exp(-order)))
    values = [C["ctd"].compute(prediction, level) for level in LEVELS]
    assert values[0] < values[1] < values[2]


@pytest.mark.parametrize(("name", "level"), ALL)
@pytest.mark.parametrize(
    "event", [[False, False, False], [False, False, True]], ids=["all censored", "one event, the last time"]
)
def test_no_comparable_pair_is_nan(name, level, event):
    prediction = predicted([1.0, 2.0, 3.0], event, [1.0, 1.0, 1.0], [1.0, 1.0, 1.0])
    assert np.isnan(C[name].compute(prediction, level))


def test_one_event_with_later_subjects_has_a_value():
    prediction = predicted([1.0, 2.0, 3.0], [True, False, False], [0.5, 0.1, 0.9], [1.0, 1.0, 1.0])
    assert C["ctd"].compute(prediction, "1e-8") == 0.5
