"""Each baseline against pycox, the library the authors used: same network and batch, same loss, labels and curves."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pycox.models as pycox
import pytest
import torch
import torchtuples as tt
from pycox.models.data import make_at_risk_dict, pair_rank_mat
from pycox.models.loss import DeepHitSingleLoss, cox_ph_loss, nll_logistic_hazard
from pycox.preprocessing.label_transforms import LabTransCoxTime, LabTransDiscreteTime
from torch import Tensor, nn

from baselines import cox_time
from baselines.cox_time import CoxTime
from baselines.deephit import DeepHit, deephit_loss
from baselines.deepsurv import DeepSurv, partial_likelihood_loss
from baselines.discrete import interval_labels, make_cuts
from baselines.network import Network
from baselines.nnet_survival import NnetSurvival, hazard_nll
from soden import backends
from soden.backends.mlp import choose
from soden.kernels import mlp
from soden.nets import Encoder, seeded
from soden.types import FitOptions, SurvivalData

TOLERANCE = 1e-6
NETWORK = {"layers": 2, "width": 16, "dropout": 0.1, "batch_norm": True, "batch_size": 32}
OPTIMISER = {"lr": 1e-2, "weight_decay": 1e-6, "momentum": 0.9}
HYPER = {**NETWORK, **OPTIMISER, "intervals": 20, "alpha": 0.3, "sigma": 0.25}


def survival_data(n: int, seed: int, decimals: int = 2) -> SurvivalData:
    """Times rounded so that many are tied."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    latent, censored = rng.exponential(np.exp(-x[:, 0])), rng.uniform(0.1, 2.5, n)
    time = np.maximum(np.minimum(latent, censored).round(decimals), 0.01)
    return SurvivalData(time, latent <= censored, x)


def fitted(cls: type, epochs: int = 3) -> tuple[Any, SurvivalData, SurvivalData]:
    train, test = survival_data(200, 1), survival_data(80, 2)
    model = cls(HYPER, FitOptions(max_epochs=epochs))
    model.fit(train, test, seed=3)
    return model, train, test


def copy_of(model: Any) -> nn.Module:
    """For pycox, which leaves a network in training mode after a prediction."""
    return copy.deepcopy(model.net)


def with_gradient(function: Callable[[Tensor], Tensor], at: Tensor) -> tuple[float, Tensor]:
    at = at.clone().requires_grad_()
    value = function(at)
    value.backward()
    assert at.grad is not None
    return value.item(), at.grad


def same(ours: Callable[[Tensor], Tensor], theirs: Callable[[Tensor], Tensor], at: Tensor) -> None:
    (a, da), (b, db) = with_gradient(ours, at), with_gradient(theirs, at)
    assert a == pytest.approx(b, rel=TOLERANCE, abs=TOLERANCE)
    torch.testing.assert_close(da, db, rtol=0, atol=TOLERANCE)


@pytest.fixture(params=[(0, 1.0), (1, 1.0), (2, 8.0)], ids=["a", "b", "large outputs"])
def labelled(request: pytest.FixtureRequest) -> tuple[Tensor, Tensor, Tensor]:
    """Network outputs, interval labels with ties, events."""
    seed, scale = request.param
    draws = torch.Generator().manual_seed(seed)
    phi = scale * torch.randn(64, 12, generator=draws, dtype=torch.float64)
    label = torch.randint(0, 12, (64,), generator=draws)
    event = (torch.rand(64, generator=draws) < 0.6).double()
    return phi, label, event


def test_deepsurv_loss(labelled: tuple[Tensor, Tensor, Tensor]) -> None:
    phi, _, event = labelled
    # Distinct times: among ties pycox takes whatever order its sort returns.
    time = torch.randperm(64, generator=torch.Generator().manual_seed(0)).double()
    same(lambda g: partial_likelihood_loss(g, time, event), lambda g: cox_ph_loss(g, time, event), phi[:, 0])


def test_nnet_survival_loss(labelled: tuple[Tensor, Tensor, Tensor]) -> None:
    phi, label, event = labelled
    same(lambda p: hazard_nll(p, label, event), lambda p: nll_logistic_hazard(p, label, event), phi)


