"""SODEN, SODEN-PH and SODEN-Cox as models: training, error control, divergence, prediction, states."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from conftest import ROOT
from scipy.integrate import solve_ivp

import soden.models
from baselines.chunked import chunked_mean
from baselines.contract import TrialOptions
from baselines.soden import Soden as PublishedSoden
from soden.hazard import CoxHazard, GeneralHazard, PHHazard
from soden.models import OdeModel, Soden, SodenCox, SodenPH
from soden.nets import Encoder
from soden.solver import TOLERANCE, FastSolver, relative_gap
from soden.types import Diverged, FitOptions, FloatArray, SurvivalData

MODELS = [Soden, SodenPH, SodenCox]
HYPER = {"width": 8, "layers": 2, "lr": 0.01, "weight_decay": 1e-6, "batch_size": 64}
SHORT = FitOptions(max_epochs=3)
STATE = ROOT / "benchmarks" / "speed" / "states" / "support_soden_32x2.pt"


def simulated(n: int = 300, seed: int = 0, steps: int = 0) -> SurvivalData:
    """S_x(t) = exp(-2t) or exp(-2t^2), uniform censoring (Section 4), two more features of noise."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.integers(0, 2, n), rng.standard_normal((n, 2))])
    e = rng.standard_exponential(n) / 2
    t = np.where(x[:, 0] == 1, np.sqrt(e), e)
    c = rng.uniform(0, 2, n)
    seq = rng.standard_normal((n, steps, 2)) if steps else None
    return SurvivalData(np.minimum(t, c), t <= c, x, seq)


@pytest.fixture(scope="module", params=MODELS, ids=lambda cls: cls.name)
def fitted(request: pytest.FixtureRequest) -> OdeModel:
    model: OdeModel = request.param(HYPER, SHORT)
    assert model.fit(simulated(), simulated(seed=1), seed=5).status == "ok"
    return model


