"""The solver against closed forms, in float64: exact answers, order of convergence, rescaling, dense output."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from soden.ode import Dense, clock, dense, integrate, make_mesh, rk4
from soden.quadrature import cumulative

TAU = 0.5


@dataclass
class Known:
    """A hazard h(Lambda, t) with its cumulative hazard and hazard as functions of time."""

    h: Callable[[Tensor, Tensor], Tensor]
    Lambda: Callable[[Tensor], Tensor]
    lam: Callable[[Tensor], Tensor]


# Textbook forms (Klein and Moeschberger 2003, Table 2.2); rates and shapes are arbitrary.
KNOWN = {
    "exponential": Known(
        lambda L, t: 0.7 + 0 * t,
        lambda t: 0.7 * t,
        lambda t: 0.7 + 0 * t,
    ),
    "weibull": Known(
        lambda L, t: 1.3 * 2.5 * t**1.5,
        lambda t: 1.3 * t**2.5,
        lambda t: 1.3 * 2.5 * t**1.5,
    ),
    "gompertz": Known(
        lambda L, t: 0.4 * torch.exp(0.9 * t),
        lambda t: 0.4 / 0.9 * torch.expm1(0.9 * t),
        lambda t: 0.4 * torch.exp(0.9 * t),
    ),
    "log-logistic": Known(
        lambda L, t: 2 * 1.5 * t / (1 + 1.5 * t**2),
        lambda t: torch.log1p(1.5 * t**2),
        lambda t: 2 * 1.5 * t / (1 + 1.5 * t**2),
    ),
    # Lambda' = 1.2 exp(-2 Lambda): Lambda = log(1 + 2.4 t) / 2.
    "depends on Lambda": Known(
        lambda L, t: 1.2 * torch.exp(-2 * L),
        lambda t: torch.log1p(2.4 * t) / 2,
        lambda t: 1.2 / (1 + 2.4 * t),
    ),
    # The same with dh/dLambda = -100 at t = 0, as in trained SUPPORT models: Lambda = log(1 + 100 t) / 4.
    "stiff near 0": Known(
        lambda L, t: 25 * torch.exp(-4 * L),
        lambda t: torch.log1p(100 * t) / 4,
        lambda t: 25 / (1 + 100 * t),
    ),
}
Y = torch.tensor([0.003, 0.05, 0.3, 1.0, 2.2, 4.0], dtype=torch.float64)


@pytest.mark.parametrize("name", KNOWN)
def test_closed_forms_on_a_fine_mesh(name: str) -> None:
    known = KNOWN[name]
    Lambda, lam = integrate(known.h, Y, 400, 0.1)
    np.testing.assert_allclose(Lambda, known.Lambda(Y), rtol=1e-6)
    np.testing.assert_allclose(lam, known.lam(Y), rtol=1e-6)


@pytest.mark.parametrize("name", ["exponential", "weibull", "gompertz", "log-logistic"])
def test_quadrature_gives_the_closed_forms(name: str) -> None:
    known = KNOWN[name]
    y = Y[[3, 0, 5, 2, 2, 4, 1]]  # any order, and a tie
    H0, h0 = cumulative(lambda t: known.h(t, t), y, 800, TAU)
    # The mesh serves the whole batch: at y = 0.003 Weibull's Lambda is 6e-7, held absolutely.
    np.testing.assert_allclose(H0, known.Lambda(y), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(h0, known.lam(y), rtol=1e-12)


@pytest.mark.parametrize(("name", "order"), [("gompertz", 4), ("depends on Lambda", 4), ("log-logistic", 4)])
@pytest.mark.parametrize("tau", [TAU, math.inf])
def test_order_of_convergence(name: str, order: int, tau: float) -> None:
    known = KNOWN[name]
    y = Y[3:]
    errors = [(integrate(known.h, y, n, tau)[0] - known.Lambda(y)).abs().max().item() for n in (40, 80, 160)]
    observed = -np.polyfit(np.log([40, 80, 160]), np.log(errors), 1)[0]
    assert abs(observed - order) < 0.35


def test_quadrature_converges_with_order_four() -> None:
    known, y = KNOWN["gompertz"], Y[3:]
    errors = [
        (cumulative(lambda t: known.h(t, t), y, n, math.inf)[0] - known.Lambda(y)).abs().max().item()
        for n in (8, 16, 32, 64)
    ]
    observed = -np.polyfit(np.log([8, 16, 32, 64]), np.log(errors), 1)[0]
    assert abs(observed - 4) < 0.35


def test_the_clock_beats_uniform_steps_where_the_hazard_is_stiff_near_zero() -> None:
    known, y = KNOWN["stiff near 0"], Y[3:]
    uniform = (integrate(known.h, y, 12, math.inf)[0] / known.Lambda(y) - 1).abs().max()
    graded = (integrate(known.h, y, 12, 0.05)[0] / known.Lambda(y) - 1).abs().max()
    assert uniform > 0.1
    assert graded < 0.001


def test_rescaled_batch_equals_subjects_solved_alone_in_their_own_time() -> None:
    """Section 3.2.2: H(s) = Lambda(s y) solved to s = 1 for all is Lambda solved to y for each."""
    rates = torch.linspace(0.5, 2, len(Y), dtype=torch.float64)

    def h(Lambda: Tensor, t: Tensor) -> Tensor:
        return rates * torch.exp(-Lambda) + t

    together, lam = integrate(h, Y, 50, math.inf)
    for i, y in enumerate(Y):
        grid = torch.linspace(0, float(y), 51, dtype=torch.float64)
        stages = [(a, (a + b) / 2, (a + b) / 2, b) for a, b in itertools.pairwise(grid)]
        times = [t for stage in stages for t in stage] + [grid[-1]]
        alone = rk4(
            lambda k, L, i=i, times=times: rates[i] * torch.exp(-L) + times[k],  # type: ignore[misc]
            grid.diff()[:, None],
        )
        np.testing.assert_allclose(together[i], alone[0].item(), rtol=1e-12)
        np.testing.assert_allclose(lam[i], alone[1].item(), rtol=1e-12)


def test_rescaling_by_hand() -> None:
    """y h(H, s y) on [0, 1] is the paper's rescaled ODE; the solver run on it to s = 1 gives the same Lambda."""
    known = KNOWN["depends on Lambda"]
    one = torch.ones_like(Y)
    by_hand = integrate(lambda H, s: known.h(H, s * Y) * Y, one, 64, math.inf)[0]
    np.testing.assert_allclose(integrate(known.h, Y, 64, math.inf)[0], by_hand, rtol=1e-12)


