"""Predictions that go from kink to kink: against a mesh sixty-four times as fine, closed forms and themselves."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from conftest import ROOT
from scipy.integrate import solve_ivp
from test_estimator import EVENT, TIME, X

from soden import SODEN
from soden.curves import curves

TIMES = np.array([1.0, 30.0, 200.0, 365.0, 1000.0])

pytestmark = pytest.mark.filterwarnings("ignore:times beyond horizon_:UserWarning")


@pytest.fixture(scope="module", params=[(32, 2), (8, 1), (16, 4)], ids=str)
def fitted(request):
    hidden, layers = request.param
    params = {"hidden": hidden, "layers": layers, "n_models": 1, "lr": 1e-2, "weight_decay": 0.0, "validation_split": 0}
    params |= {"time_scale": "linear"}  # on which the hazards are stiff near 0
    return SODEN(**params, max_epochs=60).fit(X, TIME, EVENT)  # overfitted: steep, with many kinks


def test_the_solution_is_that_of_a_very_fine_mesh(fitted, monkeypatch):
    found = fitted.predict_survival(X, TIMES), fitted.predict_hazard(X, TIMES)
    monkeypatch.setattr("soden.backends.available", lambda: False)
    coarse = fitted.predict_survival(X, TIMES)
    monkeypatch.setattr("soden.models.FINE_STEPS", 64 * 128)
    np.testing.assert_allclose(found[0], fitted.predict_survival(X, TIMES), rtol=0, atol=1e-6)
    # The hazard hangs on Lambda, whose mesh leaves about 1e-7.
    np.testing.assert_allclose(found[1], fitted.predict_hazard(X, TIMES), rtol=1e-5)
    # The mesh of 128 panels that serves where there is no numba: its error, not that of the kinks.
    np.testing.assert_allclose(found[0], coarse, rtol=0, atol=1e-4)


def test_the_solution_is_scipys(fitted):
    """DOP853 with rtol 1e-10 on the network itself, for a few subjects."""
    model, scale = fitted.models_[0], fitted.scaling_
    net = model.net
    for i in (0, 77, 150):
        x = torch.as_tensor(scale.features(fitted._rows(X[i : i + 1], None)).x)

        def h(t, Lambda, x=x):
            with torch.no_grad():
                return net(torch.as_tensor(Lambda), torch.tensor([t]), x).numpy()

        when = scale.clock.at(TIMES)
        end = when[-1]
        solution = solve_ivp(h, (0, end), [0.0], "DOP853", when, rtol=1e-10, atol=1e-12, max_step=end / 500)
        np.testing.assert_allclose(fitted.predict_cumulative_hazard(X[i : i + 1], TIMES)[0], solution.y[0], rtol=1e-6)


def test_company_changes_no_bit(fitted):
    whole = fitted.predict_cumulative_hazard(X, TIMES)
    np.testing.assert_array_equal(fitted.predict_cumulative_hazard(X[7:8], TIMES[[3, 1]]), whole[7:8, [3, 1]])
    np.testing.assert_array_equal(fitted.predict_hazard(X[7:8], TIMES[3]), fitted.predict_hazard(X, TIMES)[7:8, [3]])


def test_time_zero_and_beyond_the_horizon(fitted):
    S = fitted.predict_survival(X, [0.0, fitted.horizon_, 50 * fitted.horizon_])
    np.testing.assert_array_equal(S[:, 0], 1)
    assert (np.diff(S, axis=1) <= 0).all()
    np.testing.assert_array_equal(fitted.predict_survival(X[:2], []), np.empty((2, 0)))


def exploding(weight):
    """h = softplus(weight Lambda): grows beyond any number in finite time if weight is large."""
    model = SODEN(hidden=4, layers=1, n_models=1, max_epochs=1).fit(X, TIME, EVENT)
    net = model.models_[0].net
    with torch.no_grad():
        for p in net.parameters():
            p.zero_()
        net.net.linears()[0].weight[0, 0] = 1.0
        net.net.linears()[-1].weight[0, 0] = weight
    return model


def test_a_hazard_that_explodes_ends_at_survival_zero():
    S = exploding(1000.0).predict_survival(X[:3], TIMES)
    assert np.isfinite(S).all()
    np.testing.assert_array_equal(S[:, -1], 0)


def test_a_network_without_numbers_does_not_hang():
    model = exploding(float("nan"))
    assert (
        not np.isfinite(model.predict_hazard(X[:2], TIMES)).all() or (model.predict_survival(X[:2], TIMES) == 0).all()
    )


def test_blocks_and_series(monkeypatch):
    """Subjects in blocks, with a GRU before the network: the same as one by one."""
    seq = np.random.default_rng(0).normal(size=(200, 4, 2))
    model = SODEN(hidden=8, n_models=1, max_epochs=3).fit(X, TIME, EVENT, seq=seq)
    whole = model.predict_survival(X, TIMES, seq)
    monkeypatch.setattr("soden.curves.BLOCK", 7)
    np.testing.assert_allclose(model.predict_survival(X, TIMES, seq), whole, rtol=1e-10)
    scaled = model.scaling_.features(model._rows(X[:1], seq[:1]))
    one = curves(model.models_[0], scaled, model.scaling_.clock.at(TIMES), 1.0, hazard=False)
    np.testing.assert_allclose(np.exp(-one.Lambda), whole[:1], rtol=1e-10)


def test_memory_is_bounded_by_the_answer():
    """300,000 rows of 5 features are 12 MB, the answer 5 MB: the peak grows by less than 60 MB."""
    code = """
import resource, numpy as np
from soden import SODEN
rng = np.random.default_rng(0)
X, time = rng.normal(size=(300, 5)), rng.exponential(size=300)
model = SODEN(n_models=1, max_epochs=2, hidden=8).fit(X, time, np.ones(300))
model.predict_survival(X, [1.0, 2.0])
many = rng.normal(size=(300_000, 5))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model.predict_survival(many, [1.0, 2.0])
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) < 60
