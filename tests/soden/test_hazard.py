"""Hazards of one's own: one class with one method, never computed by code that was written for another."""

import doctest
import inspect
import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

import soden
from soden import backends, ode
from soden.backends import ode as fast
from soden.hazard import BadHazard, GeneralHazard, Hazard
from soden.models import Soden
from soden.nets import Encoder, seeded
from soden.risks import incidence
from soden.types import FitOptions, SurvivalData

HYPER = {"width": 8, "layers": 2, "lr": 1e-2, "weight_decay": 0.0, "batch_size": 32}


def simulated(n: int = 150, seed: int = 0) -> SurvivalData:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    return SurvivalData(rng.exponential(np.exp(-x[:, 0])), rng.random(n) < 0.7, x)


class TanhHazard(GeneralHazard):
    """The stock network with another activation, by overriding what computes it."""

    def of_hidden(self, hidden: Tensor, keep: list[Tensor] | None = None) -> Tensor:
        for layer in self.net.linears()[1:]:
            hidden = layer(hidden.tanh())
        return softplus(hidden[..., 0])


class TanhModules(GeneralHazard):
    """The same by other modules."""

    def __init__(self, encoder: Encoder, width: int, layers: int) -> None:
        super().__init__(encoder, width, layers)
        for i, module in enumerate(self.net):
            if isinstance(module, nn.ReLU):
                self.net[i] = nn.Tanh()


class TanhAlone(Hazard):
    """The same from `forward` alone."""

    def __init__(self, encoder: Encoder, width: int, layers: int) -> None:
        super().__init__(encoder, width, layers)
        stock = GeneralHazard(encoder, width, layers).net
        self.net = nn.Sequential(*(nn.Tanh() if isinstance(module, nn.ReLU) else module for module in stock))

    def forward(self, Lambda: Tensor, t: Tensor, encoded: Tensor) -> Tensor:
        features = encoded.expand(*Lambda.shape, encoded.shape[-1])
        return softplus(self.net(torch.cat([Lambda[..., None], t[..., None], features], -1))[..., 0])


def fitted(hazard: type[Hazard], **options: int) -> Soden:
    class Own(Soden):
        hazard_class = hazard

    model = Own(HYPER, FitOptions(max_epochs=4))
    model.fit(simulated(), simulated(60, 1), seed=3)
    return model


