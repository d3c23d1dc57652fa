"""Series: a one-layer GRU whose last state joins the static features (Section 5.4).

Compiled for float32 on a CPU as `soden.compiled` has it, torch's own otherwise; the parameters are torch.nn.GRU's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from soden.compiled import array, borrow, give_back, serves
from soden.nets import Encoder


class SeriesEncoder(Encoder):
    """Static features and the last state of a GRU over the series."""

    def __init__(self, static: int, channels: int, width: int) -> None:
        super().__init__(static + width)
        self.gru = nn.GRU(channels, width, batch_first=True)

    def forward(self, x: Tensor, seq: Tensor | None = None) -> Tensor:
        """(n, static), (n, steps, channels) -> (n, outputs)."""
        if seq is None:
            raise ValueError("this network was built for subjects with series; pass seq")
        channels = self.gru.input_size
        if seq.ndim != 3 or seq.shape[1] == 0 or seq.shape[2] != channels:
            raise ValueError(
                f"seq must have shape (subjects, steps, {channels}), one step or more; got {(*seq.shape,)}"
            )
        return torch.cat([x, last_state(self.gru, seq)], dim=1)


def last_state(gru: nn.GRU, seq: Tensor) -> Tensor:
    """The state after the last step, (n, width)."""
    parameters = list(gru.parameters())
    if not serves(seq, *parameters) or seq.requires_grad:
        last: Tensor = gru(seq)[1][0]
    elif torch.is_grad_enabled():
        last = _LastState.apply(seq, *parameters)  # type: ignore[no-untyped-call]
    else:
        from soden.kernels.gru import TOGETHER, forward, size

        space = borrow(size(TOGETHER, seq.shape[1], gru.hidden_size, gru.input_size))
        weights = (array(p) for p in parameters)
        last = torch.from_numpy(forward(np.ascontiguousarray(array(seq)), *weights, space, False))
        give_back(space)
    return last


class _LastState(torch.autograd.Function):
    """The same with gradients by the four parameters: W_ih, W_hh, b_ih, b_hh."""

    @staticmethod
    def forward(ctx: Any, seq: Tensor, *parameters: Tensor) -> Tensor:
        from soden.kernels import gru

        W_x, W_h, b_x, b_h = (array(p) for p in parameters)
        n, steps, channels = seq.shape
        ctx.kept, ctx.space = (W_h, steps, channels), borrow(gru.size(n, steps, W_h.shape[1], channels))
        return torch.from_numpy(gru.forward(np.ascontiguousarray(array(seq)), W_x, W_h, b_x, b_h, ctx.space, True))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g_last: Tensor) -> tuple[Tensor | None, ...]:
        from soden.kernels import gru

        if ctx.space is None:
            raise RuntimeError("the gradient of a series was taken already, and what it needs is gone; encode it again")
        gradients = gru.backward(np.ascontiguousarray(array(g_last)), *ctx.kept, ctx.space)
        give_back(ctx.space)
        ctx.space = None
        return None, *(torch.from_numpy(g) for g in gradients)
