"""The competitors the paper left out, each against the library that has it too, or against its own equations."""

import warnings
from typing import Any

import lifelines
import numpy as np
import pycox.models as pycox
import pytest
import torch
from pycox.models.loss import nll_mtlr, nll_pc_hazard_loss
from pycox.preprocessing.label_transforms import LabTransPCHazard
from sksurv.ensemble import GradientBoostingSurvivalAnalysis, RandomSurvivalForest
from sksurv.ensemble.survival_loss import CoxPH
from sksurv.util import Surv
from test_baselines_oracle import TOLERANCE, copy_of, same, survival_data
from torch import Tensor

from baselines.gradient_boosting import GradientBoosting, negative_gradient
from baselines.kaplan_meier import KaplanMeier
from baselines.mtlr import MTLR, mtlr_loss
from baselines.pc_hazard import PCHazard, pc_hazard_terms
from baselines.random_forest import TIMES, TREES, RandomForest, coarse
from baselines.sumo_net import SumoNet
from soden.types import FitOptions, SurvivalData

NETWORK = {"layers": 2, "width": 16, "dropout": 0.1, "batch_norm": True, "batch_size": 32, "intervals": 20}
NETWORK |= {"lr": 1e-2, "weight_decay": 1e-6, "monotone_layers": 2, "monotone_width": 8}
FOREST = {"max_features": 0.5, "max_samples": 0.7, "min_samples_leaf": 8}
BOOSTING = {"learning_rate": 0.2, "max_depth": 2, "max_features": 0.5, "subsample": 0.6}


def fitted(cls: type, hyper: dict[str, Any] = NETWORK, epochs: int = 3) -> tuple[Any, SurvivalData, SurvivalData]:
    train, test = survival_data(200, 1), survival_data(80, 2)
    model = cls(hyper, FitOptions(max_epochs=epochs))
    assert model.fit(train, test, seed=3).status == "ok"
    return model, train, test


def surv(data: SurvivalData) -> Any:
    return Surv.from_arrays(data.event, data.time)


def test_kaplan_meier_against_lifelines() -> None:
    model, train, test = fitted(KaplanMeier, {})
    theirs = lifelines.KaplanMeierFitter().fit(
        np.concatenate([train.time, test.time]), np.concatenate([train.event, test.event])
    )
    times = np.linspace(0, 3, 50)
    expected = theirs.survival_function_at_times(times).to_numpy()
    np.testing.assert_allclose(model.predict_survival(test, times), np.tile(expected, (len(test), 1)), atol=TOLERANCE)


