"""Hazards of one's own in the estimator, conditional survival, coefficients, competing risks."""

import numpy as np
import pandas as pd
import pytest
import torch
from test_estimator import EVENT, SMALL, TIME, TIMES, X, simulate

from soden import SODEN, SODENCox
from soden.hazard import GeneralHazard, Hazard
from soden.risks import incidence

pytestmark = pytest.mark.filterwarnings("ignore:times beyond horizon_:UserWarning")


class Gompertz(Hazard):
    """exp(a + b t + x beta), t in the user's unit."""

    def __init__(self, encoder, width, layers):
        super().__init__(encoder, width, layers)
        self.a, self.b = torch.nn.Parameter(torch.tensor(0.0)), torch.nn.Parameter(torch.tensor(0.0))
        self.beta = torch.nn.Parameter(torch.zeros(encoder.outputs))

    def forward(self, Lambda, t, encoded):
        return torch.exp(self.a + self.b * t + encoded @ self.beta)


class Same(GeneralHazard):
    """The stock hazard as a subclass: trained by the general path."""


def test_a_parametric_hazard_finds_its_parameters(tmp_path):
    """Lambda = exp(a) (exp(b t) - 1) / b with a = -1, b = 0.5, and a coefficient of 0.7."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(3000, 1))
    drawn = rng.exponential(size=3000)
    time = np.log1p(0.5 * drawn * np.exp(1 - 0.7 * features[:, 0])) / 0.5
    event = time < 4
    options = {"n_models": 1, "standardise": False, "weight_decay": 0.0, "lr": 1e-2, "batch_size": 256}
    model = SODEN(hazard=Gompertz, **options, max_epochs=40).fit(features, np.minimum(time, 4), event)
    net = model.models_[0].net
    assert (net.a.item(), net.b.item(), net.beta.item()) == pytest.approx((-1, 0.5, 0.7), abs=0.1)
    t = np.array([0.5, 2.0, 3.5])
    exact = np.exp(net.a.item()) * np.expm1(net.b.item() * t) / net.b.item()
    np.testing.assert_allclose(model.predict_cumulative_hazard([[0.0]], t)[0], exact, rtol=1e-5)
    model.save(tmp_path / "own.pt")
    again = SODEN.load(tmp_path / "own.pt", hazard=Gompertz)
    np.testing.assert_array_equal(again.predict_survival([[1.0]], t), model.predict_survival([[1.0]], t))
    with pytest.raises(
        ValueError, match=r"fitted with hazard=Gompertz: load it with SODEN.load\(path, hazard=Gompertz"
    ):
        SODEN.load(tmp_path / "own.pt")


def test_the_general_path_is_held_to_the_compiled_one():
    own, stock = (SODEN(**SMALL, hazard=h, time_scale="linear").fit(X, TIME, EVENT) for h in (Same, None))
    np.testing.assert_allclose(own.predict_survival(X, TIMES), stock.predict_survival(X, TIMES), atol=2e-4)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: SODEN(hazard=3), "hazard must be a subclass of soden.hazard.Hazard, not an instance; got 3"),
        (lambda: SODENCox(hazard=Gompertz), "SODENCox has a hazard already; pass yours to SODEN"),
    ],
)
def test_what_is_no_hazard_is_refused(make, match):
    with pytest.raises(ValueError, match=match):
        make().fit(X, TIME, EVENT)


def test_survival_given_survival():
    """P(T > t | T > s) = S(t) / S(s), and 1 before s; of an ensemble the mixture's."""
    model = SODEN(**{**SMALL, "n_models": 2}).fit(X, TIME, EVENT)
    S = model.predict_survival(X, [100.0, 300.0, 900.0])
    found = model.predict_survival(X, [100.0, 300.0, 900.0], given=300.0)
    np.testing.assert_allclose(found[:, 2], S[:, 2] / S[:, 1], rtol=1e-9)
    assert (found[:, :2] == 1).all()


def test_coefficients_are_lifelines():
    from lifelines import CoxPHFitter

    features, time, event = simulate(2000, seed=4)
    model = SODENCox(hidden=16, lr=1e-2, weight_decay=0, n_models=2).fit(features, time, event)
    frame = pd.DataFrame(features, columns=["age", "b", "c"]).assign(time=time, event=event)
    peer = CoxPHFitter().fit(frame, "time", "event")
    assert np.abs(model.coef_ - peer.params_.to_numpy())[:2] == pytest.approx([0, 0], abs=0.06)
    assert np.abs((model.coef_ - peer.params_) / peer.standard_errors_).max() < 2


def test_incidences_are_aalen_and_johansens():
    """Two constant hazards, 6,000 subjects, a feature that does nothing; the sum of all F and S is 1."""
    from sksurv.nonparametric import cumulative_incidence_competing_risks

    rng = np.random.default_rng(0)
    n = 6000
    first, second, ends = rng.exponential(1.0, n), rng.exponential(0.5, n), rng.uniform(0.2, 3, n)
    time = np.minimum(np.minimum(first, second), ends)
    cause = np.select([time == ends, time == first], [0, 1], 2)
    features = rng.normal(size=(n, 1))
    models = [SODEN(n_models=2, max_epochs=10).fit(features, time, cause == k) for k in (1, 2)]
    t = np.array([1.0, 0.1, 0.5])
    F = incidence(models, features[:50], t)
    when, peer = cumulative_incidence_competing_risks(cause, time)
    np.testing.assert_allclose(F.mean(axis=1), peer[1:, np.searchsorted(when, t, side="right") - 1], atol=0.02)
    np.testing.assert_allclose(F.mean(axis=1), np.outer([1 / 3, 2 / 3], -np.expm1(-3 * t)), atol=0.03)
    both = np.exp(-sum(m.predict_cumulative_hazard(features[:50], t, members=True) for m in models)).mean(axis=0)
    np.testing.assert_allclose(F.sum(axis=0) + both, 1, atol=1e-9)
    with pytest.raises(ValueError, match="same number of members"):
        incidence([models[0], SODEN(n_models=1, max_epochs=1).fit(features, time, cause == 2)], features, t)


@pytest.mark.parametrize("name", ["cens", "Censor", "censoring"])
def test_a_column_that_may_mean_either_is_refused(name):
    with pytest.raises(ValueError, match=rf"column '{name}' of y may say .* event = y\['{name}'\] == 0 if 1 means"):
        SODEN(**SMALL).fit(X, pd.DataFrame({"time": TIME, name: ~EVENT}))
