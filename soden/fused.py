"""The fast solve of SODEN: RK4 forward without autograd, then one hand-written backward pass over all stages.

The forward pass makes 4N + 1 sequential network calls of 2 kernels per layer and stores their activations. The
backward pass has no sequence: with unit seeds it back-propagates through all stages as one batch of (4N + 1) n rows,
which gives dh/dLambda; `stage_cotangents` turns these scalars into the weight of each row; three matrix products per
layer then give the exact gradient of the discretised loss. Memory: (4N + 1) n (width * layers + 4) numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from soden.ode import Mesh, rk4, stage_cotangents


class FusedSolve(torch.autograd.Function):
    """(z, mesh, w, W_2, b_2, ..., W_out, b_out) -> Lambda(y), lambda(y).

    z (n, width) is the x-part of the first layer with its bias, w (2, width) its weights of Lambda and t.
    """

    @staticmethod
    def forward(ctx: Any, z: Tensor, mesh: Mesh, w: Tensor, *layers: Tensor) -> tuple[Tensor, Tensor]:
        """No-grad RK4 that keeps what the backward pass needs."""
        K, (n, width) = len(mesh.t), z.shape
        weights, biases = layers[:-2:2], layers[1:-2:2]
        w_out, b_out = layers[-2][0], layers[-1]
        inputs = z.new_empty(K, n, 2)  # (Lambda, t) of every stage
        inputs[:, :, 1] = mesh.t
        acts = [z.new_empty(K, n, width) for _ in range(len(weights) + 1)]
        h: list[Tensor] = []
        slots = list(zip(inputs.unbind(0), *(a.unbind(0) for a in acts), strict=True))
        transposed = [W.t() for W in weights]

        def stage(k: int, Lambda: Tensor) -> Tensor:
            at, first, *others = slots[k]
            at[:, 0] = Lambda
            last = torch.addmm(z, at, w, out=first).relu_()
            for W, b, act in zip(transposed, biases, others, strict=True):
                last = torch.addmm(b, last, W, out=act).relu_()
            h.append(torch.nn.functional.softplus(torch.addmv(b_out, last, w_out)))
            return h[-1]

        Lambda, lam = rk4(stage, mesh.dt)
        ctx.save_for_backward(w, *layers, mesh.dt, inputs, torch.stack(h), *acts)
        ctx.n_layers = len(layers)
        return Lambda, lam

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g_Lambda: Tensor, g_lambda: Tensor) -> tuple[Tensor | None, ...]:
        """The exact derivative of the forward pass."""
        w, *rest = ctx.saved_tensors
        layers, (dt, inputs, h, *acts) = rest[: ctx.n_layers], rest[ctx.n_layers :]
        K, n = h.shape
        weights = layers[:-2:2]
        flat = [a.view(K * n, -1) for a in acts]
        deltas = _unit_deltas(weights, layers[-2], flat)
        sigma = -torch.expm1(-h)  # softplus' = 1 - exp(-softplus)
        J = torch.mv(deltas[0], w[0]).view(K, n).mul_(sigma)
        e = stage_cotangents(J, dt, g_Lambda, g_lambda).mul_(sigma).view(-1, 1)
        for delta in deltas:
            delta.mul_(e)
        g_w = inputs.view(K * n, 2).t() @ deltas[0]
        g_layers: list[Tensor] = []
        for delta, act in zip(deltas[1:], flat[:-1], strict=True):
            g_layers += [delta.t() @ act, delta.sum(0)]
        g_layers += [e.t() @ flat[-1], e.sum(0)]
        return deltas[0].view(K, n, -1).sum(0), None, g_w, *g_layers


def _unit_deltas(weights: Sequence[Tensor], w_out: Tensor, acts: Sequence[Tensor]) -> list[Tensor]:
    """d(output before Softplus) / d(input of each ReLU), first layer first."""
    relu_backward = torch.ops.aten.threshold_backward  # one kernel; multiplying by a mask takes ten times as long
    deltas = [relu_backward(w_out.expand_as(acts[-1]), acts[-1], 0)]
    for W, act in zip(reversed(weights), reversed(acts[:-1]), strict=True):
        deltas.append(relu_backward(deltas[-1] @ W, act, 0))
    return deltas[::-1]