@pytest.fixture(params=[(0, 1.0), (1, 3.0)], ids=["small outputs", "large outputs"])
def placed(request: pytest.FixtureRequest) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Network outputs, intervals, events, parts of the interval."""
    seed, scale = request.param
    draws = torch.Generator().manual_seed(seed)
    phi = scale * torch.randn(64, 12, generator=draws, dtype=torch.float64)
    phi[0] = -20.0  # where the logarithm of softplus is the output itself
    label = torch.randint(0, 12, (64,), generator=draws)
    event = (torch.rand(64, generator=draws) < 0.6).double()
    return phi, label, event, torch.rand(64, generator=draws, dtype=torch.float64)


def test_mtlr_loss_is_pycoxs(placed: tuple[Tensor, ...]) -> None:
    phi, label, event, _ = placed
    same(lambda p: mtlr_loss(p, label, event), lambda p: nll_mtlr(p, label, event), phi)


def test_mtlr_survival_is_pycoxs() -> None:
    model, _, test = fitted(MTLR)
    cuts = model.prepared["cuts"].numpy()
    curves = pycox.MTLR(copy_of(model), duration_index=cuts).interpolate(10, "const_pdf").predict_surv_df(test.x)
    times = curves.index.to_numpy().astype(float)
    np.testing.assert_allclose(model.predict_survival(test, times[1:]), curves.T.iloc[:, 1:], atol=TOLERANCE)


def test_pc_hazard_loss_is_pycoxs(placed: tuple[Tensor, ...]) -> None:
    phi, label, event, part = placed
    same(
        lambda p: pc_hazard_terms(p, label, part, event).mean(),
        lambda p: nll_pc_hazard_loss(p, label, event, part),
        phi,
    )


def test_pc_hazard_labels_are_pycoxs() -> None:
    model, train, _ = fitted(PCHazard)
    theirs = LabTransPCHazard(NETWORK["intervals"])
    label, event, part = theirs.fit_transform(train.time, train.event)
    np.testing.assert_allclose(model.prepared["cuts"], theirs.cuts)
    our_label, our_part, our_event = (t.numpy() for t in model.targets(train))
    np.testing.assert_array_equal(our_label, label)
    np.testing.assert_array_equal(our_event, event)
    np.testing.assert_allclose(our_part, part, atol=TOLERANCE)


def test_pc_hazard_survival_is_pycoxs() -> None:
    model, _, test = fitted(PCHazard)
    theirs = pycox.PCHazard(copy_of(model), duration_index=model.prepared["cuts"].numpy())
    theirs.sub = 5
    curves = theirs.predict_surv_df(test.x)
    times = curves.index.to_numpy().astype(float)
    np.testing.assert_allclose(model.predict_survival(test, times), curves.T, atol=TOLERANCE)


@pytest.mark.parametrize("cls", [PCHazard, SumoNet])
def test_likelihood_is_that_of_the_predicted_curves(cls: type) -> None:
    """-log f(y) of those who died, with f = -dS/dt by central differences; -log S(y) of the others."""
    model, _, test = fitted(cls, epochs=20)
    late = SurvivalData(
        np.append(test.time, [4.0, 4.0]) * 1.003, np.append(test.event, [1, 0]), np.vstack([test.x, test.x[:2]])
    )
    h = 1e-3 * late.time
    S, before, after = (
        np.array([model.predict_survival(late.take(np.array([i])), np.array([t]))[0, 0] for i, t in enumerate(times)])
        for times in (late.time, late.time - h, late.time + h)
    )
    with np.errstate(divide="ignore"):
        expected = np.where(late.event, -np.log((before - after) / (2 * h)), -np.log(S))
    # float32 curves and steps of a thousandth: three digits of the slope. A hazard at its floor has no slope to see,
    # and one that changes at a cut within a step has two; so the median of the errors is asked, and most of them.
    error = np.abs(model.nll(late) - expected)[model.nll(late) < 15]
    assert np.median(error) < 1e-3
    assert np.mean(error < 2e-2) > 0.9


def test_sumo_net_density_integrates_to_what_survival_loses() -> None:
    """By the trapezoid rule; the mass that the paper's equations leave before time 0 is there from the start."""
    model, _, test = fitted(SumoNet, epochs=20)
    times = np.linspace(0, 2.5, 4001)[1:]
    S, hazard = model.predict_survival(test, times), model.predict_hazard(test, times)
    density = hazard * S
    lost = np.concatenate([np.zeros((len(test), 1)), np.cumsum((density[:, 1:] + density[:, :-1]) / 2, axis=1)], axis=1)
    np.testing.assert_allclose(lost * (times[1] - times[0]), S[:, :1] - S, atol=1e-4)  # the rule's own error
    assert (S[:, 0] < 1).all()
    assert (model.predict_survival(test, np.zeros(1)) == 1).all()


def test_sumo_net_is_monotone_everywhere_whatever_its_weights() -> None:
    model, _, test = fitted(SumoNet, epochs=1)
    with torch.no_grad():
        for parameter in model.net.parameters():
            parameter.mul_(-3)
    S = model.predict_survival(test, np.linspace(0, 5, 300))
    assert (np.diff(S, axis=1) <= 0).all()
    assert (S[:, 1] - S[:, -1] > 1e-3).any()
    assert (model.predict_hazard(test, np.linspace(0, 5, 30)) >= 0).all()