@given(
    y=st.lists(st.floats(1e-4, 1e4), min_size=1, max_size=5),
    steps=st.integers(1, 40),
    tau=st.one_of(st.floats(1e-4, 1e4), st.just(math.inf)),
)
@settings(max_examples=60, deadline=None)
def test_the_clock_runs_from_zero_to_y(y: list[float], steps: int, tau: float) -> None:
    ends = torch.tensor(y, dtype=torch.float64)
    t = clock(ends, steps, tau)
    assert t.shape == (steps + 1, len(y))
    assert (t[0] == 0).all()
    assert torch.equal(t[-1], ends)
    assert (t.diff(dim=0) > 0).all()
    mesh = make_mesh(ends, steps, tau)
    np.testing.assert_allclose(mesh.dt.sum(0), ends, rtol=1e-9)
    assert len(mesh.t) == 4 * steps + 1


@pytest.mark.parametrize("name", ["gompertz", "log-logistic", "depends on Lambda", "weibull"])
def test_dense_output_at_any_times(name: str) -> None:
    known = KNOWN[name]
    solution = dense(known.h, 3, torch.tensor(4.0, dtype=torch.float64), 128, TAU)
    times = torch.tensor([3.9, 0.0, 1e-5, 0.77, 4.0, 0.77, 2.2], dtype=torch.float64)
    got = solution.at(times)
    assert got.shape == (7, 3)
    np.testing.assert_allclose(got[:, 0], known.Lambda(times), rtol=1e-6, atol=1e-6)


def test_dense_output_never_falls_even_where_the_slopes_would_make_it() -> None:
    """A panel that rises by 0.01 between slopes of 5 overshoots as a plain cubic."""
    t = torch.tensor([0.0, 1.0, 2.0])
    solution = Dense(t, torch.tensor([[0.0], [0.01], [3.0]]), torch.tensor([[5.0], [5.0], [0.0]]))
    values = solution.at(torch.linspace(0, 2, 500))[:, 0]
    assert (values.diff() >= -1e-6).all()
    assert values.min() >= 0
    assert values.max() <= 3 + 1e-6