@pytest.fixture
def double_by_default() -> Iterator[None]:
    """pycox's ranking loss makes a vector of ones of the default type."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("double_by_default")
@pytest.mark.parametrize(("alpha", "sigma"), [(0.0, 0.25), (0.3, 1.0), (1.0, 5.0)])
def test_deephit_loss(labelled: tuple[Tensor, Tensor, Tensor], alpha: float, sigma: float) -> None:
    phi, label, event = labelled
    pairs = torch.as_tensor(pair_rank_mat(label.numpy(), event.numpy(), dtype="float64"))
    theirs = DeepHitSingleLoss(alpha, sigma)
    same(lambda p: deephit_loss(p, label, event, alpha, sigma), lambda p: theirs(p, label, event, pairs), phi)


def test_discrete_labels() -> None:
    train, later = survival_data(200, 1), survival_data(300, 5)
    theirs = LabTransDiscreteTime(20)
    theirs.fit(train.time, train.event)
    cuts = make_cuts(train.time, 20)
    np.testing.assert_array_equal(cuts, theirs.cuts)
    late = SurvivalData(np.append(later.time, [9.0, cuts[-1], cuts[3], cuts[3]]), np.append(later.event, [1, 1, 1, 0]),
                        np.zeros((304, 1)))  # fmt: skip
    label, event = interval_labels(late.time, late.event, cuts)
    their_label, their_event = theirs.transform(late.time, late.event.copy())
    np.testing.assert_array_equal(label, their_label)
    np.testing.assert_array_equal(event, their_event)


def test_cox_time_scaling() -> None:
    model, train, test = fitted(CoxTime)
    labtrans = LabTransCoxTime()
    labtrans.fit(train.time, train.event)
    np.testing.assert_allclose(model._scaled(test.time), labtrans.transform(test.time, test.event)[0], atol=TOLERANCE)


class TimeNet(nn.Module):
    """Our network with the signature pycox wants."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        out: Tensor = self.net.at(x, t[:, 0])[:, None]  # type: ignore[operator]
        return out


def test_cox_time_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    model, train, _ = fitted(CoxTime)
    whole = model.batch(cox_time._by_time(train), torch.device("cpu"))
    rows = model.examples(whole)[5:37]
    drawn: list[Tensor] = []
    draw = cox_time._draw
    monkeypatch.setattr(cox_time, "_draw", lambda *a: drawn.append(draw(*a)) or drawn[-1])
    with seeded(0):
        ours = model.batch_loss(whole, rows)
    t = whole.target[0][rows, None]
    batch = (whole.x[rows], t), ((whole.x[drawn[0]], t),)
    theirs = pycox.CoxTime(TimeNet(copy_of(model)))
    loss = theirs.compute_metrics(tt.tuplefy(*batch), {"loss": theirs.loss})["loss"]
    assert ours.item() == pytest.approx(loss.item(), abs=TOLERANCE)


def test_cox_time_controls_are_uniform_over_pycox_risk_sets() -> None:
    time = np.sort(np.array([1.0, 2.0, 2.0, 2.0, 3.0, 4.0, 4.0]))
    first = torch.as_tensor(np.searchsorted(time, time))
    at_risk = make_at_risk_dict(time)
    draws = 7000
    for i in range(len(time)):
        uniform = torch.rand(draws, generator=torch.Generator().manual_seed(i))
        control = cox_time._draw(first[i].expand(draws), len(time), uniform)
        values, counts = np.unique(control, return_counts=True)
        np.testing.assert_array_equal(values, at_risk[time[i]])
        expected = draws / len(values)
        assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()


def test_cox_time_control_stays_in_range_at_the_largest_uniform() -> None:
    n = 20_000_000  # float32: (1 - 2^-24) * n rounds to n
    last = torch.tensor([0, n - 1])
    drawn = cox_time._draw(last, n, torch.full((2,), 1 - 2.0**-24))
    assert (drawn < n).all()


def test_deepsurv_survival() -> None:
    model, train, test = fitted(DeepSurv)
    theirs = pycox.CoxPH(copy_of(model))
    theirs.compute_baseline_hazards(train.x, (train.time, train.event.astype(float)))
    curves = theirs.predict_surv_df(test.x)
    np.testing.assert_allclose(model.predict_survival(test, curves.index.to_numpy()), curves.T, atol=TOLERANCE)


def test_cox_time_survival() -> None:
    model, train, test = fitted(CoxTime)
    # Events first among tied times: pycox's risk set starts at the first event of a tie, the paper's holds all of it.
    train = train.take(np.lexsort([~train.event, train.time]))
    labtrans = LabTransCoxTime()
    target = labtrans.fit_transform(train.time, train.event)
    theirs = pycox.CoxTime(TimeNet(copy_of(model)), labtrans=labtrans)
    theirs.compute_baseline_hazards(train.x, target)
    curves = theirs.predict_surv_df(test.x)
    np.testing.assert_allclose(model.predict_survival(test, curves.index.to_numpy()), curves.T, atol=TOLERANCE)