def test_blocks_change_nothing(fitted: OdeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    data, times = simulated(50), np.linspace(0, 2, 40)
    whole = [fitted.predict_survival(data, times), fitted.predict_hazard(data, times)]
    monkeypatch.setattr(soden.models, "BLOCK", 7)
    monkeypatch.setattr(soden.models, "CELLS", 100)
    np.testing.assert_allclose(fitted.predict_survival(data, times), whole[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(fitted.predict_hazard(data, times), whole[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("cls", MODELS)
def test_training_lowers_the_loss_below_that_of_a_constant_hazard(cls: type[OdeModel]) -> None:
    train, valid = simulated(1500), simulated(500, seed=1)
    model = cls(HYPER, FitOptions(max_epochs=25))
    report = model.fit(train, valid, seed=0)
    rate = train.event.sum() / train.time.sum()
    constant = np.mean(rate * valid.time - valid.event * np.log(rate))
    assert report.valid_loss < constant
    assert report.best_epoch <= report.epochs
    np.testing.assert_allclose(report.valid_loss, model.nll(valid).mean(), rtol=1e-3, atol=1e-3)
    assert 0 <= report.solver_error <= TOLERANCE


def test_soden_learns_crossing_survival_curves() -> None:
    """Groups whose curves cross at t = 1: what proportional hazards cannot do (Section 4)."""
    model = Soden({**HYPER, "width": 16, "batch_size": 128}, FitOptions(max_epochs=25))
    model.fit(simulated(4000), simulated(500, seed=1), seed=0)
    groups = SurvivalData(np.ones(2), np.ones(2, bool), np.array([[0, 0, 0], [1, 0, 0]]))
    S = model.predict_survival(groups, np.array([0.3, 1.0, 1.4]))
    truth = np.exp(-2 * np.array([[0.3, 1.0, 1.4], [0.09, 1.0, 1.96]]))
    np.testing.assert_allclose(S, truth, atol=0.05)
    assert S[0, 0] < S[1, 0]
    assert S[0, 2] > S[1, 2]


def test_predictions_at_a_trained_state_equal_scipy_s() -> None:
    model = Soden.load(STATE)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3, model.shape["static"]))
    data = SurvivalData(np.array([0.02, 0.7, 4.0]), np.array([True, False, True]), x)
    times = np.array([0.01, 0.1, 1.0, 5.0])
    net = model.net.double()

    with torch.no_grad():
        encoded = net.encode(torch.as_tensor(x.astype(np.float32)).double(), None)

    @torch.no_grad()
    def h(t: float, Lambda: FloatArray, row: int) -> list[float]:
        return net(torch.as_tensor(Lambda), torch.tensor([t], dtype=torch.float64), encoded[row]).tolist()  # type: ignore[no-any-return]

    expected = [solve_ivp(h, (0, 5), [0.0], "DOP853", times, rtol=1e-8, atol=1e-10, args=(i,)).y[0] for i in range(3)]
    np.testing.assert_allclose(model.predict_cumulative_hazard(data, times), expected, rtol=2e-4)
    nll = []
    for i, (y, event) in enumerate(zip(data.time, data.event, strict=True)):
        Lambda = solve_ivp(h, (0, y), [0.0], "DOP853", rtol=1e-8, atol=1e-10, args=(i,)).y[:, -1]
        nll.append(Lambda[0] - event * np.log(h(y, Lambda, i)[0]))
    np.testing.assert_allclose(model.nll(data), nll, rtol=2e-4)


def test_validation_loss_follows_the_chosen_convention() -> None:
    train, valid = simulated(), simulated(2500, seed=1)
    for convention in ("published", "text"):
        model = PublishedSoden(HYPER, TrialOptions(max_epochs=1, nll=convention))  # type: ignore[arg-type]
        report = model.fit(train, valid, seed=0)
        terms = model.nll(valid)
        expected = chunked_mean(terms, valid.time) if convention == "published" else terms.mean()
        np.testing.assert_allclose(report.valid_loss, expected, rtol=1e-3)


def test_the_mesh_is_refined_when_the_error_passes_the_tolerance() -> None:
    """h = softplus(20 (1 - 5 Lambda)): fast to Lambda = 0.2, then flat; few steps miss the corner."""
    model = Soden(HYPER, SHORT)
    model.fit(simulated(), simulated(seed=1))
    with torch.no_grad():
        for p in model.net.parameters():
            p.zero_()
        first, second, last = (layer for layer in model.net.net if isinstance(layer, torch.nn.Linear))  # type: ignore[attr-defined]
        first.weight[0, 0], first.bias[0] = -5.0, 1.0  # 1 - 5 Lambda, as a difference of two ReLUs
        first.weight[1, 0], first.bias[1] = 5.0, -1.0
        second.weight[0, 0], second.weight[1, 1] = 1.0, 1.0
        last.weight[0, 0], last.weight[0, 1] = 20.0, -20.0
        valid = model.batch(simulated(seed=1), torch.device("cpu"))
        assert isinstance(model.solver, FastSolver)
        model.net.eval()
        model.solver.errors.clear()
        for _ in range(8):
            model.valid_loss(valid)
    steps, gaps = zip(*model.solver.errors, strict=True)
    assert steps[0] == Soden.start_steps
    assert gaps[0] > TOLERANCE
    assert steps[-1] > Soden.start_steps
    assert gaps[-1] <= TOLERANCE
    assert model.solver.steps == steps[-1]


@pytest.mark.parametrize("cls", MODELS)
def test_a_learning_rate_far_too_high_is_a_row_not_a_crash(cls: type[OdeModel]) -> None:
    report = cls({**HYPER, "lr": 1e15}, SHORT).fit(simulated(), simulated(seed=1), seed=0)
    assert report.status == "diverged"
    assert report.stopped_by == "diverged"
    assert "blew up" in report.message or "loss is" in report.message


def test_a_gap_that_no_mesh_closes_is_divergence() -> None:
    solver = FastSolver(Soden.most_steps, Soden.most_steps, tau=1.0)
    with pytest.raises(Diverged, match=r"Lambda changes by 80% between 96 and 192 steps"):
        solver.adapt(0.8)


def test_the_gap_is_relative_and_nan_is_infinite() -> None:
    assert relative_gap(torch.tensor([1.0, 2.2]), torch.tensor([1.0, 2.0])) == pytest.approx(0.1, rel=1e-3)
    assert relative_gap(torch.tensor([float("nan"), 1.0]), torch.ones(2)) == float("inf")


@pytest.mark.parametrize("solver", ["adjoint", "direct"])
def test_the_other_solvers_train_alike(solver: str) -> None:
    options = FitOptions(max_epochs=1)
    train, valid = simulated(128), simulated(100, seed=1)
    ours = Soden(HYPER, options).fit(train, valid, seed=0)
    theirs = Soden({**HYPER, "solver": solver}, options).fit(train, valid, seed=0)
    np.testing.assert_allclose(ours.history, theirs.history, rtol=5e-3)  # their tolerance, and other gradients
    assert np.isnan(theirs.solver_error)


def test_cox_starts_and_is_clamped_as_in_the_authors_code() -> None:
    beta = torch.cat([CoxHazard(Encoder(400), 2, 1).beta.detach() for _ in range(20)])
    assert float(beta.std()) == pytest.approx(1 / 20, rel=0.05)  # N(0, 1/p), p = 400
    net = CoxHazard(Encoder(2), 2, 1)
    with torch.no_grad():
        net.beta[:] = 1.0
    risks = net.factor(net.encode(torch.tensor([[1.0, 2.0], [50.0, 50.0]]), None))
    np.testing.assert_allclose(risks.detach(), np.exp([3.0, 10.0]), rtol=1e-5)


@pytest.mark.parametrize("cls", [GeneralHazard, PHHazard, CoxHazard])
def test_nothing_is_left_on_the_cpu(cls: type[GeneralHazard]) -> None:
    """On torch's device without numbers, where a tensor left on the CPU is an error."""
    net = cls(Encoder(3), 8, 2).to("meta")
    x, y = torch.zeros(6, 3, device="meta"), torch.ones(6, device="meta")
    solution = net.solve(net.encode(x, None), y, 4, 0.3)
    (solution.Lambda.sum() + solution.lam.sum()).backward()
    assert all(p.grad is not None and p.grad.device.type == "meta" for p in net.parameters())
    with torch.no_grad():
        at = net.dense(net.encode(x, None), y[0], 8, 0.3).at(torch.ones(5, device="meta"))
    assert at.device.type == "meta"
    assert at.shape == (5, 6)
