"""The clock of the training rows' own cumulative hazard, and what it does to calibration."""

import numpy as np
import pytest
from conftest import ROOT
from scipy.interpolate import PchipInterpolator
from test_estimator import EVENT, SMALL, TIME, X

from soden import SODEN, SODENPH, SODENCox
from soden.clock import ENTERED, Clock, nelson_aalen, start_of
from soden.outcomes import Outcomes

pytestmark = pytest.mark.filterwarnings("ignore:times beyond horizon_:UserWarning")

SHAPE, SCALE = 2.0, 3.33
ASKED = np.array([0.5, 1.0, 2.0, 3.0, 4.0, 5.0])


def weibull(n, seed, late):
    """Weibull times, entered uniformly on (0, 3) if `late`, censored uniformly on (3, 8); three noise features."""
    rng = np.random.default_rng(seed)
    died, entry = SCALE * rng.weibull(SHAPE, 4 * n), rng.uniform(0, 3, 4 * n) * late
    seen = np.flatnonzero(died > entry)[:n]
    died, entry, ends = died[seen], entry[seen], rng.uniform(3, 8, n)
    return rng.normal(size=(n, 3)), np.minimum(died, ends), died <= ends, entry


def test_the_cumulative_hazard_is_lifelines():
    """With late entry, weights and ties."""
    from lifelines import NelsonAalenFitter

    rng = np.random.default_rng(0)
    time, entry = np.ceil(TIME / 30), np.where(rng.random(200) < 0.5, 0.0, np.ceil(TIME / 60) - 1)
    weight = rng.integers(1, 4, 200).astype(float)
    times, hazard, at_risk = nelson_aalen(Outcomes(time, EVENT, entry, weight))
    peer = NelsonAalenFitter(nelson_aalen_smoothing=False).fit(time, EVENT, entry=entry, weights=weight)
    np.testing.assert_allclose(hazard, peer.cumulative_hazard_at_times(times), rtol=1e-9)
    assert at_risk.tolist() == [((time >= t) & (entry < t)).sum() for t in times]


def test_it_is_scipys_pchip_between_knots_and_straight_beyond():
    clock = Clock.learn(Outcomes(TIME, EVENT))
    inside = np.linspace(clock.knots[1], clock.knots[-2], 1000)
    peer = PchipInterpolator(clock.knots, clock.values)
    # SciPy's slopes at the two ends are others: ours are those of the lines to the next knots.
    np.testing.assert_allclose(clock.at(inside), peer(inside), rtol=1e-12)
    np.testing.assert_allclose(clock.rate(inside), peer.derivative()(inside), rtol=1e-9)
    t = np.linspace(0, 2 * TIME.max(), 20_001)
    u = clock.at(t)
    assert (np.diff(u) > 0).all()
    np.testing.assert_allclose(np.gradient(u, t)[20:-1], clock.rate(t)[20:-1], rtol=0.05)
    assert clock.at(np.array([0.0, -1.0])).tolist() == [0, 0]
    assert np.ptp(clock.rate(t[t > clock.knots[-1]])) == 0


def test_few_distinct_times_are_all_knots():
    """Months, as unemployment is recorded: the clock passes through the estimate at each."""
    time = np.ceil(TIME / 100)
    clock = Clock.learn(Outcomes(np.tile(time, 5), np.tile(EVENT, 5)))
    times, hazard, at_risk = nelson_aalen(Outcomes(time, EVENT))
    known = 5 * at_risk >= 5
    np.testing.assert_allclose(clock.at(times[known]), hazard[known], rtol=1e-12)


@pytest.mark.parametrize("time", [[3.0, 3.0, 5.0], [0.0, 2.0, 2.0], [1.0, 2.0, 3.0]])
def test_a_handful_of_events_is_enough(time):
    seen = Outcomes(np.array(time), np.array([True, True, False]))
    clock = Clock.learn(seen)
    t = np.array([0.5, 1.0, 2.0, 3.0, 10.0])
    assert (np.diff(clock.at(t)) > 0).all()
    assert np.isfinite(clock.rate(t)).all()


def test_it_starts_where_enough_are_under_observation():
    entry = np.arange(1.0, 101.0)
    seen = Outcomes(entry + 200, np.ones(100, bool), entry)
    assert start_of(seen) == ENTERED
    assert start_of(seen._replace(entry=np.zeros(100))) == start_of(seen._replace(entry=None)) == 0
    few = Outcomes(np.array([5.0, 6.0, 7.0]), np.ones(3, bool), np.array([1.0, 2.0, 3.0]))
    assert start_of(few) == 3