@pytest.mark.parametrize(("ours", "theirs"), [(DeepHit, pycox.DeepHitSingle), (NnetSurvival, pycox.LogisticHazard)])
def test_discrete_survival(ours: type, theirs: type) -> None:
    model, _, test = fitted(ours)
    cuts = model.prepared["cuts"].numpy()
    curves = theirs(copy_of(model), duration_index=cuts).interpolate(10, "const_pdf").predict_surv_df(test.x)
    # pycox leaves some mass at time 0 itself; ours is lost right after, since S(0) = 1.
    times = curves.index.to_numpy().astype(float)
    assert times[0] == 0
    np.testing.assert_allclose(model.predict_survival(test, times[1:]), curves.T.iloc[:, 1:], atol=TOLERANCE)
    just_after = model.predict_survival(test, np.array([1e-12]))[:, 0]
    np.testing.assert_allclose(just_after, curves.iloc[0], atol=TOLERANCE)


STEPS = 3  # training steps side by side: running means are then means of means


class Drawn:
    """The masks that the compiled pass draws for dropout, and torch's dropout made to use them again."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls, self.masks = 0, []
        forward = mlp.forward

        def kept(*args: Any) -> Any:
            self.calls += 1
            self.masks += [torch.from_numpy(mask.T.copy()) for mask in args[5]]  # (layers, width, n)
            return forward(*args)

        monkeypatch.setattr(mlp, "forward", kept)
        self.monkeypatch, self.dropout = monkeypatch, nn.functional.dropout

    def again(self) -> None:
        """For the next pass in torch; each mask is one that dropout could have drawn."""

        def dropout(x: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
            mask = self.masks.pop(0)
            assert mask.shape == x.shape
            torch.testing.assert_close(mask, torch.where(mask > 0, 1 / (1 - p), 0.0), rtol=0, atol=1e-6)
            # 4 standard errors of a proportion
            assert abs((mask == 0).float().mean().item() - p) < 4 * (p * (1 - p) / mask.numel()) ** 0.5
            return x * mask if training else x

        self.monkeypatch.setattr(nn.functional, "dropout", dropout)

    def stop(self) -> None:
        """Torch's own dropout."""
        self.monkeypatch.setattr(nn.functional, "dropout", self.dropout)


@pytest.mark.parametrize("way", ["compiled", "torch"])
@pytest.mark.parametrize("layers", [1, 2, 4])
@pytest.mark.parametrize("dropout", [0, 0.1, 0.5])
@pytest.mark.parametrize("batch_norm", [False, True])
def test_the_network_is_torchtuples(
    batch_norm: bool, dropout: float, layers: int, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MLPVanilla with our weights: outputs, gradients and running means while training, outputs when trained.

    Without the compiled pass both sides draw their masks from torch's generator, one after the other.
    """
    monkeypatch.setattr(backends, "available", lambda: way == "compiled")
    drawn = Drawn(monkeypatch)
    draws = torch.Generator().manual_seed(layers)
    with seeded(layers):
        hyper = {"width": 24, "layers": layers, "dropout": dropout, "batch_norm": batch_norm}
        ours = Network(Encoder(5), hyper, outputs=3)
        theirs = tt.practical.MLPVanilla(5, [24] * layers, 3, batch_norm, dropout)
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        a.data.copy_(a + 0.1 * torch.randn(a.shape, generator=draws))  # also batch norm's, which start at 1 and 0
        b.data.copy_(a)
    choose(ours)
    for step in range(STEPS):
        x, g = torch.randn(200, 5, generator=draws), torch.randn(200, 3, generator=draws)
        sides = []
        for net in (ours, theirs):
            net.train(), net.zero_grad()
            if net is theirs and way == "compiled":
                drawn.again()
            inputs = x.clone().requires_grad_()
            with seeded(step):
                out = net(inputs)
            out.backward(g)
            sides.append([out, inputs.grad, *(p.grad for p in net.parameters())])
            drawn.stop()
        for a, b in zip(*sides, strict=True):
            assert (a - b).norm() <= 1e-5 * b.norm()  # sums of 200 terms in float32
    assert (drawn.calls, drawn.masks) == (STEPS if way == "compiled" else 0, [])
    means = [[b for name, b in net.named_buffers() if "running" in name] for net in (ours, theirs)]
    assert len(means[0]) == (2 * layers if batch_norm else 0)
    torch.testing.assert_close(*means, rtol=1e-5, atol=1e-5)
    ours.eval(), theirs.eval()
    with torch.no_grad():
        torch.testing.assert_close(ours(x), theirs(x), rtol=1e-5, atol=1e-5)
