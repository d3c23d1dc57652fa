"""Gradients of the fast solve: equal to autograd, to finite differences and to the paper's adjoint."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import ROOT
from torch import Tensor

import soden.adjoint
from benchmarks.registry import model
from soden.adjoint import AdjointSolver, DirectSolver
from soden.backends import ode as fast
from soden.gru import SeriesEncoder
from soden.hazard import CoxHazard, GeneralHazard, Hazard, PHHazard
from soden.likelihood import floored_log, nll_terms
from soden.models import OdeModel
from soden.nets import Encoder, seeded
from soden.ode import integrate, make_mesh
from soden.solver import FastSolver, relative_gap
from soden.training import Batch

STATES = sorted((ROOT / "benchmarks" / "speed" / "states").glob("*.pt"))
TAU = 0.4


def hazard(cls: type[Hazard], layers: int = 2, width: int = 8, channels: int = 0, seed: int = 0) -> Hazard:
    with seeded(seed):
        encoder = SeriesEncoder(3, channels, 4) if channels else Encoder(3)
        return cls(encoder, width, layers).double()


def subjects(n: int = 12, seed: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 3, generator=generator, dtype=torch.float64)
    y = torch.rand(n, generator=generator, dtype=torch.float64) * 3 + 0.01
    return x, y, (torch.rand(n, generator=generator) < 0.6).double()


def solved(net: Hazard, x: Tensor, y: Tensor, steps: int, seq: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Lambda(y) and lambda(y) by the fast scheme."""
    fast.choose(net)
    return net.fastest.solve(net.encode(x, seq), y, steps, TAU)[:2]


def gradient(net: Hazard, Lambda: Tensor, lam: Tensor, event: Tensor) -> Tensor:
    return flat(net, nll_terms(Lambda, floored_log(lam), event).mean())


def flat(net: Hazard, loss: Tensor) -> Tensor:
    return torch.cat([g.reshape(-1) for g in torch.autograd.grad(loss, list(net.parameters()))])


def relative(a: Tensor, b: Tensor) -> float:
    return float((a - b).norm() / b.norm())


@pytest.mark.parametrize("layers", [1, 2, 4])
@pytest.mark.parametrize("steps", [1, 7])
def test_hand_written_backward_is_autograd_through_rk4(layers: int, steps: int) -> None:
    net = hazard(GeneralHazard, layers)
    x, y, event = subjects()
    encoded = net.encode(x, None)
    Lambda, lam = solved(net, x, y, steps)
    by_autograd = integrate(lambda at, t: net(at, t, encoded), y, steps, TAU)
    torch.testing.assert_close((Lambda, lam), by_autograd, rtol=1e-12, atol=1e-14)
    expected = gradient(net, *by_autograd, event)
    torch.testing.assert_close(gradient(net, *solved(net, x, y, steps), event), expected, rtol=1e-9, atol=1e-12)


def test_without_gradients_the_same_numbers() -> None:
    net = hazard(GeneralHazard)
    x, y, _ = subjects()
    with torch.no_grad():
        quick = solved(net, x, y, 5)
    torch.testing.assert_close(quick, solved(net, x, y, 5), rtol=1e-12, atol=1e-14)


def test_finite_differences() -> None:
    """gradcheck moves every input by 1e-6; no ReLU of this seed switches within that."""
    net = hazard(GeneralHazard, layers=2, width=5)
    assert isinstance(net, GeneralHazard)
    x, y, _ = subjects(4)
    first, second, last = (layer for layer in net.net if isinstance(layer, torch.nn.Linear))
    z = net.of_features(net.encode(x, None)).detach().requires_grad_()
    w = first.weight[:, :2].t().detach().clone().requires_grad_()
    weights = [p.detach().clone().requires_grad_() for p in (second.weight, second.bias, last.weight, last.bias)]
    mesh = make_mesh(y, 3, TAU)
    layers = [second.weight, second.bias, last.weight, last.bias]

    def solve(z: Tensor, w: Tensor, *values: Tensor) -> tuple[Tensor, Tensor]:
        with torch.no_grad():
            for parameter, value in zip(layers, values, strict=True):
                parameter.copy_(value)
        ends: tuple[Tensor, Tensor] = fast.Solve.apply(net, z, mesh, w, *values)
        return ends

    assert torch.autograd.gradcheck(solve, (z, w, *weights))


