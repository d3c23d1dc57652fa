"""How a model solves its ODE while it trains: the fast scheme with error control, or the paper's own."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor

from soden.hazard import Hazard, Solution
from soden.likelihood import nll_terms
from soden.types import Diverged

TOLERANCE = 5e-3  # largest relative gap in Lambda between N and 2N steps that keeps N
BROKEN = 0.5  # a gap that the finest mesh must not leave


class Solver(ABC):
    """Lambda(y) and lambda(y) of a batch."""

    @abstractmethod
    def __call__(self, hazard: Hazard, x: Tensor, seq: Tensor | None, y: Tensor) -> Solution:
        """The solution as training sees it, differentiable."""

    def nll(self, hazard: Hazard, x: Tensor, seq: Tensor | None, y: Tensor, event: Tensor, weight: Tensor) -> Tensor:
        """The sum of weight (Lambda(y) - event log lambda(y)), differentiable."""
        solution = self(hazard, x, seq, y)
        return torch.dot(weight, nll_terms(solution.Lambda, hazard.log_lambda(solution), event))

    def checked(self, hazard: Hazard, x: Tensor, seq: Tensor | None, y: Tensor) -> tuple[Solution, float]:
        """A solution to judge a model by, and the relative error in Lambda of the one that training sees, if known."""
        return self(hazard, x, seq, y), math.nan

    def adapt(self, error: float) -> None:  # noqa: B027
        """Take note of the error after an epoch; Diverged if no mesh is fine enough."""


class FastSolver(Solver):
    """`steps` steps on the clock of `tau` (see `soden.ode`), more of them where the error asks for it."""

    def __init__(self, steps: int, most: int, tau: float) -> None:
        self.steps, self.least, self.most, self.tau = steps, steps, most, tau
        self.errors: list[tuple[int, float]] = []  # (steps, relative error in Lambda) after each epoch

    def __call__(self, hazard: Hazard, x: Tensor, seq: Tensor | None, y: Tensor) -> Solution:  # noqa: D102
        return hazard.fastest.solve(hazard.encode(x, seq), y, self.steps, self.tau)

    def nll(  # noqa: D102
        self, hazard: Hazard, x: Tensor, seq: Tensor | None, y: Tensor, event: Tensor, weight: Tensor
    ) -> Tensor:
        return hazard.fastest.nll(hazard.encode(x, seq), y, event, weight, self.steps, self.tau)

    @torch.no_grad()
    def checked(self, hazard: Hazard, x: Tensor, seq: Tensor | None, y: Tensor) -> tuple[Solution, float]:
        """The solution with twice the steps; its gap to the one with `steps` overstates the latter's error."""
        encoded = hazard.encode(x, seq)
        fine = hazard.fastest.solve(encoded, y, 2 * self.steps, self.tau)
        return fine, relative_gap(hazard.fastest.solve(encoded, y, self.steps, self.tau).Lambda, fine.Lambda)

    def adapt(self, error: float) -> None:
        """More steps when the error passes the tolerance, fewer when it is far below; give up at a broken one."""
        self.errors.append((self.steps, error))
        if TOLERANCE / 8 <= error <= TOLERANCE:
            return
        if self.steps >= self.most and not error <= BROKEN:
            raise Diverged(f"Lambda changes by {error:.0%} between {self.steps} and {2 * self.steps} steps")
        # The error falls like N^-3 or so: kinks of the ReLUs hold it above RK4's N^-4. Aim at half the tolerance.
        factor = (2 * error / TOLERANCE) ** (1 / 3) if error < math.inf else math.inf
        self.steps = math.ceil(self.steps * min(max(factor, 0.5), 3.0))
        self.steps = min(max(self.steps, self.least), self.most)


def relative_gap(coarse: Tensor, fine: Tensor) -> float:
    """max |coarse - fine| / (fine + 1e-3): the error in Lambda, relative where Lambda is not small; nan is infinite."""
    gap = float(((coarse - fine).abs() / (fine.abs() + 1e-3)).max())
    return math.inf if math.isnan(gap) else gap
