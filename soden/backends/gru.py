"""The last state of a GRU and its derivative, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from soden.backends import array, borrow, give_back, serves
from soden.nets import altered


def fits(gru: nn.GRU) -> bool:
    """True if the kernels compute this GRU: torch's own class, one layer, one direction, biases, no hooks, float32."""
    plain = gru.num_layers == 1 and gru.bias and gru.batch_first and not gru.bidirectional and not gru.proj_size
    return type(gru) is nn.GRU and plain and not altered(gru) and serves(*gru.parameters())


def last_state(gru: nn.GRU, seq: Tensor) -> Tensor:
    """The state after the last step, (n, width); by torch where type or device are others."""
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
