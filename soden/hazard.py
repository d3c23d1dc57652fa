"""The three hazards of the paper and how each is integrated: SODEN by RK4, SODEN-PH and SODEN-Cox by quadrature."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, softplus

from soden import compiled, ode
from soden.fused import FusedSolve, compiled_nll, compiled_nodes, compiled_solve
from soden.likelihood import floored_log, nll_terms
from soden.nets import MLP, Encoder
from soden.quadrature import cumulative


class Solution(NamedTuple):
    """What the likelihood may need of a solved batch, one row per subject."""

    Lambda: Tensor  # at y
    lam: Tensor  # at y
    encoded: Tensor  # what `encode` made of the features
    h0: Tensor | None = None  # the baseline at y, for hazards that have one


class Hazard(nn.Module, ABC):
    """lambda_x(t) = h(Lambda, t; x); `encoded` is what `encode` made of the features, once per batch."""

    encoder: Encoder

    def __init__(self, encoder: Encoder, width: int, layers: int) -> None:
        super().__init__()
        self.encoder = encoder

    @abstractmethod
    def encode(self, x: Tensor, seq: Tensor | None) -> Tensor:
        """What depends on the features alone, one row per subject."""

    @abstractmethod
    def forward(self, Lambda: Tensor, t: Tensor, encoded: Tensor) -> Tensor:
        """h at (..., n) pairs of Lambda and t of the n encoded subjects."""

    @abstractmethod
    def solve(self, encoded: Tensor, y: Tensor, steps: int, tau: float) -> Solution:
        """Lambda(y), lambda(y) by the fast scheme: `steps` steps of the clock of `tau`; differentiable."""

    def log_lambda(self, solution: Solution) -> Tensor:
        """log lambda(y) as the likelihood takes it."""
        return floored_log(solution.lam)

    def nll(self, encoded: Tensor, y: Tensor, event: Tensor, weight: Tensor, steps: int, tau: float) -> Tensor:
        """The sum of weight (Lambda(y) - event log lambda(y)), by the same scheme."""
        solution = self.solve(encoded, y, steps, tau)
        return torch.dot(weight, nll_terms(solution.Lambda, self.log_lambda(solution), event))

    @abstractmethod
    def dense(self, encoded: Tensor, t_max: Tensor, steps: int, tau: float) -> ode.Dense:
        """Lambda and lambda on a mesh over [0, t_max] of `steps` panels."""


class GeneralHazard(Hazard):
    """SODEN: h is one MLP on [Lambda, t, x] with a Softplus output."""

    def __init__(self, encoder: Encoder, width: int, layers: int) -> None:
        super().__init__(encoder, width, layers)
        self.net = MLP(2 + encoder.outputs, width, layers, 1)

    def encode(self, x: Tensor, seq: Tensor | None) -> Tensor:
        """The encoder's outputs."""
        out: Tensor = self.encoder(x, seq)
        return out

    def forward(self, Lambda: Tensor, t: Tensor, encoded: Tensor) -> Tensor:  # noqa: D102
        return self._after(self._of_features(encoded), Lambda, t)

    def _of_features(self, encoded: Tensor) -> Tensor:
        """The x-part of the first layer and its bias, (n, width): it is the same at every time."""
        first = self.net.first
        return linear(encoded, first.weight[:, 2:], first.bias)

    def _after(self, z: Tensor, Lambda: Tensor, t: Tensor) -> Tensor:
        first, *others = self.net.linears()
        w = first.weight[:, :2]
        hidden = torch.addcmul(z + Lambda[..., None] * w[:, 0], t[..., None], w[:, 1])
        for layer in others:
            hidden = layer(hidden.relu_())
        return softplus(hidden[..., 0])

    def solve(self, encoded: Tensor, y: Tensor, steps: int, tau: float) -> Solution:
        """4 `steps` + 1 sequential network calls forward, none backward."""
        if self._compiled(encoded, y) and not torch.is_grad_enabled():
            return Solution(*compiled_solve(self.net, encoded, y, steps, tau), encoded)
        z = self._of_features(encoded)
        if torch.is_grad_enabled():
            first, *others = self.net.linears()
            weights = [p for layer in others for p in (layer.weight, layer.bias)]
            mesh = ode.make_mesh(y, steps, tau)
            Lambda, lam = FusedSolve.apply(z, mesh, first.weight[:, :2].t(), *weights)  # type: ignore[no-untyped-call]
        else:
            Lambda, lam = ode.integrate(lambda Lambda, t: self._after(z, Lambda, t), y, steps, tau)
        return Solution(Lambda, lam, encoded)

    def nll(self, encoded: Tensor, y: Tensor, event: Tensor, weight: Tensor, steps: int, tau: float) -> Tensor:
        """As all hazards', in one go where it can be."""
        if self._compiled(encoded, y, event, weight) and torch.is_grad_enabled():
            return compiled_nll(self.net, encoded, y, event, weight, steps, tau)
        return super().nll(encoded, y, event, weight, steps, tau)

    def _compiled(self, *tensors: Tensor) -> bool:
        return compiled.serves(*tensors, self.net.first.weight)

    def dense(self, encoded: Tensor, t_max: Tensor, steps: int, tau: float) -> ode.Dense:
        """4 `steps` + 1 sequential network calls."""
        if self._compiled(encoded, t_max) and not torch.is_grad_enabled():
            mesh = ode.make_mesh(t_max.view(1), steps, tau)
            t, dt = mesh.t[:, 0], mesh.dt[:, 0]
            return ode.Dense(t[::4].contiguous(), *compiled_nodes(self.net, encoded, t, dt, ode.LARGEST))
        z = self._of_features(encoded)
        return ode.dense(lambda Lambda, t: self._after(z, Lambda, t), len(encoded), t_max, steps, tau)


