"""The compiled GRU of series: torch.nn.GRU's states and gradients, up to the rounding of float32."""

import math
import subprocess
import sys

import numpy as np
import pytest
import torch
from conftest import ROOT
from torch import Tensor, nn

from baselines.deepsurv import DeepSurv
from soden import backends
from soden.backends import mlp
from soden.backends.gru import last_state
from soden.gru import SeriesEncoder
from soden.kernels import gru as kernels
from soden.nets import MLP, seeded
from soden.training import flatten_parameters
from soden.types import FitOptions, SurvivalData

# In norm. Each step rounds its sums to 24 bits, 6e-8, and hands most of it on: torch's own float32 is off its float64
# by 1e-7 in these states and by up to 6e-7 in these gradients, ours by 1e-7 and 1.3e-7.
CLOSE = 1e-6
SHAPES = [(1, 1, 1, 1), (7, 24, 15, 8), (33, 24, 15, 16), (64, 5, 3, 13), (100, 24, 15, 32), (70, 24, 15, 64)]
SHAPES += [(40, 3, 2, 249)]


def made(channels: int, width: int, seed: int = 0) -> nn.GRU:
    with seeded(seed):
        return nn.GRU(channels, width, batch_first=True)


def series(n: int, steps: int, channels: int, seed: int = 1) -> Tensor:
    return torch.randn(n, steps, channels, generator=torch.Generator().manual_seed(seed))


def relative(a: Tensor, b: Tensor) -> float:
    return float((a.detach().double() - b.detach()).norm() / b.detach().norm())


def gradients(states: Tensor, gru: nn.GRU) -> tuple[Tensor, ...]:
    """Of a sum of the states in which each counts another amount."""
    amounts = torch.linspace(-1, 2, states.numel(), dtype=states.dtype).view_as(states)
    return torch.autograd.grad((amounts * states).sum(), list(gru.parameters()))


@pytest.mark.parametrize(("n", "steps", "channels", "width"), SHAPES)
def test_states_and_gradients_are_torch_s(n: int, steps: int, channels: int, width: int) -> None:
    """Against torch.nn.GRU in float64; widths and batches beside the blocks' sizes included."""
    gru, seq = made(channels, width), series(n, steps, channels)
    states = last_state(gru, seq)
    exact = made(channels, width).double()
    expected = exact(seq.double())[1][0]
    assert states.dtype == torch.float32
    assert relative(states, expected) < CLOSE
    for ours, theirs in zip(gradients(states, gru), gradients(expected, exact), strict=True):
        if theirs.norm() > 0:  # of one step from h = 0, W_hh has none
            assert relative(ours, theirs) < CLOSE
        else:
            assert (ours == 0).all()
    with torch.no_grad():
        assert torch.equal(last_state(gru, seq), states.detach())


def test_large_gates_saturate_as_torch_s_do() -> None:
    gru, seq = made(3, 6), 1e30 * series(50, 4, 3)  # so large that no sum of three comes near 0
    torch.testing.assert_close(last_state(gru, seq), gru(seq)[1][0], rtol=0, atol=CLOSE)
    seq[3, 1, 2] = math.nan
    lost = last_state(gru, seq).isnan()
    assert lost[3].all()
    assert not lost[[i for i in range(50) if i != 3]].any()


def ulps(ours: np.ndarray, exact: np.ndarray) -> float:
    return float((np.abs(ours - exact) / np.spacing(np.abs(exact).astype(np.float32))).max())


def test_sigmoid_and_tanh_to_three_units_in_the_last_place() -> None:
    """Against float64's on a grid, and where they are tiny."""
    x = np.concatenate([np.linspace(-80, 80, 4001), np.geomspace(1e-30, 1, 999)]).astype(np.float32)
    wide = x.astype(np.float64)
    assert ulps(np.array([kernels.sigmoid(v) for v in x]), 1 / (1 + np.exp(-wide))) <= 3
    assert ulps(np.array([kernels.tanh(v) for v in x]), np.tanh(wide)) <= 3
    for v, sigmoid, tanh in ((math.inf, 1, 1), (-math.inf, 0, -1), (math.nan, math.nan, math.nan)):
        found = kernels.sigmoid(np.float32(v)), kernels.tanh(np.float32(v))
        assert found == pytest.approx((sigmoid, tanh), abs=2e-38, nan_ok=True)