def test_predictions_are_conditional_on_the_start():
    features, time, event, entry = weibull(400, 0, late=True)
    model = SODEN(**SMALL).fit(features, time + 50, event, entry=entry + 50)
    assert model.start_ == start_of(Outcomes(time + 50, event, entry + 50)) > 50
    S = model.predict_survival(features[:5], [10.0, model.start_, 52.0])
    assert (S[:, :2] == 1).all()
    assert (S[:, 2] < 1).all()
    assert (model.predict_hazard(features[:5], [10.0]) == 0).all()
    assert np.isfinite(model.log_likelihood(features, time + 50, event, entry=entry + 50))


@pytest.mark.parametrize("cls", [SODEN, SODENPH, SODENCox])
def test_early_risks_are_calibrated_under_late_entry(cls):
    """Within .03 of the truth at all times, where time divided by its mean is wrong by .1."""
    features, time, event, entry = weibull(6000, 1, late=True)
    model = cls(n_models=1).fit(features, time, event, entry=entry)
    truth = np.exp(-((ASKED / SCALE) ** SHAPE))
    assert np.abs(model.predict_survival(features[:500], ASKED).mean(axis=0) - truth).max() < 0.03


def test_calibration_in_the_large():
    """Mean incidence at the 10, 25 and 50 % event times within a tenth of the truth, with effects of the features."""
    rng = np.random.default_rng(3)
    features = rng.normal(size=(6000, 3))
    died = SCALE * rng.weibull(SHAPE, 6000) * np.exp(-0.4 * features[:, 0])
    ends = rng.uniform(0.5, 5, 6000)
    time, event = np.minimum(died, ends), died <= ends
    model = SODEN(n_models=2).fit(features, time, event)
    at = np.quantile(time[event], [0.1, 0.25, 0.5])
    truth = 1 - np.exp(-((at / SCALE * np.exp(0.4 * features[:, :1])) ** SHAPE))
    ratio = (1 - model.predict_survival(features, at)).mean(axis=0) / truth.mean(axis=0)
    assert np.abs(np.log(ratio)).max() < 0.1


def test_heavy_weights_are_repeated_rows():
    """2 % of the rows at weight 100, who die late: S(.5) as Kaplan-Meier's of the repeated rows."""
    rng = np.random.default_rng(0)
    n = 4000
    heavy = rng.random(n) < 0.02
    time = rng.exponential(np.where(heavy, 2.0, 0.5), n)
    event, weight = np.ones(n, bool), np.where(heavy, 100.0, 1.0)
    truth = (weight * (time > 0.5)).sum() / weight.sum()
    for cls in (SODEN, SODENPH):
        model = cls(n_models=1, validation_split=0, max_epochs=15).fit(
            rng.normal(size=(n, 2)), time, event, sample_weight=weight
        )
        S = model.predict_survival(rng.normal(size=(500, 2)), [0.5])
        assert S.mean() == pytest.approx(truth, abs=0.03)


def test_the_unit_of_time_is_the_user_s():
    """Hazards are per unit of the user's time: their integral is Lambda."""
    model = SODEN(**SMALL).fit(X, TIME, EVENT)
    t = np.linspace(0, 900, 9001)
    lam, Lambda = model.predict_hazard(X[:3], t), model.predict_cumulative_hazard(X[:3], t)
    steps = (lam[:, 1:] + lam[:, :-1]) / 2 * np.diff(t)
    np.testing.assert_allclose(np.cumsum(steps, axis=1)[:, ::1000], Lambda[:, 1::1000], atol=2e-3)


def test_models_of_version_1_predict_what_they_did():
    """Saved by 1.0.0 with its predictions; no clock but time divided by its mean."""
    kept = np.load(ROOT / "tests" / "soden" / "saved_by_1.0.0.npz")
    for cls in (SODEN, SODENPH, SODENCox):
        model = cls.load(ROOT / "tests" / "soden" / f"saved_by_1.0.0_{cls.__name__}.pt")
        assert model.time_scale == "linear"
        np.testing.assert_allclose(model.predict_survival(kept["X"], kept["times"]), kept[cls.__name__], rtol=1e-9)