@pytest.mark.parametrize("hazard", [TanhHazard, TanhModules, TanhAlone])
def test_a_subclass_with_another_activation_is_trained_as_it_is(
    hazard: type[Hazard], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As without any compiled code, and unlike the stock hazard, which starts from the same weights."""
    model, data, times = fitted(hazard), simulated(40, 2), np.array([0.1, 0.5, 2.0])
    found = model.predict_survival(data, times)
    monkeypatch.setattr(backends, "available", lambda: False)
    np.testing.assert_allclose(found, fitted(hazard).predict_survival(data, times), rtol=1e-4, atol=1e-5)

    # Written out once more, in float64 and with the adaptive steps of the paper's solver.
    class InFull(TanhAlone):
        pass

    np.testing.assert_allclose(found, fitted(InFull).predict_survival(data, times), rtol=1e-4, atol=1e-5)
    monkeypatch.undo()
    assert np.abs(found - fitted(GeneralHazard).predict_survival(data, times)).max() > 1e-3


@pytest.mark.parametrize("change", ["hook", "frozen", "module", "forward"])
def test_only_the_stock_network_as_built_is_compiled(change: str) -> None:
    with seeded(0):
        net = GeneralHazard(Encoder(3), 8, 2)
    fast.choose(net)
    assert type(net.backend) is fast.Compiled
    layer = net.net[2]
    if change == "hook":
        layer.register_forward_hook(lambda module, args, out: 2 * out)
    elif change == "frozen":
        layer.weight.requires_grad_(False)
    elif change == "module":
        net.net[1] = nn.Tanh()
    else:
        net.forward = lambda Lambda, t, encoded: torch.ones_like(Lambda)  # type: ignore[method-assign]
    x, y = torch.randn(20, 3), torch.rand(20) + 0.1
    fast.choose(net)
    assert net.backend is None
    h = {"hook": "hooked", "forward": "one"}.get(change)
    Lambda = net.fastest.solve(net.encode(x, None), y, 8, 0.4).Lambda
    if h == "one":
        torch.testing.assert_close(Lambda, y)
    else:
        expected = ode.integrate(
            lambda at, t: softplus(nn.Sequential(*net.net)(torch.cat([at[:, None], t[:, None], x], 1))[:, 0]), y, 8, 0.4
        )[0]
        torch.testing.assert_close(Lambda, expected, rtol=1e-5, atol=1e-6)


class Gompertz(Hazard):
    """exp(a + b t): a closed form, Lambda = exp(a) (exp(b t) - 1) / b."""

    def __init__(self, encoder: Encoder, width: int, layers: int) -> None:
        super().__init__(encoder, width, layers)
        self.a, self.b = nn.Parameter(torch.tensor(0.2)), nn.Parameter(torch.tensor(0.5))

    def forward(self, Lambda: Tensor, t: Tensor, encoded: Tensor) -> Tensor:
        return torch.exp(self.a + self.b * t)


def test_everything_follows_from_forward() -> None:
    """Solution, likelihood, mesh and gradient against the closed form."""
    net = Gompertz(Encoder(1), 1, 1).double()
    y, x = torch.tensor([0.3, 1.0, 4.0], dtype=torch.float64), torch.zeros(3, 1, dtype=torch.float64)
    exact = math.exp(0.2) * (torch.exp(0.5 * y) - 1) / 0.5
    solution = net.solve(net.encode(x, None), y, 32, 1.0)
    torch.testing.assert_close(solution.Lambda, exact, rtol=1e-6, atol=0)
    event, weight = torch.tensor([1.0, 0.0, 1.0]).double(), torch.tensor([0.5, 0.25, 0.25]).double()
    loss = net.nll(net.encode(x, None), y, event, weight, 32, 1.0)
    torch.testing.assert_close(loss, (weight * (exact - event * (0.2 + 0.5 * y))).sum(), rtol=1e-6, atol=0)
    loss.backward()
    assert net.a.grad is not None
    torch.testing.assert_close(net.a.grad, (weight * (exact - event)).sum(), rtol=1e-6, atol=0)
    with torch.no_grad():
        at = net.dense(x, torch.tensor(4.0).double(), 64, 1.0).at(y)[:, 0]
    torch.testing.assert_close(at, exact, rtol=1e-6, atol=0)


class Negative(Gompertz):
    def forward(self, Lambda: Tensor, t: Tensor, encoded: Tensor) -> Tensor:
        return torch.where((t > 0.5) & (encoded[:, 0] > 1), -self.a, self.a)


class Infinite(Gompertz):
    def forward(self, Lambda: Tensor, t: Tensor, encoded: Tensor) -> Tensor:
        return self.a / (t - t)


@pytest.mark.parametrize(("hazard", "value"), [(Negative, "-0.2"), (Infinite, "inf|nan")])
def test_a_hazard_that_is_none_raises_with_time_and_subject(hazard: type[Hazard], value: str) -> None:
    net = hazard(Encoder(1), 1, 1)
    x, y = torch.tensor([[0.0], [2.0], [0.0]]), torch.tensor([1.0, 1.0, 1.0])
    with pytest.raises(BadHazard, match=rf"subject \d at time [\d.]+ is ({value}); .*softplus or exp") as caught:
        net.solve(net.encode(x, None), y, 8, 0.5)
    if hazard is Negative:
        assert caught.value.row == 1
        assert caught.value.time > 0.5


def test_a_hazard_of_another_shape_is_refused() -> None:
    class Wide(Gompertz):
        def forward(self, Lambda: Tensor, t: Tensor, encoded: Tensor) -> Tensor:
            return torch.ones(len(Lambda), 1)

    with pytest.raises(ValueError, match=r"one hazard per pair, \(3,\); got \(3, 1\)"):
        Wide(Encoder(1), 1, 1).solve(torch.zeros(3, 1), torch.ones(3), 4, 0.5)


def test_weights_are_built_in_float32_whatever_the_default() -> None:
    expected = fitted(GeneralHazard).predict_survival(simulated(40, 2), np.array([0.5]))
    torch.set_default_dtype(torch.float64)
    try:
        model = fitted(GeneralHazard)
        found = model.predict_survival(simulated(40, 2), np.array([0.5]))
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert next(model.net.parameters()).dtype == torch.float32
    np.testing.assert_array_equal(found, expected)


# The public API's examples


def test_the_examples_of_the_documentation_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every public method has one; they use the model of the class's own example."""
    monkeypatch.setenv("MPLBACKEND", "Agg")
    runner, parser = doctest.DocTestRunner(), doctest.DocTestParser()
    globs: dict[str, object] = {}
    lacking = []
    members = [("SODEN", soden.SODEN), *inspect.getmembers(soden.SODEN, inspect.isfunction)]
    members += [("load", soden.SODEN.load), ("incidence", incidence), ("warm_up", soden.warm_up)]
    members += [("SODENPH", soden.SODENPH), ("baseline_hazard", soden.SODENPH.baseline_hazard)]
    members += [("SODENCox", soden.SODENCox)]
    for name, member in members:
        text = inspect.getdoc(member) or ""
        if not name.startswith("_") and name not in ("get_params", "set_params", "get_metadata_routing"):
            if ">>>" not in text:
                lacking.append(name)
            test = parser.get_doctest(text, globs, name, None, None)
            runner.run(test, clear_globs=False)
            globs |= test.globs
    assert not lacking
    assert runner.summarize().failed == 0
