"""The three hazards of the paper: SODEN, integrated by RK4, SODEN-PH and SODEN-Cox, by quadrature.

To try another hazard, write a subclass of `Hazard` with one method, `forward`. The rest follows from it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, softplus

from soden import ode
from soden.likelihood import floored_log, nll_terms
from soden.nets import MLP, Encoder
from soden.quadrature import cumulative

if TYPE_CHECKING:
    from soden.backends.ode import InTorch


class Solution(NamedTuple):
    """What the likelihood may need of a solved batch, one row per subject."""

    Lambda: Tensor  # at y
    lam: Tensor  # at y
    encoded: Tensor  # what `encode` made of the features
    h0: Tensor | None = None  # the baseline at y, for hazards that have one


class BadHazard(ValueError):
    """A hazard that is negative, or not finite although Lambda is; `row` counts within the rows it was computed for."""

    def __init__(self, row: int, time: float, value: float) -> None:
        self.row, self.time, self.value = row, time, value
        super().__init__(
            f"the hazard of subject {row} at time {time:g} is {value:g}; a hazard is a finite number of at least 0: "
            "end `forward` with softplus or exp, and check it for divisions by 0"
        )


class Hazard(nn.Module, ABC):
    """lambda_x(t) = h(Lambda, t; x). A subclass needs `forward` alone; all other methods follow from it."""

    backend: InTorch | None = None  # computes solve, nll and dense instead of these methods; see soden.backends

    def __init__(self, encoder: Encoder, width: int, layers: int) -> None:
        super().__init__()
        self.encoder = encoder

    @abstractmethod
    def forward(self, Lambda: Tensor, t: Tensor, encoded: Tensor) -> Tensor:
        """h at (..., n) pairs of Lambda and t of the n encoded subjects, of the same shape: at least 0."""

    @property
    def fastest(self) -> Hazard | InTorch:
        """Where to call solve, nll and dense: the backend if there is one, else these methods."""
        return self if self.backend is None else self.backend

    def encode(self, x: Tensor, seq: Tensor | None) -> Tensor:
        """What depends on the features alone, one row per subject: the encoder's outputs."""
        out: Tensor = self.encoder(x, seq)
        return out

    def solve(self, encoded: Tensor, y: Tensor, steps: int, tau: float) -> Solution:
        """Lambda(y) and lambda(y) by RK4 with `steps` steps of the clock of `tau`; differentiable."""
        return Solution(*ode.integrate(self._checked(encoded), y, steps, tau), encoded)

    def log_lambda(self, solution: Solution) -> Tensor:
        """log lambda(y) as the likelihood takes it."""
        return floored_log(solution.lam)

    def nll(self, encoded: Tensor, y: Tensor, event: Tensor, weight: Tensor, steps: int, tau: float) -> Tensor:
        """The sum of weight (Lambda(y) - event log lambda(y)), by the same scheme."""
        solution = self.solve(encoded, y, steps, tau)
        return torch.dot(weight, nll_terms(solution.Lambda, self.log_lambda(solution), event))

    def dense(self, encoded: Tensor, t_max: Tensor, steps: int, tau: float) -> ode.Dense:
        """Lambda and lambda on a mesh over [0, t_max] of `steps` panels."""
        return ode.dense(self._checked(encoded), len(encoded), t_max, steps, tau)

    def _checked(self, encoded: Tensor) -> ode.HazardFunction:
        """h(Lambda, t) of these subjects, which raises BadHazard; on a GPU it does not look, since that would wait."""

        def h(Lambda: Tensor, t: Tensor) -> Tensor:
            lam: Tensor = self(Lambda, t, encoded)
            if lam.shape != Lambda.shape:
                raise ValueError(f"forward must return one hazard per pair, {(*Lambda.shape,)}; got {(*lam.shape,)}")
            if lam.is_cpu:
                # Where Lambda has blown up so may h: the loss says so.
                bad = ((lam < 0) | ~torch.isfinite(lam)) & (Lambda.abs() < ode.LARGEST)
                if bad.any():
                    row = int(bad.nonzero()[0, -1])
                    raise BadHazard(row, float(t[row]), float(lam.detach()[row]))
            return lam

        return h


class GeneralHazard(Hazard):
    """SODEN: h is one MLP on [Lambda, t, x] with a Softplus output."""

    def __init__(self, encoder: Encoder, width: int, layers: int) -> None:
        super().__init__(encoder, width, layers)
        self.net = MLP(2 + encoder.outputs, width, layers, 1)

    def forward(self, Lambda: Tensor, t: Tensor, encoded: Tensor) -> Tensor:  # noqa: D102
        if not self.net.as_built():  # somebody's own network: all of its modules count
            features = encoded.expand(*Lambda.shape, encoded.shape[-1])
            return softplus(self.net(torch.cat([Lambda[..., None], t[..., None], features], dim=-1))[..., 0])
        return self.after_features(self.of_features(encoded), Lambda, t)

    def of_features(self, encoded: Tensor) -> Tensor:
        """The x-part of the first layer and its bias, (n, width): it is the same at every time."""
        first = self.net.first
        return linear(encoded, first.weight[:, 2:], first.bias)

    def after_features(self, z: Tensor, Lambda: Tensor, t: Tensor) -> Tensor:
        """h from what `of_features` gave."""
        w = self.net.first.weight[:, :2]
        return self.of_hidden(torch.addcmul(z + Lambda[..., None] * w[:, 0], t[..., None], w[:, 1]))

    def of_hidden(self, hidden: Tensor, keep: list[Tensor] | None = None) -> Tensor:
        """h from the first layer's outputs, which are overwritten; the outputs of all ReLUs are added to `keep`."""
        for layer in self.net.linears()[1:]:
            hidden = hidden.relu_()
            if keep is not None:
                keep.append(hidden)
            hidden = linear(hidden, layer.weight, layer.bias)
        return softplus(hidden[..., 0])


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