def test_the_derivative_of_a_step_by_finite_differences() -> None:
    """The same formulas in float64, each input of the cell moved by 1e-6 either way; h' from its definition."""
    rng = np.random.default_rng(0)
    r, z, hn, n, h, g = rng.normal(size=(6, 4, 8))

    def loss(r: np.ndarray, z: np.ndarray, hn: np.ndarray, n: np.ndarray, h: np.ndarray) -> np.ndarray:
        r, z = 1 / (1 + np.exp(-r)), 1 / (1 + np.exp(-z))
        n = np.tanh(n + r * hn)
        return g * ((1 - z) * n + z * h)

    inputs = [r, z, hn, n, h]
    expected = []
    for k in range(5):
        moved = [[v + sign * 1e-6 * (i == k) for i, v in enumerate(inputs)] for sign in (1, -1)]
        expected.append((loss(*moved[0]) - loss(*moved[1])) / 2e-6)
    gate_r, gate_z = 1 / (1 + np.exp(-r)), 1 / (1 + np.exp(-z))
    gates, through, half = np.concatenate([gate_r, gate_z, hn, np.tanh(n + gate_r * hn)]), 0.25 * g, 0.75 * g
    kernels.cell_back(gates, h, through, half)
    np.testing.assert_allclose(gates.reshape(4, 4, 8), expected[:4], rtol=0, atol=1e-8)
    np.testing.assert_allclose(through, expected[4], rtol=0, atol=1e-8)


def test_gradients_arrive_where_training_looks_for_them() -> None:
    """In the one vector that `flatten_parameters` makes, as torch's arrive there."""
    found = []
    for available in (True, False):
        with seeded(5):
            net = nn.ModuleList([SeriesEncoder(2, 3, 6), MLP(8, 4, 1, 1)])
        flat = flatten_parameters(net)
        x, seq = torch.ones(9, 2), series(9, 4, 3)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(backends, "available", lambda available=available: available)
            net[0].choose_backend(), mlp.choose(net)
            assert (net[0].backend is not None) == (net[1].backend is not None) == available
            net[1](net[0](x, seq)).square().sum().backward()
        assert flat.grad is not None
        found.append(flat.grad.double())
    assert relative(*found) < CLOSE
    assert (found[0] != 0).sum() > 150


def test_what_torch_serves_is_torch_s() -> None:
    """Float64, machines without numba, and gradients by the series."""
    exact = made(3, 5).double()
    seq = series(8, 4, 3).double()
    assert torch.equal(last_state(exact, seq), exact(seq)[1][0])
    gru, seq = made(3, 5), series(8, 4, 3).requires_grad_()
    states = last_state(gru, seq)
    assert torch.equal(states, gru(seq)[1][0])
    states.sum().backward()
    assert seq.grad is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backends, "available", lambda: False)
        assert torch.equal(last_state(gru, seq.detach()), gru(seq)[1][0])


def test_a_state_of_torch_s_gru_loads() -> None:
    encoder = SeriesEncoder(2, 3, 5)
    gru = made(3, 5, seed=9)
    encoder.load_state_dict({f"gru.{name}": value for name, value in gru.state_dict().items()})
    seq = series(6, 4, 3)
    with torch.no_grad():
        assert relative(encoder(torch.ones(6, 2), seq)[:, 2:], gru.double()(seq.double())[1][0]) < CLOSE


def test_series_of_another_shape_are_refused() -> None:
    encoder = SeriesEncoder(2, 3, 5)
    for shape in ((6, 4, 2), (6, 4), (6, 0, 3)):
        with pytest.raises(ValueError, match=r"seq must have shape \(subjects, steps, 3\), one step or more; got \(6,"):
            encoder(torch.ones(6, 2), torch.ones(shape))
    with pytest.raises(ValueError, match="built for subjects with series; pass seq"):
        encoder(torch.ones(6, 2))


def test_a_second_gradient_is_refused() -> None:
    gru = made(3, 5)
    loss = last_state(gru, series(4, 2, 3)).sum()
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="taken already, and what it needs is gone; encode it again"):
        loss.backward()


def test_a_fit_is_the_same_twice_and_static_models_need_no_gru() -> None:
    rng = np.random.default_rng(0)
    seq = rng.normal(size=(90, 4, 3))
    data = SurvivalData(rng.exponential(size=90), rng.random(90) < 0.7, rng.normal(size=(90, 2)), seq)
    hyper = {"width": 8, "layers": 1, "gru_width": 7, "lr": 1e-2, "weight_decay": 0.0, "batch_size": 32}
    reports = [DeepSurv(hyper, FitOptions(max_epochs=3, device="cpu")).fit(data, data, seed=1) for _ in range(2)]
    assert reports[0].history == reports[1].history
    code = (
        "import sys, numpy as np; from baselines.deepsurv import DeepSurv; from soden.types import *; "
        "data = SurvivalData(np.arange(1.0, 41), np.ones(40, bool), np.ones((40, 2))); "
        f"DeepSurv({hyper}, FitOptions(max_epochs=1, device='cpu')).fit(data, data); "
        "print('soden.gru' in sys.modules, 'soden.kernels.mlp' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert out.split() == ["False", "True"]