@pytest.mark.parametrize("cls", [PHHazard, CoxHazard])
def test_finite_differences_of_the_separable_hazards(cls: type[Hazard]) -> None:
    net = hazard(cls, width=4)
    x, y, event = subjects(5)
    names = [name for name, _ in net.named_parameters()]

    def loss(*values: Tensor) -> Tensor:
        swapped = dict(zip(names, values, strict=True))
        Lambda, lam = torch.func.functional_call(Solver(net), {f"net.{k}": v for k, v in swapped.items()}, (x, y))
        return nll_terms(Lambda, floored_log(lam), event).mean()

    assert torch.autograd.gradcheck(loss, tuple(p.detach().clone().requires_grad_() for p in net.parameters()))


class Solver(torch.nn.Module):
    def __init__(self, net: Hazard) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return solved(self.net, x, y, 4)


@pytest.mark.parametrize("cls", [GeneralHazard, PHHazard, CoxHazard])
def test_the_paper_s_adjoint_in_the_limit(cls: type[Hazard], monkeypatch: pytest.MonkeyPatch) -> None:
    """ReLU kinks keep the gradient error near 1/N here and near the tolerance there."""
    monkeypatch.setattr(soden.adjoint, "RTOL", 1e-6)
    monkeypatch.setattr(soden.adjoint, "ATOL", 1e-8)
    net = hazard(cls)
    x, y, event = subjects(3)
    ours, theirs = solved(net, x, y, 1000), AdjointSolver()(net, x, None, y)[:2]
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)
    assert relative(gradient(net, *ours, event), gradient(net, *theirs, event)) < 5e-4


@pytest.mark.parametrize("cls", [GeneralHazard, PHHazard, CoxHazard])
def test_direct_backprop_through_torchdiffeq(cls: type[Hazard], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soden.adjoint, "RTOL", 1e-6)
    monkeypatch.setattr(soden.adjoint, "ATOL", 1e-8)
    net = hazard(cls)
    x, y, event = subjects(6)
    ours, theirs = solved(net, x, y, 400), DirectSolver()(net, x, None, y)[:2]
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)
    # Its last step passes y and is interpolated, and long steps see few kinks: its gradient is far less accurate.
    assert relative(gradient(net, *ours, event), gradient(net, *theirs, event)) < 0.1


def test_the_gradient_reaches_the_encoder() -> None:
    net = hazard(GeneralHazard, channels=2)
    x, y, event = subjects()
    seq = torch.randn(len(y), 6, 2, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    encoded = net.encode(x, seq)
    expected = gradient(net, *integrate(lambda at, t: net(at, t, encoded), y, 5, TAU), event)
    got = gradient(net, *solved(net, x, y, 5, seq), event)
    torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-12)
    assert all(g.abs().max() > 0 for g in torch.autograd.grad(net.encode(x, seq).sum(), list(net.encoder.parameters())))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("cls", [GeneralHazard, PHHazard, CoxHazard])
def test_any_batch_in_either_precision(cls: type[Hazard], dtype: torch.dtype) -> None:
    """One subject, and subjects in any order, get the same answer as in a batch."""
    net = hazard(cls).to(dtype)
    x, y, _ = (part.to(dtype) for part in subjects())
    together = net.solve(net.encode(x, None), y, 64, TAU)[0]
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(0))
    assert together.dtype == dtype
    tolerance = 1e-5 if dtype == torch.float32 else 1e-6  # quadrature uses the batch's own times as mesh
    torch.testing.assert_close(
        net.solve(net.encode(x[order], None), y[order], 64, TAU)[0], together[order], rtol=tolerance, atol=1e-7
    )
    torch.testing.assert_close(
        net.solve(net.encode(x[:1], None), y[:1], 64, TAU)[0], together[:1], rtol=1e-4, atol=1e-6
    )


