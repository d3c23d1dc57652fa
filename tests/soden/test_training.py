"""The training loop: what it promises about batches, stopping, the restored state, RMSProp and randomness."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from baselines.chunked import chunked_mean
from baselines.deepsurv import DeepSurv
from soden import backends
from soden.nets import MLP, seeded
from soden.training import RMSProp, flatten_parameters, run_training
from soden.types import Diverged, FitOptions, FitReport, SurvivalData

HYPER: dict[str, Any] = {"lr": 1e-2, "weight_decay": 1e-3, "momentum": 0.9, "batch_size": 8}


class Point(nn.Module):
    """One weight, so that a run can be followed by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.tensor([1.0]))


def train(
    net: nn.Module,
    batch_loss: Callable[[Tensor], Tensor],
    valid_loss: Callable[[], float],
    n: int = 20,
    hyper: dict[str, Any] | None = None,
    **options: Any,
) -> FitReport:
    return run_training(net, n, batch_loss, valid_loss, {**HYPER, **(hyper or {})}, FitOptions(**options), seed=4)


def scripted(net: Point, values: list[float]) -> tuple[FitReport, float]:
    """Each epoch moves w; validation returns the next value. The report, and w at the end."""
    left = iter(values)
    report = train(net, lambda rows: net.w.sum(), lambda: next(left), max_epochs=len(values), patience=3)
    return report, net.w.item()


def test_stops_when_patience_is_over_and_restores_the_best_state() -> None:
    seen: list[float] = []
    net = Point()
    left = iter([3.0, 1.0, 2.0, 2.0, 2.0, 0.0])

    def valid_loss() -> float:
        seen.append(net.w.item())
        return next(left)

    report = train(net, lambda rows: net.w.sum(), valid_loss, max_epochs=6, patience=3)
    assert (report.status, report.stopped_by, report.epochs, report.best_epoch) == ("ok", "patience", 5, 2)
    assert report.valid_loss == 1.0
    assert net.w.item() == seen[1] != seen[-1]
    assert [v for _, v in report.history] == [3.0, 1.0, 2.0, 2.0, 2.0]


def test_an_improvement_in_the_last_moment_resets_patience() -> None:
    report, _ = scripted(Point(), [3.0, 4.0, 4.0, 2.0, 4.0, 4.0])
    assert (report.stopped_by, report.best_epoch, report.epochs) == ("max_epochs", 4, 6)


def test_an_equal_value_is_no_improvement() -> None:
    report, _ = scripted(Point(), [1.0, 1.0, 1.0, 1.0, 1.0])
    assert (report.stopped_by, report.best_epoch, report.epochs) == ("patience", 1, 4)


def test_each_epoch_is_a_new_permutation_without_its_incomplete_batch() -> None:
    net, batches = Point(), []
    train(net, lambda rows: batches.append(rows.tolist()) or net.w.sum(), lambda: 1.0, n=20, max_epochs=3, patience=9)  # type: ignore[func-returns-value]
    assert [len(b) for b in batches] == [8] * 6  # 20 = 8 + 8 + 4 dropped
    epochs = [batches[i] + batches[i + 1] for i in (0, 2, 4)]
    assert all(len(set(e)) == 16 and set(e) <= set(range(20)) for e in epochs)
    assert epochs[0] != epochs[1]


def test_fewer_subjects_than_a_batch_make_one_batch() -> None:
    net, batches = Point(), []
    train(net, lambda rows: batches.append(sorted(rows.tolist())) or net.w.sum(), lambda: 1.0, n=5, max_epochs=2)  # type: ignore[func-returns-value]
    assert batches == [[0, 1, 2, 3, 4]] * 2


def side_by_side(momentum: float, dtype: torch.dtype, largest: float | None) -> tuple[MLP, MLP]:
    """25 steps of ours on the flat vector, and of torch's optimiser and clipping on the plain parameters."""
    x = torch.randn(32, 5, generator=torch.Generator().manual_seed(0), dtype=dtype)
    ours, theirs = (seeded_mlp().to(dtype) for _ in range(2))
    flat = flatten_parameters(ours)
    assert flat.grad is not None
    mine = RMSProp(flat, 1e-2, 1e-3, momentum, math.inf if largest is None else largest)
    torchs = torch.optim.RMSprop(theirs.parameters(), lr=1e-2, weight_decay=1e-3, momentum=momentum)
    for _ in range(25):
        flat.grad.zero_()
        (100 * (ours(x) - 3).square().mean()).backward()
        torchs.zero_grad()
        (100 * (theirs(x) - 3).square().mean()).backward()
        if largest is not None:
            nn.utils.clip_grad_norm_(theirs.parameters(), largest)
        mine.step(flat.grad)
        torchs.step()
    return ours, theirs


