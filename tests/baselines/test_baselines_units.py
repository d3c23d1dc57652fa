"""Parts of the baselines with answers known in closed form or worked out by hand."""

from typing import Any

import numpy as np
import pytest
import torch

from baselines import cox_time
from baselines.cox_time import CoxTime
from baselines.deephit import DeepHit, ranking_loss
from baselines.deepsurv import DeepSurv, breslow, partial_likelihood_loss
from baselines.nnet_survival import NnetSurvival
from soden.types import FitOptions, SurvivalData

HYPER = {"layers": 1, "width": 4, "lr": 1e-3, "weight_decay": 0.0, "momentum": 0.9, "batch_size": 16}
HYPER |= {"dropout": 0, "batch_norm": False, "intervals": 5, "alpha": 0.5, "sigma": 1}


def exponential(n: int = 60, seed: int = 0) -> SurvivalData:
    rng = np.random.default_rng(seed)
    return SurvivalData(rng.exponential(size=n) + 0.01, rng.random(n) < 0.7, rng.normal(size=(n, 2)))


def fitted(cls: type, **changes: Any) -> Any:
    model = cls({**HYPER, **changes}, FitOptions(max_epochs=1))
    model.fit(exponential(), exponential(seed=1), seed=0)
    return model


def test_breslow_by_hand() -> None:
    """Times 1 (event), 2 (event and censored), 3 (event), risks 1, 2, 3, 4: H_0 = 1/10, + 1/9, + 1/4."""
    data = SurvivalData([2.0, 1.0, 3.0, 2.0], [1, 1, 1, 0], np.zeros((4, 1)))
    times, log_H0 = breslow(np.log([2.0, 1.0, 4.0, 3.0]), data)
    np.testing.assert_array_equal(times, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(np.exp(log_H0), np.cumsum([1 / 10, 1 / 9, 1 / 4]), rtol=1e-12)


def test_breslow_counts_every_death_of_a_tie_but_no_later_one() -> None:
    data = SurvivalData([1.0, 1.0, 1.5, 2.0, 2.5], [1, 1, 0, 1, 0], np.zeros((5, 1)))
    times, log_H0 = breslow(np.zeros(5), data)
    np.testing.assert_array_equal(times, [1.0, 2.0])
    np.testing.assert_allclose(np.exp(log_H0), [2 / 5, 2 / 5 + 1 / 2], rtol=1e-12)


def test_breslow_does_not_overflow() -> None:
    data = SurvivalData([1.0, 2.0], [1, 1], np.zeros((2, 1)))
    _, log_H0 = breslow(np.array([900.0, -900.0]), data)
    np.testing.assert_allclose(log_H0, [-900.0, 900.0])


def test_partial_likelihood_by_hand() -> None:
    """Risks 1, 2, 4 in the order of time, the second censored: mean of log(7/1) and log(4/4)."""
    g = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64).log()
    loss = partial_likelihood_loss(g, torch.arange(3), torch.tensor([1.0, 0.0, 1.0], dtype=g.dtype))
    assert loss.item() == pytest.approx(np.log(7) / 2, abs=1e-6)


def test_a_batch_without_events_has_no_gradient() -> None:
    g = torch.randn(5, generator=torch.Generator().manual_seed(0), requires_grad=True)
    loss = partial_likelihood_loss(g, torch.arange(5.0), torch.zeros(5))
    loss.backward()  # type: ignore[no-untyped-call]
    assert g.grad is not None
    assert (loss.item(), g.grad.abs().max().item()) == (0.0, 0.0)


def test_ranking_loss_by_hand() -> None:
    """Subject 0 dies in the first interval; 1 dies later, 2 is censored in the first: two pairs of nine."""
    F = torch.tensor([[0.5, 1.0, 1.0], [0.1, 0.7, 1.0], [0.2, 0.3, 1.0]])
    label, event = torch.tensor([0, 1, 0]), torch.tensor([1.0, 1.0, 0.0])
    loss = ranking_loss(F / 2, F.gather(1, label[:, None])[:, 0] / 2, label, event)  # sigma = 2
    assert loss.item() == pytest.approx((np.exp(-0.4 / 2) + np.exp(-0.3 / 2)) / 9, rel=1e-6)


