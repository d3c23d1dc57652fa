"""Ensembles, warm starts, what training says, restricted means, summaries."""

import numpy as np
import pytest
import torch
from test_estimator import CLASSES, EVENT, SMALL, TIME, TIMES, X, simulate

from soden import SODEN, SODENPH, SODENCox
from soden.curves import Curves, mixture
from soden.inputs import held_out_rows

pytestmark = pytest.mark.filterwarnings("ignore:times beyond horizon_:UserWarning")

FIVE = {**SMALL, "n_models": 3}


@pytest.fixture(scope="module", params=CLASSES, ids=lambda cls: cls.__name__)
def several(request):
    return request.param(**FIVE).fit(X, TIME, EVENT)


def test_survival_is_the_mean_of_the_members(several):
    each = several.predict_survival(X, TIMES, members=True)
    assert each.shape == (3, 200, 6)
    assert not np.allclose(each[0], each[1])
    np.testing.assert_allclose(several.predict_survival(X, TIMES), each.mean(axis=0), rtol=1e-9, atol=1e-300)
    Lambda = several.predict_cumulative_hazard(X, TIMES, members=True)
    np.testing.assert_allclose(np.exp(-Lambda), each)


def test_the_hazard_of_a_mixture_is_its_densities_over_its_survival(several):
    """f = mean of S_k lambda_k; lambda = f / S."""
    S, lam = (f(X, TIMES[:5], members=True) for f in (several.predict_survival, several.predict_hazard))
    expected = (S * lam).mean(axis=0) / S.mean(axis=0)
    np.testing.assert_allclose(several.predict_hazard(X, TIMES[:5]), expected, rtol=1e-9)


def test_the_likelihood_of_a_mixture(several):
    """log mean of f_k(y) or S_k(y), over mean S_k(entry), from the members' curves at each subject's own times."""
    some = slice(0, 40)
    entry = TIME[some] / 2
    S, lam = (f(X[some], TIME[some], members=True) for f in (several.predict_survival, several.predict_hazard))
    S, lam = S.diagonal(axis1=1, axis2=2), lam.diagonal(axis1=1, axis2=2)
    alive = several.predict_survival(X[some], entry, members=True).diagonal(axis1=1, axis2=2).mean(axis=0)
    expected = np.log(np.where(EVENT[some], S * lam, S).mean(axis=0) / alive).mean()
    found = several.log_likelihood(X[some], TIME[some], EVENT[some], entry=entry)
    assert found == pytest.approx(expected, abs=1e-3)  # the likelihood is solved on a mesh, curves from kink to kink


def test_a_mixture_does_not_underflow():
    far = [
        Curves(np.array([[0.0, 2000.0]]), np.array([[1.0, 1.0]])),
        Curves(np.array([[0.0, 5000.0]]), np.array([[3.0, 3.0]])),
    ]
    np.testing.assert_allclose(mixture(far, hazard=False), [[0.0, 2000 + np.log(2)]])
    np.testing.assert_allclose(mixture(far, hazard=True), [[2.0, 1.0]])


def test_members_hold_out_one_part_after_the_other():
    parts = [held_out_rows(EVENT, 0.2, seed=1, member=k)[1] for k in range(5)]
    assert sorted(np.concatenate(parts)) == list(range(200)) or len(set(np.concatenate(parts))) >= 198  # ceil overlaps
    assert len(set(map(tuple, parts))) == 5


def test_one_member_of_an_ensemble_is_the_model_alone():
    alone, several = SODEN(**{**FIVE, "n_models": 1}).fit(X, TIME, EVENT), SODEN(**FIVE).fit(X, TIME, EVENT)
    np.testing.assert_array_equal(several.predict_survival(X, TIMES, members=True)[0], alone.predict_survival(X, TIMES))


def test_history_is_arrays(several):
    assert {name: losses.shape for name, losses in several.history_.items()} == {"train": (3, 5), "valid": (3, 5)}
    assert several.history_["valid"][1].min() == several.reports_[1].valid_loss
    early = SODEN(**{**FIVE, "patience": 1, "max_epochs": 60, "lr": 5e-2}).fit(X, TIME, EVENT)
    epochs = [report.epochs for report in early.reports_]
    assert len(set(epochs)) > 1
    assert np.isfinite(early.history_["train"]).sum(axis=1).tolist() == epochs
    with pytest.raises(AttributeError, match="SODEN has no history_ before fit"):
        SODEN().history_  # noqa: B018


