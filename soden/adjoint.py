"""The paper's own scheme through torchdiffeq, kept as the reference that the fast one is compared with."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from soden.hazard import Hazard, SeparableHazard, Solution
from soden.solver import Solver
from soden.types import Diverged

RTOL, ATOL = 1e-4, 1e-8


class Carried(nn.Module):
    """d/ds [Lambda, y, features] = [y h(Lambda, s y; x), 0, 0]: the state carries time and features, as the authors do.

    A separable hazard's state is [Lambda_0, y], the integral of the baseline alone.
    """

    def __init__(self, hazard: Hazard) -> None:
        super().__init__()
        self.net = hazard

    def hazard(self, s: Tensor, state: Tensor) -> Tensor:
        """h, or the baseline, (n, 1)."""
        Lambda, t = state[:, 0], s * state[:, 1]
        h = self.net.h0(t) if isinstance(self.net, SeparableHazard) else self.net(Lambda, t, state[:, 2:])
        return h[:, None]

    def forward(self, s: Tensor, state: Tensor) -> Tensor:  # noqa: D102
        return torch.cat([self.hazard(s, state) * state[:, 1:2], torch.zeros_like(state[:, 1:])], dim=1)


class AdjointSolver(Solver):
    """dopri5 (rtol 1e-4, atol 1e-8), gradients by the adjoint ODE of Appendix A."""

    def __call__(self, hazard: Hazard, x: Tensor, seq: Tensor | None, y: Tensor) -> Solution:  # noqa: D102
        from torchdiffeq import odeint_adjoint

        span = torch.tensor([0.0, 1.0], dtype=y.dtype, device=y.device)
        encoded, function = hazard.encode(x, seq), Carried(hazard)
        start = torch.stack([torch.zeros_like(y), y], dim=1)
        if isinstance(hazard, SeparableHazard):
            parameters = list(hazard.baseline.parameters())
        else:
            start = torch.cat([start, encoded], dim=1)
            parameters = [p for name, p in hazard.named_parameters() if not name.startswith("encoder.")]
        try:
            end = odeint_adjoint(
                function,
                start,
                span,
                rtol=RTOL,
                atol=ATOL,
                method="dopri5",
                adjoint_params=parameters,
            )[1]
        except AssertionError as error:  # torchdiffeq's "underflow in dt"
            raise Diverged(f"the adaptive solver failed: {error}") from error
        lam = function.hazard(span[1], end)[:, 0]  # not the right-hand side over y: a subject may enter at 0
        if not isinstance(hazard, SeparableHazard):
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