def test_sumo_net_slope_and_gradients_are_autograds() -> None:
    """dz/dt carried along against torch's own derivative, in torch's own layers in float64, which serve no kernel."""
    model, _, test = fitted(SumoNet)
    ours = model.batch(test, torch.device("cpu"))
    model.net.zero_grad()  # what the last step of the training left
    loss = model.loss(ours)
    loss.backward()
    compiled = [p.grad.clone() for p in model.net.parameters()]
    net = copy_of(model).double()
    net.zero_grad()
    t = ours.target[0].double().requires_grad_()
    from_x = net.of_x(ours.x.double()).t()
    z, dz = net(from_x, t)
    (slope,) = torch.autograd.grad(z.sum(), t, create_graph=True)
    torch.testing.assert_close(dz, slope, rtol=1e-9, atol=1e-12)
    log_lambda = (slope * z.sigmoid() / model.prepared["sd"]).clamp(min=1e-8).log()
    theirs = (torch.nn.functional.softplus(z) - ours.target[1] * log_lambda).mean()
    theirs.backward()
    assert loss.item() == pytest.approx(theirs.item(), abs=TOLERANCE)
    for ours_grad, parameter in zip(compiled, net.parameters(), strict=True):
        torch.testing.assert_close(ours_grad.double(), parameter.grad, rtol=0, atol=1e-5)  # float32 sums


def test_random_forest_predicts_what_scikit_survival_predicts() -> None:
    model, train, test = fitted(RandomForest, FOREST)
    y = Surv.from_arrays(train.event, coarse(train.time, train.event))
    theirs = RandomSurvivalForest(TREES, random_state=3, **FOREST).fit(train.x, y)
    curves = theirs.predict_survival_function(test.x, return_array=True)
    np.testing.assert_allclose(model.predict_survival(test, theirs.unique_times_), curves, atol=TOLERANCE)


def test_forest_times_are_few_and_nobody_is_at_risk_longer_than_he_was() -> None:
    data = survival_data(3000, 4, decimals=4)
    moved = coarse(data.time, data.event)
    assert len(np.unique(moved)) <= TIMES + 1
    assert (moved[data.event] >= data.time[data.event]).all()
    assert (moved[~data.event] <= data.time[~data.event]).all()
    # Where all fit, nothing that Kaplan-Meier sees changes: at each event time as many die and are at risk.
    few = survival_data(60, 5)
    same_times = coarse(few.time, few.event)
    np.testing.assert_array_equal(same_times[few.event], few.time[few.event])
    for t in few.time[few.event]:
        assert (same_times >= t).sum() == (few.time >= t).sum()


def test_gradient_of_boosting_is_scikit_survivals() -> None:
    data = survival_data(150, 6)
    log_risk = np.random.default_rng(0).normal(size=150)
    theirs = CoxPH().gradient(surv(data), log_risk)
    np.testing.assert_allclose(negative_gradient(log_risk, data.time, data.event), theirs, atol=1e-10)


def test_gradient_boosting_predicts_what_scikit_survival_predicts() -> None:
    """With as many trees as early stopping kept; scikit-survival's own gradient, baseline and curves."""
    model, train, test = fitted(GradientBoosting, BOOSTING)
    trees = len(model.trees)
    assert 1 < trees < 500
    theirs = GradientBoostingSurvivalAnalysis(n_estimators=trees, random_state=3, **BOOSTING).fit(train.x, surv(train))
    times = theirs.unique_times_
    curves = theirs.predict_survival_function(test.x, return_array=True)
    np.testing.assert_allclose(model.predict_survival(test, times), curves, atol=TOLERANCE)


def test_gradient_boosting_stops_at_its_best_tree() -> None:
    train, valid = survival_data(200, 1), survival_data(80, 2)
    report = GradientBoosting(BOOSTING).fit(train, valid, seed=3)
    assert report.stopped_by == "patience"
    assert report.epochs == report.best_epoch + 50
    theirs = GradientBoostingSurvivalAnalysis(n_estimators=report.epochs, random_state=3, **BOOSTING)
    theirs.fit(train.x, surv(train))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        staged = [CoxPH()(surv(valid), f) for f in theirs.staged_predict(valid.x)]
    # scikit-survival divides by the subjects, our loss by the events, and ours breaks ties by the order of a sort; the
    # best tree of one is within a per cent of the best of the other.
    assert staged[report.best_epoch - 1] <= min(staged) + 0.01 * abs(min(staged))
