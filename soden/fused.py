"""The fast solve of SODEN: RK4 forward without autograd, then one hand-written backward pass over all stages.

The forward pass makes 4N + 1 sequential network calls and stores their activations. The backward pass has no sequence:
with unit seeds it back-propagates through all stages on their own, which gives dh/dLambda; `stage_cotangents` turns
these scalars into the weight of each stage; matrix products then give the exact gradient of the discretised loss.
Twice: compiled for the CPU, some subjects at a time, and in torch for what else there is, where memory grows to
(4N + 1) n (width * layers + 4) numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from soden.compiled import BLOCK, array, borrow, columns, give_back
from soden.likelihood import FLOOR
from soden.nets import MLP
from soden.ode import Mesh, rk4, stage_cotangents


class CompiledNLL(torch.autograd.Function):
    """(x, weights of the MLP on [Lambda, t, x], ...) -> the sum of weight (Lambda(y) - event log lambda(y)).

    The gradient is computed on the way: what the stages leave behind is used while it is in the cache, and not kept.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weights: Tensor,
        width: int,
        layers: int,
        y: Tensor,
        event: Tensor,
        weight: Tensor,
        steps: int,
        tau: float,
    ) -> Tensor:
        """All stages there and back in `soden.kernels.ode`."""
        from soden.kernels import ode

        log_end = array(torch.log1p(y / tau))
        clock = (array(y), log_end, np.float32(tau), steps)
        outcome = (array(event), array(weight), np.float32(FLOOR))
        space = borrow(2 * (4 * steps + 1) * layers * width * ode.together(len(y), width, layers, steps))
        value, g_x, g_weights = ode.nll(columns(x), array(weights), width, layers, *clock, *outcome, space)
        give_back(space)
        ctx.gradients = torch.from_numpy(g_x.T), torch.from_numpy(g_weights)
        return torch.from_numpy(np.array(value, np.float32))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        """What the forward pass found, times the outer derivative."""
        g_x, g_weights = ctx.gradients
        return (g * g_x if ctx.needs_input_grad[0] else None), g * g_weights, *[None] * 7


def compiled_nll(net: MLP, x: Tensor, y: Tensor, event: Tensor, weight: Tensor, steps: int, tau: float) -> Tensor:
    """The sum of weight (Lambda(y) - event log lambda(y)); the hazard is the Softplus of `net` on [Lambda, t, x]."""
    value: Tensor = CompiledNLL.apply(  # type: ignore[no-untyped-call]
        x, net.weights(), net.width, net.layers, y, event, weight, steps, tau
    )
    return value


def compiled_solve(net: MLP, x: Tensor, y: Tensor, steps: int, tau: float) -> tuple[Tensor, Tensor]:
    """Lambda(y) and lambda(y), (n,), of the same hazard, without gradients."""
    from soden.kernels import ode

    v, ends = array(net.weights()), []
    for some, until in zip(torch.split(x, BLOCK), torch.split(y, BLOCK), strict=True):
        t, dt = ode.mesh(array(until), array(torch.log1p(until / tau)), np.float32(tau), steps)
        space = borrow((3 * len(t) + net.layers * net.width) * len(some))
        at, h = ode.solve(columns(some), v, net.width, net.layers, t, dt, np.float32(np.inf), space)
        ends.append((at[-1].copy(), h[-1].copy()))
        give_back(space)
    Lambda, lam = (torch.from_numpy(np.concatenate(part)) for part in zip(*ends, strict=True))
    return Lambda, lam


def compiled_nodes(net: MLP, x: Tensor, t: Tensor, dt: Tensor, limit: float) -> tuple[Tensor, Tensor]:
    """Lambda and lambda of all subjects at the ends of the steps of one mesh, t (4N + 1,) and dt (N,): (N + 1, n)."""
    from soden.kernels import ode

    v, parts = array(net.weights()), []
    for some in torch.split(x, BLOCK):
        stages, lengths = (np.repeat(array(values)[:, None], len(some), axis=1) for values in (t, dt))
        space = borrow((3 * len(t) + net.layers * net.width) * len(some))
        at, h = ode.solve(columns(some), v, net.width, net.layers, stages, lengths, np.float32(limit), space)
        parts.append((at[::4].copy(), h[::4].copy()))
        give_back(space)
    Lambda, lam = (torch.from_numpy(np.concatenate(part, axis=1)) for part in zip(*parts, strict=True))
    return Lambda, lam


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