def test_a_warm_start_goes_on():
    """The second fit begins with a lower loss than the first did, in the first's units; without it all begins anew."""
    model = SODEN(**SMALL, warm_start=True, validation_split=0).fit(X, TIME, EVENT)
    first, weights = model.history_["train"][0], model.models_[0].net.state_dict()
    once = SODEN(**SMALL, validation_split=0).fit(X, TIME, EVENT)
    np.testing.assert_array_equal(once.history_["train"][0], first)
    clock = model.scaling_.clock
    model.fit(X, 2 * TIME, EVENT)
    assert model.scaling_.clock is clock  # weights mean the same only in the same units
    model.fit(X, TIME, EVENT)
    assert model.history_["train"][0, 0] < first[0]
    moved = model.models_[0].net.state_dict()
    assert not any(torch.equal(weights[name], moved[name]) for name in weights if name.endswith("weight"))
    np.testing.assert_array_equal(model.set_params(warm_start=False).fit(X, TIME, EVENT).history_["train"][0], first)


def test_a_warm_start_starts_from_the_last_weights():
    """With steps too small to move anything, nothing has moved."""
    model = SODEN(**SMALL).fit(X, TIME, EVENT)
    before = model.predict_survival(X, TIMES)
    model.set_params(warm_start=True, lr=1e-12, max_epochs=1).fit(X, TIME, EVENT)
    np.testing.assert_allclose(model.predict_survival(X, TIMES), before, rtol=1e-6, atol=1e-12)
    model.set_params(n_models=2).fit(X, TIME, EVENT)  # the first goes on, the second is new
    np.testing.assert_allclose(model.predict_survival(X, TIMES, members=True)[0], before, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "features", "match"),
    [
        ({"hidden": 9}, X, "warm_start cannot change the network: width from 8 to 9; set warm_start=False"),
        ({}, X[:, :2], "X has 2 features, but SODEN is expecting 3"),
    ],
)
def test_a_warm_start_refuses(change, features, match):
    model = SODEN(**SMALL, warm_start=True).fit(X, TIME, EVENT)
    with pytest.raises(ValueError, match=match):
        model.set_params(**change).fit(features, TIME, EVENT)


@pytest.mark.parametrize("cls", CLASSES)
def test_the_restricted_mean_of_exponentials(cls):
    """A constant hazard c: (1 - exp(-c h)) / c."""
    from test_library_truncation import set_hazard, softplus_inverse

    model = cls(**SMALL, time_scale="linear").fit(X, TIME, EVENT)
    unit = model.scaling_.clock.knots[1]
    for scale, horizon in ((300.0, None), (20.0, 500.0)):
        set_hazard(model.models_[0], softplus_inverse(unit / scale), 0.0)
        end = model.horizon_ if horizon is None else horizon
        expected = scale * -np.expm1(-end / scale)
        np.testing.assert_allclose(model.predict_expected(X, horizon=horizon), expected, rtol=1e-6)


def test_the_restricted_mean_is_the_area_under_the_curve(several):
    from scipy.integrate import trapezoid

    t = np.linspace(0, 700.0, 20001)
    area = trapezoid(several.predict_survival(X[:3], t), t, axis=1)
    np.testing.assert_allclose(several.predict_expected(X[:3], horizon=700.0), area, rtol=1e-6)
    with pytest.raises(ValueError, match="horizon must be positive and finite; got -1"):
        several.predict_expected(X, horizon=-1)


def test_the_summary_names_what_a_person_asks_for():
    text = SODENPH(**FIVE).fit(X, TIME, EVENT).summary()
    assert text.startswith("SODENPH, 3 models of ")
    assert f"200 subjects, {EVENT.sum()} events ({EVENT.mean():.0%}), 3 features, times up to {TIME.max():g}" in text
    assert "of at most 5, stopped by max_epochs" in text
    assert "solver      fast, relative error of Lambda in training at most" in text
    assert SODENCox(**SMALL).fit(X, TIME, EVENT).summary().startswith("SODENCox, 1 model of ")


@pytest.mark.parametrize(("n", "size"), [(100, 32), (1000, 50), (4000, 200), (100_000, 256)])
def test_the_automatic_batch_is_a_twentieth(n, size):
    assert SODEN(batch_size="auto")._hyper(n)["batch_size"] == size


def test_automatic_batches_train():
    X, time, event = simulate(300)
    assert SODEN(**{**SMALL, "batch_size": "auto"}).fit(X, time, event).models_[0].hyper["batch_size"] == 32