@pytest.mark.parametrize("cls", [DeepHit, NnetSurvival])
def test_discrete_curves_are_linear_inside_and_constant_past_the_last_cut(cls: type) -> None:
    model, test = fitted(cls), exponential(7, seed=2)
    cuts = model.prepared["cuts"].numpy()
    S = model.predict_survival(test, np.array([cuts[1], (cuts[1] + cuts[2]) / 2, cuts[2], cuts[-1], 99.0]))
    np.testing.assert_allclose(S[:, 1], (S[:, 0] + S[:, 2]) / 2, rtol=1e-12)
    np.testing.assert_array_equal(S[:, 3], S[:, 4])


@pytest.mark.parametrize("cls", [DeepHit, NnetSurvival])
def test_discrete_hazard_is_the_conditional_probability_per_unit_of_time(cls: type) -> None:
    model, test = fitted(cls), exponential(7, seed=2)
    cuts = model.prepared["cuts"].numpy()
    inside = (cuts[:-1] + cuts[1:]) / 2
    at_cuts = model.predict_survival(test, np.maximum(cuts, 1e-12))
    expected = (1 - at_cuts[:, 1:] / at_cuts[:, :-1]) / np.diff(cuts)
    np.testing.assert_allclose(model.predict_hazard(test, inside), expected, rtol=1e-6)
    # A step function: the same at the right end of an interval, and none past the last cut.
    np.testing.assert_allclose(model.predict_hazard(test, cuts[1:]), expected, rtol=1e-6)
    assert (model.predict_hazard(test, np.array([99.0])) == 0).all()


def test_nnet_survival_hazard_is_the_sigmoid_of_the_network() -> None:
    model, test = fitted(NnetSurvival), exponential(7, seed=2)
    with torch.no_grad():
        lam = model.net(torch.as_tensor(test.x)).sigmoid().double().numpy()
    width = model.prepared["cuts"].numpy()[1]
    hazard = model.predict_hazard(test, model.prepared["cuts"].numpy()[1:])
    np.testing.assert_allclose(hazard * width, lam[:, 1:], rtol=1e-5)


def test_one_interval_is_refused() -> None:
    with pytest.raises(ValueError, match="intervals must be at least 2; got 1"):
        fitted(NnetSurvival, intervals=1)


def test_cox_time_makes_its_baseline_only_when_asked() -> None:
    """It costs more than the training, and of a hundred trials one is asked."""
    model = fitted(CoxTime)
    assert "log_h0" not in model.prepared
    model.predict_survival(exponential(3), np.array([1.0]))
    assert len(model.prepared["log_h0"]) == len(np.unique(exponential().time[exponential().event]))


def test_cox_time_baseline_does_not_depend_on_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    test, times = exponential(9, seed=2), np.linspace(0, 3, 20)
    whole = fitted(CoxTime).predict_survival(test, times)
    monkeypatch.setattr("baselines.cox_time.BLOCK", 100)
    np.testing.assert_allclose(fitted(CoxTime).predict_survival(test, times), whole, rtol=0, atol=1e-6)


def test_cox_time_baseline_of_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an effect of x, Breslow's estimate is Nelson and Aalen's, here scikit-survival's on the same sample."""
    from sksurv.nonparametric import nelson_aalen_estimator

    monkeypatch.setattr(cox_time, "BASELINE_SUBJECTS", 100)
    train = exponential(400)
    model = CoxTime(HYPER, FitOptions(max_epochs=1))
    model.fit(train, exponential(seed=1))
    model.net.mlp[-1].weight.data.zero_()
    part = cox_time._sample(model.train)
    assert len(part) == 100
    assert (np.diff(part.time) >= 0).all()
    times, H = nelson_aalen_estimator(part.event, part.time)
    S = model.predict_survival(exponential(2), times)
    np.testing.assert_allclose(-np.log(S), np.tile(H, (2, 1)), atol=1e-6)


def test_cox_time_with_one_distinct_time() -> None:
    """Its standard deviation is 0; the scale is then left alone."""
    same = SurvivalData(np.full(20, 2.0), np.arange(20) % 2 == 0, np.random.default_rng(0).normal(size=(20, 2)))
    model = CoxTime(HYPER, FitOptions(max_epochs=1))
    assert model.fit(same, same).status == "ok"
    assert np.isfinite(model.predict_survival(same, np.array([1.0, 2.0]))).all()


@pytest.mark.parametrize("cls", [DeepSurv, CoxTime])
def test_partial_likelihood_needs_an_event_to_stop_on(cls: type) -> None:
    valid = exponential(40, seed=1)
    none = valid.take(~valid.event)
    with pytest.raises(ValueError, match="without events has no partial likelihood"):
        cls(HYPER).fit(exponential(), none)
