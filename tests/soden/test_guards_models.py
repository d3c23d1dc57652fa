"""Slips inside the models that no score would show: risk sets, likelihood floor, error control, bounds, both solvers.

Expected values come from the definition, a closed form, an independent library, or the same formula in float64 through
torch's autograd where the compiled kernels are judged.
"""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from baselines import cox_time
from baselines.contract import TrialOptions
from baselines.cox import Cox
from baselines.cox_time import CoxTime
from baselines.network import Network
from baselines.soden import SodenCox, SodenPH
from soden import backends, models, ode
from soden.backends import mlp
from soden.backends import ode as fast
from soden.concordance import concordance
from soden.hazard import GeneralHazard, Solution
from soden.likelihood import floored_log, nll_terms
from soden.models import Soden
from soden.nets import MLP, Encoder, seeded
from soden.solver import TOLERANCE, FastSolver, relative_gap
from soden.types import FitOptions, FitReport, SurvivalData

HYPER = {"layers": 2, "width": 8, "lr": 1e-2, "weight_decay": 1e-6, "batch_size": 32, "dropout": 0, "batch_norm": False}


def simulated(n: int, seed: int = 0, decimals: int = 6) -> SurvivalData:
    """Times of one decimal are tied."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    latent, censoring = rng.exponential(np.exp(-x[:, 0])), rng.uniform(0.2, 3, n)
    time = np.maximum(np.minimum(latent, censoring).round(decimals), 10.0**-decimals)
    return SurvivalData(time, latent <= censoring, x)


# Cox-Time and Cox


def test_a_control_may_be_anybody_still_at_risk_the_case_and_its_ties_included(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked of the model: all controls it draws in training and validation, over a grid of uniform numbers."""
    train, valid = simulated(60, decimals=1), simulated(40, 1, decimals=1)
    model = CoxTime(HYPER, FitOptions(max_epochs=1))
    model.fit(train, valid, seed=0)
    data = cox_time._by_time(valid)
    batch = model.batch(data, torch.device("cpu"))
    drawn: list[Tensor] = []
    draw = cox_time._draw
    monkeypatch.setattr(cox_time, "_draw", lambda *a: drawn.append(draw(*a)) or drawn[-1])
    cases = model.examples(batch)
    assert cases.tolist() == np.flatnonzero(data.event).tolist()
    grid = (np.arange(400) + 0.5) / 400
    at_risk = {int(i): set(np.flatnonzero(data.time >= data.time[i])) for i in cases}
    assert any(len(np.flatnonzero(data.time == data.time[i])) > 1 for i in at_risk), "some must be tied"
    monkeypatch.setattr(torch, "rand", lambda *size, **_: torch.full(size, next(uniform)))
    for name, call in (("train", lambda: model.batch_loss(batch, cases)), ("valid", lambda: model.loss(batch))):
        uniform = iter(grid.tolist())
        drawn.clear()
        for _ in grid:
            call()
        controls = torch.stack([d.reshape(-1, len(cases)) for d in drawn]).reshape(-1, len(cases)).numpy()
        for column, i in enumerate(at_risk):
            assert set(controls[:, column]) == at_risk[i], (name, i)


def test_cox_time_validates_on_the_same_ten_controls_in_every_epoch() -> None:
    model = CoxTime(HYPER, FitOptions(max_epochs=1))
    model.fit(simulated(60), simulated(40, 1), seed=0)
    batch = model.batch(cox_time._by_time(simulated(40, 1)), torch.device("cpu"))
    assert model.loss(batch).item() == model.loss(batch).item()
    assert cox_time.VALID_CONTROLS == 10


