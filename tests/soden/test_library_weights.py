"""Weights: a subject of weight k counts as k of it, in the loss, in training, in validation, and in lifelines."""

import numpy as np
import pytest
import torch
from test_estimator import CLASSES, EVENT, TIME, X, simulate

from soden import SODEN, SODENCox
from soden.types import SurvivalData

WEIGHT = np.arange(200) % 4  # a quarter counts for nothing
REPEATED = np.repeat(np.arange(200), WEIGHT)
WHOLE = {"hidden": 8, "max_epochs": 15, "lr": 1e-2, "n_models": 1, "batch_size": 10_000}  # a batch is everything


@pytest.mark.parametrize(("solver", "rtol"), [("fast", 1e-5), ("adjoint", 2e-2)])
@pytest.mark.parametrize("cls", CLASSES)
def test_weights_are_repeated_rows(cls, solver, rtol):
    """Loss and gradient of a batch, float32.

    The adaptive solver chooses its steps by the mean over all rows and sees kinks otherwise: per cents of a gradient.
    """
    pytest.importorskip("torchdiffeq")
    model = cls(**{**WHOLE, "max_epochs": 1, "solver": solver}).fit(X, TIME, EVENT).models_[0]
    model.net.float()
    x, y = ((X - X.mean(axis=0)) / X.std(axis=0)), TIME / TIME.mean()
    weight = WEIGHT + 1
    often = np.repeat(np.arange(200), weight)
    weighted = SurvivalData(y, EVENT, x, weight=weight, entry=y / 3)
    repeated = SurvivalData(y[often], EVENT[often], x[often], entry=y[often] / 3)
    found = []
    for data in (weighted, repeated):
        model.net.train()
        model.net.zero_grad()
        loss = model.loss(model.batch(data, torch.device("cpu")))
        loss.backward()
        found.append([loss.detach(), *(p.grad.clone() for p in model.net.parameters())])
    assert float(found[0][0]) == pytest.approx(float(found[1][0]), rel=min(rtol, 1e-4))
    one, other = (torch.cat([gradient.reshape(-1) for gradient in each[1:]]) for each in found)
    assert float(torch.linalg.vector_norm(one - other)) < rtol * float(torch.linalg.vector_norm(other))


@pytest.mark.parametrize("cls", CLASSES)
def test_whoever_weighs_nothing_is_left_out(cls):
    """The same fit as without these rows, to the bit: a batch never weighs nothing."""
    kept = WEIGHT > 0
    params = {**WHOLE, "batch_size": 16, "max_epochs": 3}
    weighted = cls(**params).fit(X, TIME, EVENT, sample_weight=1.0 * kept)
    without = cls(**params).fit(X[kept], TIME[kept], EVENT[kept], sample_weight=np.ones(kept.sum()))
    np.testing.assert_array_equal(weighted.predict_survival(X, TIME[:5]), without.predict_survival(X, TIME[:5]))
    assert weighted.n_samples_ == kept.sum()


@pytest.mark.parametrize("cls", CLASSES)
def test_validation_and_likelihood_are_weighted_means(cls):
    model = cls(**{**WHOLE, "max_epochs": 2}).fit(X, TIME, EVENT)
    kept = WEIGHT > 0
    weighted = model.log_likelihood(X[kept], TIME[kept], EVENT[kept], sample_weight=WEIGHT[kept])
    repeated = model.log_likelihood(X[REPEATED], TIME[REPEATED], EVENT[REPEATED])
    assert weighted == pytest.approx(repeated, abs=1e-9)
    held_out = {"X_val": X, "time_val": TIME, "event_val": EVENT, "sample_weight_val": WEIGHT}
    watched = cls(**WHOLE, time_scale="linear").fit(X, TIME, EVENT, **held_out)
    shift = EVENT[REPEATED].mean() * np.log(watched.scaling_.clock.knots[1])
    # What early stopping watched is float32 on a mesh that is as fine as training needs.
    best = watched.log_likelihood(X[REPEATED], TIME[REPEATED], EVENT[REPEATED]) + shift
    assert -watched.reports_[0].valid_loss == pytest.approx(best, abs=2e-3)


def test_cox_is_that_of_lifelines():
    """CoxPHFitter with weights_col; robust errors, since weights are not counts of independent subjects."""
    import pandas as pd
    from lifelines import CoxPHFitter

    X, time, event = simulate(1500, seed=1)
    weight = np.random.default_rng(0).uniform(0.2, 3, 1500)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": time, "event": event, "w": weight})
    peer = CoxPHFitter().fit(frame, "y", "event", weights_col="w", robust=True)
    model = SODENCox(hidden=16, lr=1e-2, weight_decay=0, n_models=1).fit(X, time, event, sample_weight=weight)
    beta = model.models_[0].net.beta.detach().numpy() / model.scaling_.x_std
    assert (np.abs(beta - peer.params_.to_numpy()) < peer.standard_errors_.to_numpy()).all()


@pytest.mark.parametrize(
    ("weight", "match"),
    [
        (np.zeros(200), "sample_weight is zero for every subject"),
        (-np.ones(200), "weight must be finite and not negative"),
        (np.ones(3), r"weight must have one value per subject, shape \(200,\); got shape \(3,\)"),
        (np.full(200, "x"), "sample_weight is not numeric: .* Pass numbers"),
    ],
)
def test_weights_without_meaning_are_refused(weight, match):
    with pytest.raises(ValueError, match=match):
        SODEN().fit(X, TIME, EVENT, sample_weight=weight)
