"""The three hazards of the paper and how each is integrated: SODEN by RK4, SODEN-PH and SODEN-Cox by quadrature."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, softplus

from soden import ode
from soden.fused import FusedSolve
from soden.nets import MLP, Encoder
from soden.quadrature import cumulative

SOLVERS = ("fast", "adjoint", "direct")


class Hazard(nn.Module):
    """lambda_x(t) = h(Lambda, t; x); `encoded` is what `encode` made of the features, once per batch."""

    encoder: Encoder

    @abstractmethod
    def encode(self, x: Tensor, seq: Tensor | None) -> Tensor:
        """Everything that depends on the features alone."""

    @abstractmethod
    def forward(self, Lambda: Tensor, t: Tensor, encoded: Tensor) -> Tensor:
        """h at (..., n) pairs of Lambda and t of the n encoded subjects."""

    @abstractmethod
    def solve(self, encoded: Tensor, y: Tensor, steps: int, tau: float) -> tuple[Tensor, Tensor]:
        """Lambda(y), lambda(y), each (n,), by the fast scheme: `steps` steps of the clock of `tau`; differentiable."""

    @abstractmethod
    def dense(self, encoded: Tensor, t_max: Tensor, steps: int, tau: float) -> ode.Dense:
        """Lambda and lambda on a mesh over [0, t_max] of `steps` panels."""


class GeneralHazard(Hazard):
    """SODEN: h is one MLP on [Lambda, t, x] with a Softplus output."""

    def __init__(self, encoder: Encoder, width: int, layers: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.net = MLP(2 + encoder.outputs, width, layers, 1)

    def encode(self, x: Tensor, seq: Tensor | None) -> Tensor:
        """The x-part of the first layer and its bias, (n, width): it is the same at every time."""
        first = self._linears()[0]
        return linear(self.encoder(x, seq), first.weight[:, 2:], first.bias)

    def forward(self, Lambda: Tensor, t: Tensor, encoded: Tensor) -> Tensor:  # noqa: D102
        first, *others = self._linears()
        w = first.weight[:, :2]
        hidden = torch.addcmul(encoded + Lambda[..., None] * w[:, 0], t[..., None], w[:, 1])
        for layer in others:
            hidden = layer(hidden.relu_())
        return softplus(hidden[..., 0])

    def solve(self, encoded: Tensor, y: Tensor, steps: int, tau: float) -> tuple[Tensor, Tensor]:
        """4 `steps` + 1 sequential network calls forward, none backward."""
        first, *others = self._linears()
        weights = [p for layer in others for p in (layer.weight, layer.bias)]
        if torch.is_grad_enabled():
            return FusedSolve.apply(encoded, ode.make_mesh(y, steps, tau), first.weight[:, :2].t(), *weights)  # type: ignore[no-any-return, no-untyped-call]
        return ode.integrate(lambda Lambda, t: self(Lambda, t, encoded), y, steps, tau)

    def dense(self, encoded: Tensor, t_max: Tensor, steps: int, tau: float) -> ode.Dense:
        """4 `steps` + 1 sequential network calls."""
        return ode.dense(lambda Lambda, t: self(Lambda, t, encoded), len(encoded), t_max, steps, tau)

    def _linears(self) -> list[nn.Linear]:
        return [layer for layer in self.net if isinstance(layer, nn.Linear)]


class SeparableHazard(Hazard):
    """h0(t) times a factor of x: no ODE, one integral of h0 for all subjects (SODEN-PH and SODEN-Cox)."""

    def __init__(self, encoder: Encoder, width: int, layers: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.baseline = MLP(1, width, layers, 1)

    def h0(self, t: Tensor) -> Tensor:
        """The baseline hazard at times of any shape."""
        return softplus(self.baseline(t[..., None])[..., 0])

    def forward(self, Lambda: Tensor, t: Tensor, encoded: Tensor) -> Tensor:  # noqa: D102
        return self.h0(t) * encoded

    def solve(self, encoded: Tensor, y: Tensor, steps: int, tau: float) -> tuple[Tensor, Tensor]:
        """One call of h0, on 3n + 2 `steps` times."""
        H0, h0 = cumulative(self.h0, y, steps, tau)
        return H0 * encoded, h0 * encoded

    def dense(self, encoded: Tensor, t_max: Tensor, steps: int, tau: float) -> ode.Dense:
        """One call of h0."""
        t = ode.clock(t_max.view(1), steps, tau)[1:, 0]
        H0, h0 = cumulative(self.h0, t, 0, tau)
        zero = t.new_zeros(1)
        H0, h0 = torch.cat([zero, H0]), torch.cat([self.h0(zero), h0])
        return ode.Dense(torch.cat([zero, t]), torch.outer(H0, encoded), torch.outer(h0, encoded))


class PHHazard(SeparableHazard):
    """SODEN-PH: h0(t) g(x), both MLPs with a Softplus output."""

    def __init__(self, encoder: Encoder, width: int, layers: int) -> None:
        super().__init__(encoder, width, layers)
        self.risk = MLP(encoder.outputs, width, layers, 1)

    def encode(self, x: Tensor, seq: Tensor | None) -> Tensor:
        """g(x)."""
        return softplus(self.risk(self.encoder(x, seq))[:, 0])


class CoxHazard(SeparableHazard):
    """SODEN-Cox: h0(t) exp(x beta), with x beta cut at 10 and beta ~ N(0, 1/p) at the start, as the authors do."""

    def __init__(self, encoder: Encoder, width: int, layers: int) -> None:
        super().__init__(encoder, width, layers)
        self.beta = nn.Parameter(torch.randn(encoder.outputs) / encoder.outputs**0.5)

    def encode(self, x: Tensor, seq: Tensor | None) -> Tensor:
        """exp(x beta)."""
        return torch.exp((self.encoder(x, seq) @ self.beta).clamp(max=10))