class SeparableHazard(Hazard):
    """h0(t) times a factor of x: no ODE, one integral of h0 for all subjects (SODEN-PH and SODEN-Cox)."""

    def __init__(self, encoder: Encoder, width: int, layers: int) -> None:
        super().__init__(encoder, width, layers)
        self.baseline = MLP(1, width, layers, 1)

    @abstractmethod
    def factor(self, encoded: Tensor) -> Tensor:
        """What the baseline is multiplied by, (n,)."""

    def h0(self, t: Tensor) -> Tensor:
        """The baseline hazard at times of any shape."""
        return softplus(self.baseline(t.reshape(-1, 1))[:, 0]).view(t.shape)

    def forward(self, Lambda: Tensor, t: Tensor, encoded: Tensor) -> Tensor:  # noqa: D102
        return self.h0(t) * self.factor(encoded)

    def solve(self, encoded: Tensor, y: Tensor, steps: int, tau: float) -> Solution:
        """One call of h0, on 3n + 2 `steps` times."""
        H0, h0 = cumulative(self.h0, y, steps, tau)
        factor = self.factor(encoded)
        return Solution(H0 * factor, h0 * factor, encoded, h0)

    def dense(self, encoded: Tensor, t_max: Tensor, steps: int, tau: float) -> ode.Dense:
        """One call of h0."""
        t = ode.clock(t_max.view(1), steps, tau)[1:, 0]
        H0, h0 = cumulative(self.h0, t, 0, tau)
        zero = t.new_zeros(1)
        H0, h0 = torch.cat([zero, H0]), torch.cat([self.h0(zero), h0])
        factor = self.factor(encoded)
        return ode.Dense(torch.cat([zero, t]), torch.outer(H0, factor), torch.outer(h0, factor))


class PHHazard(SeparableHazard):
    """SODEN-PH: h0(t) g(x), both MLPs with a Softplus output."""

    def __init__(self, encoder: Encoder, width: int, layers: int) -> None:
        super().__init__(encoder, width, layers)
        self.risk = MLP(encoder.outputs, width, layers, 1)

    def encode(self, x: Tensor, seq: Tensor | None) -> Tensor:
        """g(x)."""
        return softplus(self.risk(self.encoder(x, seq))[:, 0])

    def factor(self, encoded: Tensor) -> Tensor:  # noqa: D102
        return encoded


class CoxHazard(SeparableHazard):
    """SODEN-Cox: h0(t) exp(x beta), with x beta cut at 10 and beta ~ N(0, 1/p) at the start, as the authors do."""

    def __init__(self, encoder: Encoder, width: int, layers: int) -> None:
        super().__init__(encoder, width, layers)
        self.beta = nn.Parameter(torch.randn(encoder.outputs) / encoder.outputs**0.5)

    def encode(self, x: Tensor, seq: Tensor | None) -> Tensor:
        """x beta."""
        log_risk: Tensor = self.encoder(x, seq) @ self.beta
        return log_risk

    def factor(self, encoded: Tensor) -> Tensor:  # noqa: D102
        return torch.exp(encoded.clamp(max=10))
