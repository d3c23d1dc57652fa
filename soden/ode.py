"""Solving Lambda' = h(Lambda, t; x), Lambda(0) = 0 (Section 3.1): Runge-Kutta 4 on a mesh graded towards t = 0.

Batches are time-rescaled (Section 3.2.2): subject i runs over s in [0, 1] with t = s y_i, so one mesh serves all.
Trained hazards are stiff near t = 0, where uniform steps of the same number are wrong by tens of per cent; s = (i/N)^2
puts the small steps there.

One step makes 4 sequential calls of h; N steps and the hazard at y make 4N + 1. Nothing is called in the backward
pass but matrix products over all 4N + 1 stages at once (see `soden.fused`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

Stage = Callable[[int, Tensor], Tensor]  # (stage number, Lambda) -> h
GRADING = 2.0


class Mesh(NamedTuple):
    """A mesh on [0, 1] as RK4 uses it."""

    steps: int
    ds: Tensor  # (N, 1) step lengths
    stages: Tensor  # (4N + 1, 1) where h is evaluated: start, middle, middle, end of each step, and s = 1


@lru_cache(maxsize=64)
def graded_mesh(steps: int, dtype: torch.dtype, device: torch.device, grading: float = GRADING) -> Mesh:
    """s_i = (i/N)^grading."""
    s = (torch.arange(steps + 1, dtype=torch.float64) / steps) ** grading
    middle = (s[1:] + s[:-1]) / 2
    stages = torch.cat([torch.stack([s[:-1], middle, middle, s[1:]], dim=1).reshape(-1), s[-1:]])
    return Mesh(steps, s.diff()[:, None].to(device, dtype), stages[:, None].to(device, dtype))


def rk4(stage: Stage, dt: Tensor, nodes: list[tuple[Tensor, Tensor]] | None = None) -> tuple[Tensor, Tensor]:
    """Lambda(y) and lambda(y) from step lengths dt (N, n); `nodes` collects (Lambda, lambda) at the steps' starts."""
    half, sixth = dt / 2, dt / 6
    Lambda = torch.zeros_like(dt[0])
    for i in range(len(dt)):
        k1 = stage(4 * i, Lambda)
        if nodes is not None:
            nodes.append((Lambda, k1))
        k2 = stage(4 * i + 1, torch.addcmul(Lambda, half[i], k1))
        k3 = stage(4 * i + 2, torch.addcmul(Lambda, half[i], k2))
        k4 = stage(4 * i + 3, torch.addcmul(Lambda, dt[i], k3))
        Lambda = torch.addcmul(Lambda, sixth[i], torch.add(k1 + k4, k2 + k3, alpha=2))
    return Lambda, stage(4 * len(dt), Lambda)


def stage_cotangents(J: Tensor, dt: Tensor, g_Lambda: Tensor, g_lambda: Tensor) -> Tensor:
    """d loss / d h at every stage, (4N + 1, n): the exact derivative of `rk4`, the discrete form of the adjoint a(t).

    J (4N + 1, n) is dh/dLambda at the stages. Lambda is one number per subject, so each step multiplies the cotangent
    by a known factor: all steps are treated at once and a cumulative product replaces the backward solve.
    """
    J1, J2, J3, J4 = J[:-1].view(-1, 4, J.shape[1]).unbind(1)
    half, third, sixth = dt / 2, dt / 3, dt / 6
    c4 = sixth
    u4 = c4 * J4
    c3 = torch.addcmul(third, dt, u4)
    u3 = c3 * J3
    c2 = torch.addcmul(third, half, u3)
    u2 = c2 * J2
    c1 = torch.addcmul(sixth, half, u2)
    gain = torch.addcmul(1 + u2 + u3 + u4, c1, J1)
    end = torch.addcmul(g_Lambda, g_lambda, J[-1])
    # after[i] = d loss / d Lambda at the end of step i.
    after = torch.cat([gain[1:], end[None]]).flip(0).cumprod(0).flip(0)
    c = torch.stack([c1, c2, c3, c4], dim=1).mul_(after[:, None])
    return torch.cat([c.view(-1, J.shape[1]), g_lambda[None]])


def integrate(h: Callable[[Tensor, Tensor], Tensor], y: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    """Lambda(y), lambda(y) of any hazard h(Lambda, t), differentiable by autograd."""
    mesh = graded_mesh(steps, y.dtype, y.device)
    t = (mesh.stages * y).unbind(0)
    return rk4(lambda k, Lambda: h(Lambda, t[k]), mesh.ds * y)


class Dense(NamedTuple):
    """Lambda and lambda at shared times, and cubic Hermite interpolation between them."""

    t: Tensor  # (m,) increasing from 0
    Lambda: Tensor  # (m, n)
    lam: Tensor  # (m, n)

    def at(self, times: Tensor) -> Tensor:
        """Lambda at `times` (any order, within the mesh), (k, n); never decreasing in time.

        Slopes are cut at three times the panel's rise over its width, which makes a cubic monotone (Fritsch and
        Carlson 1980); where the mesh resolves the solution nothing is cut.
        """
        right = torch.searchsorted(self.t, times, right=True).clamp(1, len(self.t) - 1)
        width = (self.t[right] - self.t[right - 1])[:, None]
        u = ((times - self.t[right - 1])[:, None] / width).clamp(0, 1)
        start, rise = self.Lambda[right - 1], self.Lambda[right] - self.Lambda[right - 1]
        slope0 = torch.minimum(self.lam[right - 1] * width, 3 * rise)
        slope1 = torch.minimum(self.lam[right] * width, 3 * rise)
        # Horner in u of the cubic with these end values and slopes.
        cubic = slope0 + slope1 - 2 * rise
        square = 3 * rise - 2 * slope0 - slope1
        inside = torch.addcmul(slope0, u, torch.addcmul(square, u, cubic))
        return torch.addcmul(start, u, inside)


LARGEST = 1e6  # exp(-1e6) is 0 in any float: beyond this Lambda says nothing, and must not become inf - inf


def dense(h: Callable[[Tensor, Tensor], Tensor], n: int, t_max: Tensor, steps: int) -> Dense:
    """The solutions of n subjects on one graded mesh over [0, t_max]; 4 `steps` + 1 calls of h on (n,) each."""
    mesh = graded_mesh(steps, t_max.dtype, t_max.device)
    t = (mesh.stages * t_max).expand(-1, n).unbind(0)
    nodes: list[tuple[Tensor, Tensor]] = []

    def bounded(k: int, Lambda: Tensor) -> Tensor:
        return h(Lambda.clamp(max=LARGEST), t[k]).clamp(max=LARGEST)

    nodes.append(rk4(bounded, (mesh.ds * t_max).expand(-1, n), nodes))
    Lambda, lam = (torch.stack(part) for part in zip(*nodes, strict=True))
    ends = torch.cat([mesh.stages[:-1:4, 0], mesh.stages[-1:, 0]]) * t_max
    return Dense(ends, Lambda.clamp(max=LARGEST), lam)
