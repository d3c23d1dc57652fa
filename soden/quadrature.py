"""Integrals of a baseline hazard h0(t) at many times at once, for hazards that do not depend on Lambda."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from soden.ode import clock

GAUSS = 0.5 / 3**0.5  # the two Gauss-Legendre nodes of [0, 1] are 1/2 +- this, both of weight 1/2


def cumulative(h0: Callable[[Tensor], Tensor], y: Tensor, steps: int, tau: float) -> tuple[Tensor, Tensor]:
    """The integral of h0 over [0, y_i], and h0(y_i), for times y (n,) in any order; one call of h0.

    Two Gauss nodes in each panel between the sorted times and a cumulative sum; the ends of `steps` steps of the
    clock up to max(y) are added so that small batches leave no wide panel.
    """
    ends = y
    if steps:
        ends = torch.cat([y, clock(y.max().view(1), steps, tau)[1:, 0]])
    sorted_ends, order = torch.sort(ends)
    width = torch.diff(sorted_ends, prepend=sorted_ends.new_zeros(1))
    middle = sorted_ends - width / 2
    h = h0(torch.cat([middle - GAUSS * width, middle + GAUSS * width, y]))
    m = len(ends)
    total = torch.cumsum((h[:m] + h[m : 2 * m]) * (width / 2), 0)
    rank = torch.empty_like(order).scatter_(0, order, torch.arange(m, device=y.device))
    return total[rank[: len(y)]], h[2 * m :]