def test_cox_is_fitted_on_train_and_valid() -> None:
    """lifelines' Newton on the union, same ridge: its penalizer is per subject and halved."""
    import pandas as pd
    from lifelines import CoxPHFitter

    train, valid = simulated(120), simulated(80, 1)
    model = Cox()
    model.fit(train, valid)
    x, time, event = (np.concatenate([getattr(part, k) for part in (train, valid)]) for k in ("x", "time", "event"))
    frame = pd.DataFrame(x.astype(float), columns=["a", "b", "c"]).assign(time=time, event=event)
    theirs = CoxPHFitter(penalizer=1e-4 / len(frame)).fit(frame, "time", "event")
    np.testing.assert_allclose(model.theta, theirs.params_, atol=1e-5)  # its stopping rule
    times = np.sort(time[event])[[9, 60, 110]]  # of events: between them lifelines interpolates, Breslow does not
    S = theirs.predict_survival_function(frame.iloc[:5], times=times).to_numpy().T
    np.testing.assert_allclose(model.predict_survival(train.take(np.arange(5)), times), S, atol=1e-4)
    alone = Cox()
    alone.fit(train, train)
    assert np.abs(alone.theta - model.theta).max() > 1e-2, "the parts must be told apart"


# Error control and what is kept of it


def test_error_and_steps_are_those_of_the_best_epoch() -> None:
    model = Soden(HYPER, FitOptions(max_epochs=1))
    model.fit(simulated(60), simulated(40, 1))
    assert isinstance(model.solver, FastSolver)
    model.solver.errors = [(6, 0.1), (12, 0.2), (24, 0.3)]
    report = model.after_fit(simulated(60), FitReport("ok", 0.0, epochs=3, best_epoch=2))
    assert (report.solver_error, model.prepared["steps"]) == (0.2, 12)


def test_the_reported_error_is_that_of_the_network_that_is_kept() -> None:
    valid = simulated(80, 1)
    model = Soden({**HYPER, "lr": 0.1}, FitOptions(max_epochs=12, patience=5))
    report = model.fit(simulated(150), valid, seed=0)
    assert 0 < report.best_epoch < report.epochs
    batch, steps, tau = model.batch(valid, torch.device("cpu")), model.prepared["steps"], model.prepared["tau"]
    with torch.no_grad():
        coarse, fine = (model.net.solve(batch.x, batch.target[0], n, tau).Lambda for n in (steps, 2 * steps))
    assert report.solver_error == pytest.approx(relative_gap(coarse, fine), rel=1e-4)
    assert isinstance(model.solver, FastSolver)
    assert report.solver_error != model.solver.errors[-1][1]