def seeded_mlp() -> MLP:
    with seeded(1):
        return MLP(5, 7, 2, 1)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_flat_rmsprop_is_torchs(momentum: float) -> None:
    ours, theirs = side_by_side(momentum, torch.float64, None)
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-15)  # torch's square root is not IEEE's to the last bit


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("largest", [math.inf, 0.5])
def test_the_compiled_step_is_the_one_in_torch(
    momentum: float, largest: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = torch.Generator().manual_seed(0)
    weights, gradients = torch.randn(300, generator=generator), torch.randn(20, 300, generator=generator)
    ends = []
    for available in (True, False):
        monkeypatch.setattr(backends, "available", lambda available=available: available)
        mine = weights.clone()
        optimiser = RMSProp(mine, 1e-2, 1e-3, momentum, largest)
        for gradient in gradients:
            optimiser.step(gradient.clone())
        ends.append(mine)
    torch.testing.assert_close(*ends, rtol=1e-5, atol=1e-6)


def test_the_compiled_step_takes_ieee_s_square_root() -> None:
    """From zero a step of lr 1 is g / (sqrt(0.01 g^2) + 1e-8); a root taken in float64 and rounded once is IEEE's."""
    g = torch.rand(10_000, generator=torch.Generator().manual_seed(0)) * 1e-3
    weights = torch.zeros_like(g)
    RMSProp(weights, 1.0, 0.0, 0.0, math.inf).step(g.clone())
    square = np.float32(0.01) * (g.numpy() * g.numpy())
    root = np.array([math.sqrt(v) for v in square.astype(np.float64)], dtype=np.float32)
    assert (weights.numpy() == -(g.numpy() / (root + np.float32(1e-8)))).all()


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_clipping_is_torchs_but_for_the_order_of_a_sum(momentum: float) -> None:
    ours, theirs = side_by_side(momentum, torch.float64, 5.0)
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-10)


def test_time_limit_stops_after_the_running_epoch_and_keeps_the_best_state() -> None:
    net = Point()
    report = train(net, lambda rows: net.w.sum(), lambda: net.w.item(), max_epochs=50, time_limit=0.0)
    assert (report.status, report.stopped_by, report.epochs, report.best_epoch) == ("ok", "time_limit", 1, 1)


@pytest.mark.parametrize("where", ["train", "valid"])
def test_a_loss_that_is_not_finite_is_divergence_and_keeps_the_best_state(where: str) -> None:
    net, epoch, seen = Point(), [0], []

    def batch_loss(rows: Tensor) -> Tensor:
        return net.w.sum() * (math.nan if where == "train" and epoch[0] == 2 else 1.0)

    def valid_loss() -> float:
        epoch[0] += 1
        seen.append(net.w.item())
        return math.inf if where == "valid" and epoch[0] == 3 else -float(epoch[0])

    report = train(net, batch_loss, valid_loss, max_epochs=9)
    assert (report.status, report.stopped_by, report.best_epoch, report.epochs) == ("diverged", "diverged", 2, 3)
    assert report.valid_loss == -2.0
    assert "in epoch 3" in report.message
    assert net.w.item() == seen[1]


def test_a_model_may_call_divergence_itself() -> None:
    net = Point()

    def batch_loss(rows: Tensor) -> Tensor:
        raise Diverged("step size underflow at t = 0.3")

    report = train(net, batch_loss, lambda: 1.0)
    assert (report.status, report.message) == ("diverged", "step size underflow at t = 0.3")
    assert math.isnan(report.valid_loss)
    assert report.best_epoch == 0
    assert net.w.item() == 1.0


def test_a_loss_without_gradient_leaves_the_weights_alone() -> None:
    net = Point()
    report = train(net, lambda rows: torch.tensor(0.0), lambda: 1.0, max_epochs=2)
    assert report.status == "ok"
    assert net.w.item() == 1.0


def small(seed: int, n: int = 60) -> SurvivalData:
    rng = np.random.default_rng(seed)
    return SurvivalData(rng.exponential(size=n) + 0.01, rng.random(n) < 0.7, rng.normal(size=(n, 3)))


def test_the_global_random_state_does_not_matter() -> None:
    hyper = {**HYPER, "layers": 1, "width": 4, "dropout": 0.5}
    curves = []
    for seed in (1, 2):
        with seeded(seed):
            model = DeepSurv(hyper, FitOptions(max_epochs=2))
            model.fit(small(0), small(1), seed=5)
            curves.append(model.predict_survival(small(2), np.array([0.5])))
    assert (curves[0] == curves[1]).all()


def test_chunked_mean() -> None:
    """2,048 + 2 subjects: the published convention gives the last two, by time, a third of the weight."""
    time = np.arange(2050.0)[::-1]
    terms = np.where(time >= 2048, 3.0, 0.0)
    assert chunked_mean(terms, time) == pytest.approx(1.0)
    assert chunked_mean(terms[:1024], time[:1024]) == pytest.approx(6 / 1024)
