"""Late entry: the likelihood against closed forms, fits against the truth and against lifelines."""

import numpy as np
import pytest
import torch
from scipy import stats

from soden import SODEN, SODENPH, SODENCox
from soden.types import SurvivalData

CLASSES = (SODEN, SODENPH, SODENCox)
RNG = np.random.default_rng(0)
ENTRY = RNG.uniform(0, 3, 60) * (np.arange(60) % 3 > 0)  # a third is seen from the start
Y = ENTRY + RNG.exponential(1.0, 60)
DELTA = RNG.random(60) < 0.6


def softplus_inverse(h):
    return np.log(np.expm1(h))


def set_hazard(model, level, slope):
    """Make the network's output level + slope t before Softplus, whatever x and Lambda are: one unit carries t."""
    net = model.net
    with torch.no_grad():
        for p in net.parameters():
            p.zero_()
        mlp = net.net if hasattr(net, "net") else net.baseline
        layers = mlp.linears()
        layers[0].weight[0, 1 if hasattr(net, "net") else 0] = 1.0
        for layer in layers[1:-1]:
            layer.weight[0, 0] = 1.0
        layers[-1].weight[0, 0] = slope
        layers[-1].bias[0] = level
        if hasattr(net, "risk"):  # SODEN-PH: g(x) = 1
            net.risk.linears()[-1].bias[0] = softplus_inverse(1.0)


def tiny(cls, **params):
    X = RNG.normal(size=(60, 2))
    return X, cls(hidden=4, max_epochs=1, n_models=1, time_scale="linear", **params).fit(X, Y, DELTA, entry=ENTRY)


@pytest.mark.parametrize("cls", CLASSES)
def test_truncated_exponentials(cls):
    """Closed form: -Delta log c + c (y - entry), from scipy's truncated density."""
    X, model = tiny(cls)
    rate = 0.7
    set_hazard(model.models_[0], softplus_inverse(rate * model.scaling_.clock.knots[1]), 0.0)
    law = stats.expon(scale=1 / rate)
    expected = np.where(DELTA, law.logpdf(Y), law.logsf(Y)) - law.logsf(ENTRY)
    assert model.log_likelihood(X, Y, DELTA, entry=ENTRY) == pytest.approx(expected.mean(), abs=1e-6)
    late = ENTRY > 0
    assert model.log_likelihood(X[late], Y[late], DELTA[late]) != pytest.approx(expected[late].mean(), abs=1e-2)


@pytest.mark.parametrize("cls", CLASSES)
def test_truncated_weibulls(cls):
    """Shape 2: lambda(t) = a t. Softplus(a t) is a t to 1e-16 where a t > 37: all enter later than that."""
    X, model = tiny(cls)
    entry, y = 1 + ENTRY, 1 + Y
    a = 40.0  # in the user's unit: 40 at t = 1
    scale = model.scaling_.clock.knots[1]
    set_hazard(model.models_[0], 0.0, a * scale**2)  # lambda in scaled time is lambda * scale
    law = stats.weibull_min(2, scale=np.sqrt(2 / a))
    expected = np.where(DELTA, law.logpdf(y), law.logsf(y)) - law.logsf(entry)
    # Lambda is about 600 here and its two ends are solved apart, so 1e-6 is a relative error of 1e-9; PH and Cox
    # integrate exactly.
    assert model.log_likelihood(X, y, DELTA, entry=entry) == pytest.approx(expected.mean(), rel=1e-6)


@pytest.mark.parametrize("solver", ["fast", "adjoint"])
@pytest.mark.parametrize("cls", CLASSES)
def test_training_and_validation_use_the_truncated_likelihood(cls, solver):
    """A constant hazard c at the start: the first batch and the validation loss are closed forms of y and entry."""
    pytest.importorskip("torchdiffeq")
    X = RNG.normal(size=(60, 2))
    data = SurvivalData(Y, DELTA, X, entry=ENTRY)
    model = cls._model_class(
        {"width": 4, "layers": 2, "lr": 1e-9, "weight_decay": 0.0, "batch_size": 60, "solver": solver}
    )
    fresh = cls(hidden=4, max_epochs=1, n_models=1).fit(X, Y, DELTA).models_[0]
    set_hazard(fresh, softplus_inverse(0.7), 0.0)
    model.start = fresh.net.state_dict()
    report = model.fit(data, data.take(np.arange(30)), seed=1)
    terms = 0.7 * (Y - ENTRY) - DELTA * np.log(0.7)
    # float32 in training: seven digits of terms of about 3.
    assert report.history[0] == pytest.approx((terms.mean(), terms[:30].mean()), abs=2e-6)


