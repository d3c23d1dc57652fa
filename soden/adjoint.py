"""The paper's own scheme through torchdiffeq, kept as the reference that the fast one is compared with."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from soden.hazard import GeneralHazard, Hazard, SeparableHazard, Solution
from soden.solver import Solver
from soden.types import Diverged

RTOL, ATOL = 1e-4, 1e-8


class CarriedFeatures(nn.Module):
    """d/ds [Lambda, y, x] = [y h(Lambda, s y; x), 0, 0]: the state carries time and features, as the authors do."""

    def __init__(self, hazard: GeneralHazard) -> None:
        super().__init__()
        self.layers = nn.Sequential(*hazard.net)  # torch's own layers: an adjoint differentiates outside of training

    def hazard(self, s: Tensor, state: Tensor) -> Tensor:
        """h, (n, 1)."""
        Lambda, y, x = state[:, :1], state[:, 1:2], state[:, 2:]
        return nn.functional.softplus(self.layers(torch.cat([Lambda, s * y, x], dim=1)))

    def forward(self, s: Tensor, state: Tensor) -> Tensor:  # noqa: D102
        return torch.cat([self.hazard(s, state) * state[:, 1:2], torch.zeros_like(state[:, 1:])], dim=1)


class CarriedTime(nn.Module):
    """d/ds [Lambda_0, y] = [y h0(s y), 0]."""

    def __init__(self, hazard: SeparableHazard) -> None:
        super().__init__()
        self.layers = nn.Sequential(*hazard.baseline)

    def hazard(self, s: Tensor, state: Tensor) -> Tensor:
        """h0, (n, 1)."""
        return nn.functional.softplus(self.layers(s * state[:, 1:]))

    def forward(self, s: Tensor, state: Tensor) -> Tensor:  # noqa: D102
        y = state[:, 1:]
        return torch.cat([self.hazard(s, state) * y, torch.zeros_like(y)], dim=1)


class AdjointSolver(Solver):
    """dopri5 (rtol 1e-4, atol 1e-8), gradients by the adjoint ODE of Appendix A."""

    def __call__(self, hazard: Hazard, x: Tensor, seq: Tensor | None, y: Tensor) -> Solution:  # noqa: D102
        from torchdiffeq import odeint_adjoint

        span = torch.tensor([0.0, 1.0], dtype=y.dtype, device=y.device)
        zero, encoded = torch.zeros_like(y), hazard.encode(x, seq)
        if isinstance(hazard, GeneralHazard):
            start = torch.cat([zero[:, None], y[:, None], encoded], dim=1)
            function: CarriedFeatures | CarriedTime = CarriedFeatures(hazard)
        elif isinstance(hazard, SeparableHazard):
            start, function = torch.stack([zero, y], dim=1), CarriedTime(hazard)
        else:
            raise TypeError(f"the adjoint solver knows SODEN, SODEN-PH and SODEN-Cox; got {type(hazard).__name__}")
        try:
            end = odeint_adjoint(function, start, span, rtol=RTOL, atol=ATOL, method="dopri5")[1]
        except AssertionError as error:  # torchdiffeq's "underflow in dt"
            raise Diverged(f"the adaptive solver failed: {error}") from error
        lam = function.hazard(span[1], end)[:, 0]  # not the right-hand side over y: a subject may enter at 0
        if isinstance(hazard, GeneralHazard):
            return Solution(end[:, 0], lam, encoded)
        factor = hazard.factor(encoded)
        return Solution(end[:, 0] * factor, lam * factor, encoded, lam)


class DirectSolver(Solver):
    """The same dopri5 with Lambda as the only state, back-propagated through its steps."""

    def __call__(self, hazard: Hazard, x: Tensor, seq: Tensor | None, y: Tensor) -> Solution:  # noqa: D102
        from torchdiffeq import odeint

        span = torch.tensor([0.0, 1.0], dtype=y.dtype, device=y.device)
        encoded = hazard.encode(x, seq)
        try:
            end = odeint(
                lambda s, Lambda: hazard(Lambda, s * y, encoded) * y,
                torch.zeros_like(y),
                span,
                rtol=RTOL,
                atol=ATOL,
                method="dopri5",
            )[1]
        except AssertionError as error:
            raise Diverged(f"the adaptive solver failed: {error}") from error
        h0 = hazard.h0(y) if isinstance(hazard, SeparableHazard) else None
        return Solution(end, hazard(end, y, encoded), encoded, h0)