@pytest.mark.parametrize(("gaps", "error"), [([0.1, 0.3, 0.2], 0.3), ([0.1, math.nan, 0.0], math.nan)])
def test_the_error_of_an_epoch_is_that_of_its_worst_block(
    gaps: list[float], error: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, valid = Soden(HYPER, FitOptions(max_epochs=1)), simulated(30, 1)
    model.fit(simulated(60), valid)
    left, heard, checked = iter(gaps), [], model.solver.checked
    monkeypatch.setattr(models, "BLOCK", 10)
    monkeypatch.setattr(model.solver, "checked", lambda *a: (checked(*a)[0], next(left)))
    monkeypatch.setattr(model.solver, "adapt", heard.append)
    with torch.no_grad():
        model.valid_loss(model.batch(valid, torch.device("cpu")))
    assert heard == [pytest.approx(error, nan_ok=True)]


def test_the_clock_s_scale_is_the_lower_quartile_of_the_training_times() -> None:
    model = Soden(HYPER, FitOptions(max_epochs=1))
    model.fit(simulated(61), simulated(40, 1))
    assert model.prepared["tau"] == np.sort(simulated(61).time)[15]
    assert isinstance(model.solver, FastSolver)
    assert model.solver.tau == model.prepared["tau"]


def test_batches_and_weights_both_follow_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step size of 0 leaves the first weights; the batches are seen on their way into the loss."""
    runs = []
    for seed in (1, 1, 2):
        model, batches = Soden({**HYPER, "lr": 0.0}, FitOptions(max_epochs=1)), []
        loss = model.batch_loss
        monkeypatch.setattr(model, "batch_loss", lambda w, r, seen=batches, f=loss: seen.append(r.tolist()) or f(w, r))
        model.fit(simulated(70), simulated(40, 1), seed)
        runs.append((batches, [p.detach().clone() for p in model.net.parameters()]))
    assert runs[0][0] == runs[1][0] != runs[2][0]
    assert all(torch.equal(a, b) for a, b in zip(runs[0][1], runs[1][1], strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(runs[0][1], runs[2][1], strict=True))


@pytest.mark.parametrize(
    ("steps", "error", "after"),
    [
        (20, TOLERANCE / 2, 20),  # fine enough, and not too fine
        (20, TOLERANCE / 8, 20),
        (20, 4 * TOLERANCE, 40),  # (2 * 4)^(1/3) = 2
        (20, math.inf, 60),  # at most three times as many
        (48, TOLERANCE / 54, 24),  # (2 / 54)^(1/3) = 1/3, but at most halved
        (48, TOLERANCE / 13.5, 26),  # (2 / 13.5)^(1/3) = 0.529
        (48, 0.0, 24),
        (8, 0.0, 6),  # not below the least
        (90, math.inf, 96),  # nor above the most
    ],
)
def test_steps_grow_and_shrink_with_the_error(steps: int, error: float, after: int) -> None:
    solver = FastSolver(6, 96, tau=1.0)
    solver.steps = steps
    solver.adapt(error)
    assert solver.steps == after
    assert solver.errors == [(steps, error)]


def test_a_solution_is_judged_with_twice_the_steps() -> None:
    net, (x, y, _) = hazard(2, 8), subjects(20)
    solver = FastSolver(4, 96, tau=0.4)
    fine, gap = solver.checked(net, x, None, y)
    with torch.no_grad():
        coarse, double = (net.solve(x, y, n, 0.4).Lambda for n in (4, 8))
    torch.testing.assert_close(fine.Lambda, double, rtol=0, atol=0)
    assert gap == relative_gap(coarse, double) > 0


# The likelihood's floor and the bound against overflow


def hazard(layers: int, width: int) -> GeneralHazard:
    with seeded(layers * width):
        return GeneralHazard(Encoder(3), width, layers)


def subjects(n: int, seed: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x, y = torch.randn(n, 3, generator=generator), torch.rand(n, generator=generator) * 3 + 0.01
    return x, y, (torch.rand(n, generator=generator) < 0.6).float()


def constant(level: float) -> GeneralHazard:
    """h = softplus(level) everywhere."""
    net = hazard(2, 8)
    with torch.no_grad():
        for p in net.parameters():
            p.zero_()
        net.net.linears()[-1].bias.fill_(level)
    return net


@pytest.mark.parametrize("way", ["compiled", "torch"])
@pytest.mark.parametrize(
    ("level", "expected"),
    [
        (-50.0, -math.log(1e-8)),  # softplus(-50) = 2e-22 counts as 1e-8
        (-16.0, math.nan),  # 1.1e-7 is above the floor and counts as it is
        (-12.0, math.nan),
    ],
)
def test_hazards_below_1e_8_count_as_1e_8(
    level: float, expected: float, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "available", lambda: way == "compiled")
    net, (x, y, _) = constant(level), subjects(10)
    event, weight = torch.ones(10), torch.full((10,), 0.1)
    fast.choose(net)
    value = net.fastest.nll(net.encode(x, None), y, event, weight, 6, 0.4)
    h = math.log1p(math.exp(level))
    if math.isnan(expected):
        expected = -math.log(h)
    assert value.item() == pytest.approx(expected + h * y.mean().item(), rel=1e-6)
    value.backward()  # type: ignore[no-untyped-call]
    slope = net.net.linears()[-1].bias.grad
    assert slope is not None
    # d log h / d level = sigmoid(level) / h, none below the floor.
    wanted = (y.mean().item() - (1 / h if h > 1e-8 else 0)) / (1 + math.exp(-level))
    assert slope.item() == pytest.approx(wanted, rel=1e-4, abs=1e-9)


def test_the_floor_is_under_the_logarithm_alone() -> None:
    lam = torch.tensor([0.0, 1e-9, 1e-7, 2.0], dtype=torch.float64)
    expected = np.log([1e-8, 1e-8, 1e-7, 2.0])
    np.testing.assert_allclose(floored_log(lam), expected, rtol=1e-12)
    event, entered = torch.tensor([1.0, 0, 1, 1]), torch.full((4,), 0.25)
    terms = nll_terms(torch.ones(4, dtype=lam.dtype), floored_log(lam), event, entered)
    np.testing.assert_allclose(terms, 1 - 0.25 - np.array([1, 0, 1, 1]) * expected, rtol=1e-12)


@pytest.mark.parametrize("nll", ["published", "text", "authors"])
def test_likelihoods_are_floored_as_a_whole_or_as_in_the_authors_code(nll: Any) -> None:
    """PH: h0 and g floored apart, or their product; Cox: x beta uncut in log lambda, or cut at 10 as in Lambda."""
    h0, g, risk = torch.tensor([1e-9, 2.0]), torch.tensor([1e-9, 1e-12]), torch.tensor([20.0, 1.0])
    options, apart = TrialOptions(max_epochs=1, nll=nll), nll == "authors"
    logs = []
    for cls, encoded in ((SodenPH, g), (SodenCox, risk)):
        model = cls(HYPER, options)
        model.fit(simulated(60), simulated(40, 1))
        factor = model.net.factor(encoded)  # type: ignore[operator]
        logs.append(model.net.log_lambda(Solution(h0, h0 * factor, encoded, h0)))
    floor = math.log(1e-8)
    ph = [2 * floor, math.log(2) + floor] if apart else [floor, floor]
    cox = [floor + (20 if apart else math.log(1e-9 * math.exp(10) / 1e-8)), math.log(2) + 1]
    np.testing.assert_allclose(logs[0], ph, rtol=1e-5)
    np.testing.assert_allclose(logs[1], cox, rtol=1e-5)


@pytest.mark.parametrize("way", ["compiled", "torch"])
def test_a_blow_up_is_cut_before_it_becomes_inf_minus_inf(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """h = softplus(60 (Lambda + 1) - 10 (Lambda + 1)): without a bound Lambda is inf, and h is inf - inf."""
    monkeypatch.setattr(backends, "available", lambda: way == "compiled")
    net = constant(0.0)
    first, second, last = net.net.linears()
    with torch.no_grad():
        first.weight[:2, 0], first.bias[:2] = 1.0, 1.0
        second.weight[0, 0], second.weight[1, 1] = 60.0, 10.0
        last.weight[0, 0], last.weight[0, 1] = 1.0, -1.0
        x = torch.zeros(4, 3)
        fast.choose(net)
        solution = net.fastest.dense(net.encode(x, None), torch.tensor(40.0), 64, 1.0)
        at = solution.at(torch.tensor([0.0, 10.0, 40.0]))
    assert torch.isfinite(solution.lam).all()
    assert solution.lam.max() <= ode.LARGEST
    assert torch.isfinite(at).all()
    assert at.max() <= ode.LARGEST == 1e6
    assert (torch.exp(-at[1:]) == 0).all()


def test_predictions_of_a_blow_up_are_curves() -> None:
    model = Soden(HYPER, FitOptions(max_epochs=1))
    data = simulated(50)
    model.fit(data, data)
    with torch.no_grad():
        for layer in model.net.net.linears():  # type: ignore[attr-defined]
            layer.weight *= 60
    S = model.predict_survival(data, np.linspace(0, 50, 30))
    assert np.isfinite(S).all()
    assert (np.diff(S, axis=1) <= 0).all()


# Concordance


def test_predictions_that_differ_by_rounding_are_tied() -> None:
    """Two later subjects of the same Lambda but for rounding count 1/2 each, one a millionth lower counts 1."""
    time, event = np.array([1.0, 2.0, 2.0, 2.0, 2.0]), np.array([True, False, False, False, False])
    # Both above, so that an order taken from the last bits would not cancel.
    values = np.array([0.7, 0.7 * (1 + 1e-12), 0.7 * (1 + 2e-12), 0.7 * (1 - 1e-6), 0.7 * (1 + 1e-6)])
    found = concordance(lambda rows, times: np.repeat(values[rows, None], len(times), axis=1), time, event)
    assert found == (0.5 + 0.5 + 1 + 0) / 4


def test_concordance_counts_a_censored_subject_of_the_same_time_as_later() -> None:
    values = np.array([3.0, 2.0, 1.0])

    def Lambda(rows: Any, times: Any) -> Any:
        return np.repeat(values[rows, None], len(times), axis=1)

    # (0, 1): tied, 1 censored: right. (0, 2): right. (2, ...): nobody later.
    assert concordance(Lambda, np.array([1.0, 1.0, 5.0]), np.array([True, False, True])) == 1.0
    # Tied events are no pair: only (0, 2) and (1, 2).
    assert concordance(Lambda, np.array([1.0, 1.0, 5.0]), np.array([True, True, False])) == 1.0
    assert concordance(Lambda, np.array([5.0, 1.0, 1.0]), np.array([False, True, False])) == 0.5


# The compiled kernels against the same formulas in torch, in float64


SHAPES = [(1, 5, 12, 1), (2, 33, 70, 7), (4, 16, 40, 3), (2, 36, 300, 6)]  # layers, width, subjects, steps


@pytest.mark.parametrize(("layers", "width", "n", "steps"), SHAPES)
def test_the_compiled_likelihood_and_gradient_are_autograd_s(layers: int, width: int, n: int, steps: int) -> None:
    """Bounds: float32's 6e-8 through some hundred sums."""
    parts = (*subjects(n), torch.linspace(1, 2, n) / n)
    assert backends.serves(*parts)
    net, (x, y, event, weight) = hazard(layers, width), parts
    x.requires_grad_()
    fast.choose(net)
    ours = net.fastest.nll(x, y, event, weight, steps, 0.4)
    exact, (u, y, event, weight) = hazard(layers, width).double(), (part.detach().double() for part in parts)
    u.requires_grad_()
    Lambda, lam = ode.integrate(lambda at, t: exact(at, t, u), y, steps, 0.4)
    theirs = torch.dot(weight, nll_terms(Lambda, floored_log(lam), event))
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-5)
    gradients = torch.autograd.grad(ours, [x, *net.parameters()]), torch.autograd.grad(theirs, [u, *exact.parameters()])
    for a, b in zip(*gradients, strict=True):
        assert (a.double() - b).norm() <= 2e-5 * b.norm()