def trained(path: Path, solver: str = "fast") -> tuple[OdeModel, Batch]:
    """A trained state, and subjects like those it was trained on: standardised features, times on its own scale."""
    state = torch.load(path, weights_only=True)
    state["hyper"]["solver"] = solver
    fitted = model(state["name"]).from_state(state)
    assert isinstance(fitted, OdeModel)
    generator = torch.Generator().manual_seed(3)
    n = 32
    x = torch.randn(n, state["shape"]["static"], generator=generator)
    y = fitted.prepared["tau"] * torch.exp(
        torch.linspace(math.log(0.1), math.log(20 if "support" in path.name else 4), n)
    )
    return fitted, Batch(x, None, (y, (torch.rand(n, generator=generator) < 0.6).float()))


def test_there_are_trained_states() -> None:
    assert len(STATES) == 12


@pytest.mark.parametrize("path", STATES, ids=lambda path: path.stem)
def test_same_loss_and_gradient_as_the_paper_at_trained_states(path: Path) -> None:
    """As both are run in training. The bounds are the paper's scheme's own errors there, with some room."""
    (ours, batch), (paper, _) = trained(path), trained(path, "adjoint")
    loss, reference = ours.loss(batch), paper.loss(batch)
    np.testing.assert_allclose(loss.item(), reference.item(), rtol=1e-3, atol=1e-3)
    assert relative(flat(ours.net, loss), flat(paper.net, reference)) < 0.03


@pytest.mark.parametrize("path", [p for p in STATES if "32x2" in p.name], ids=lambda path: path.stem)
def test_same_loss_and_gradient_in_the_limit_at_trained_states(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In float64, with many steps and a tight tolerance, the two schemes meet."""
    monkeypatch.setattr(soden.adjoint, "RTOL", 1e-6)
    monkeypatch.setattr(soden.adjoint, "ATOL", 1e-8)
    (ours, batch), (paper, _) = trained(path), trained(path, "adjoint")
    ours.net.double(), paper.net.double()
    assert isinstance(ours.solver, FastSolver)
    ours.solver.steps = 1000
    few = batch.take(slice(0, None, 16))
    exact = Batch(few.x.double(), None, tuple(part.double() for part in few.target))
    loss, reference = ours.loss(exact), paper.loss(exact)
    np.testing.assert_allclose(loss.item(), reference.item(), rtol=1e-4)
    assert relative(flat(ours.net, loss), flat(paper.net, reference)) < 2e-4


@pytest.mark.parametrize(
    "path", [p for p in STATES if "_soden_32" in p.name or "_soden_128" in p.name], ids=lambda p: p.stem
)
@pytest.mark.parametrize("steps", [4, 8, 16])
def test_the_error_estimate_can_be_trusted_at_trained_states(path: Path, steps: int) -> None:
    """The gap between N and 2N steps is near the true error: never below two thirds of it, rarely above twice.

    Too large an estimate costs steps, not accuracy, so the upper bound has room.
    """
    fitted, batch = trained(path)
    with torch.no_grad():
        y, tau = batch.target[0], fitted.prepared["tau"]
        coarse, finer = (fitted.net.solve(batch.x, y, n, tau).Lambda for n in (steps, 2 * steps))
        exact = fitted.net.double().solve(batch.x.double(), y.double(), 512, tau).Lambda
    estimate, error = relative_gap(coarse, finer), relative_gap(coarse.double(), exact)
    assert 2 / 3 < estimate / error < 3