def age_scale(n, seed=1):
    """Weibull lifetimes of shape 4 in years, hazard ratio exp(0.5 x); people join at any age and only if alive."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(6 * n, 2))
    life = 80 * (rng.exponential(size=6 * n) * np.exp(-0.5 * x[:, 0])) ** 0.25
    entry = rng.uniform(20, 85, 6 * n)
    seen = np.flatnonzero(life > entry)[:n]
    x, life, entry = x[seen], life[seen], entry[seen]
    end = entry + rng.uniform(1, 30, len(seen))
    return x, np.minimum(life, end), life <= end, entry


def test_cox_is_that_of_lifelines():
    """lifelines' CoxPHFitter with entry_col on the same rows; the two agree within its standard errors."""
    import pandas as pd
    from lifelines import CoxPHFitter

    x, y, event, entry = age_scale(1500)
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": y, "event": event, "entry": entry})
    peer = CoxPHFitter().fit(frame, "y", "event", entry_col="entry")
    model = SODENCox(hidden=16, lr=1e-2, weight_decay=0, n_models=1).fit(x, y, event, entry=entry)
    beta = model.models_[0].net.beta.detach().numpy() / model.scaling_.x_std
    assert np.abs(beta - peer.params_.to_numpy()).max() < peer.standard_errors_.max()
    assert model.score(x, y, event, entry=entry) > 0.55


@pytest.mark.parametrize("cls", CLASSES)
def test_late_entry_is_not_early_survival(cls):
    """Truth: S(80 | x = 0) = exp(-1), S(60) = exp(-(3/4)^4). Without entry the young are thought immortal."""
    x, y, event, entry = age_scale(3000)
    settings = {"hidden": 16, "lr": 1e-2, "weight_decay": 1e-4, "batch_size": 128, "n_models": 1}
    right = cls(**settings).fit(x, y, event, entry=entry)
    wrong = cls(**settings).fit(x, y, event)
    ages = np.array([60.0, 70.0, 80.0])
    truth = np.exp(-((ages / 80) ** 4))
    error = [np.abs(model.predict_survival(np.zeros((1, 2)), ages)[0] - truth).max() for model in (right, wrong)]
    assert error[0] < 0.06
    assert error[1] > 2 * error[0]


def test_pairs_need_both_at_risk():
    """Antolini's C by its definition, pair by pair."""
    x, y, event, entry = age_scale(60, seed=3)
    model = SODEN(hidden=4, max_epochs=3, n_models=1).fit(x, y, event, entry=entry)
    S = model.predict_survival(x, y)
    pairs = [(i, j) for i in np.flatnonzero(event) for j in range(60) if y[j] > y[i] and entry[j] < y[i]]
    expected = np.mean([S[i, i] < S[j, i] for i, j in pairs])
    assert model.score(x, y, event, entry=entry) == pytest.approx(expected, abs=1e-12)
    assert len(pairs) < sum((y > y[i]).sum() for i in np.flatnonzero(event))


@pytest.mark.parametrize(
    ("entry", "match"),
    [
        (Y, "entry must be at least 0 and below the observed time; 60 subjects have another one.*: drop it"),
        (-ENTRY - 1, "entry must be at least 0"),
        (ENTRY[:5], r"entry must have one value per subject, shape \(60,\); got shape \(5,\)"),
        (np.full(60, np.nan), "60 subjects have another one"),
        (np.full(60, "x"), "entry is not numeric: .* Pass durations as numbers"),
    ],
)
def test_impossible_entries_are_refused(entry, match):
    with pytest.raises(ValueError, match=match):
        SODEN().fit(np.zeros((60, 1)), Y, DELTA, entry=entry)