@pytest.mark.parametrize(("layers", "width", "n", "steps"), [*SHAPES, (2, 8, 600, 4)])
def test_compiled_solutions_are_torch_s(layers: int, width: int, n: int, steps: int) -> None:
    x, y, _ = subjects(n)
    net, theirs = hazard(layers, width), hazard(layers, width).double()
    fast.choose(net)
    ours = net.fastest
    assert type(ours) is fast.Compiled
    with torch.no_grad():
        ends = ours.solve(x, y, steps, 0.4)[:2], theirs.solve(x.double(), y.double(), steps, 0.4)[:2]
        t_max = torch.tensor(3.0)
        dense = ours.dense(x, t_max, steps, 0.4), theirs.dense(x.double(), t_max.double(), steps, 0.4)
    for mine, exact in (ends, dense):
        for a, b in zip(mine, exact, strict=True):
            torch.testing.assert_close(a.double(), b, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("way", ["compiled", "torch"])
def test_all_pairs_at_once_are_each_pair_alone(batch_norm: bool, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "available", lambda: way == "compiled")
    with seeded(0):
        net = Network(Encoder(3), {"width": 9, "layers": 2, "batch_norm": batch_norm}, outputs=1, with_time=True)
        for module in net.modules():
            if isinstance(module, nn.BatchNorm1d):
                module.running_mean.normal_(), module.running_var.uniform_(0.5, 2)
                nn.init.uniform_(module.weight), nn.init.normal_(module.bias)
    x, y, _ = subjects(30)
    net.eval()
    mlp.choose(net)
    with torch.no_grad():
        grid = net.on_grid(x, y[:7])
        for k, t in enumerate(y[:7]):
            torch.testing.assert_close(grid[k], net.at(x, t.expand(30)), rtol=1e-5, atol=1e-6)


def test_weights_are_one_vector_in_the_order_of_the_parameters() -> None:
    from soden.training import flatten_parameters

    net = MLP(3, 4, 2, 2, batch_norm=True)
    expected = torch.cat([p.detach().reshape(-1) for p in net.parameters()])
    torch.testing.assert_close(net.weights().detach(), expected, rtol=0, atol=0)
    flat = flatten_parameters(net)
    assert net.weights() is flat
    net.double()  # leaves the vector behind
    torch.testing.assert_close(net.weights().detach(), expected.double(), rtol=0, atol=0)
