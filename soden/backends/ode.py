"""Solution and likelihood of SODEN's stock hazard: compiled for the CPU, and in torch with few calls for what else is.

RK4 makes 4N + 1 sequential network calls and stores their activations. The way back has no sequence: with unit seeds
all stages are back-propagated on their own, which gives dh/dLambda; `stage_cotangents` turns these numbers into the
weight of each stage; matrix products then give the exact gradient of the discretised loss. In torch memory grows to
(4N + 1) n (width * layers + 4) numbers; compiled, some subjects are treated at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from soden import ode
from soden.backends import BLOCK, array, borrow, columns, give_back, serves
from soden.hazard import GeneralHazard, Hazard, Solution
from soden.likelihood import FLOOR, floored_log, nll_terms
from soden.nets import MLP, altered
from soden.ode import rk4


def choose(hazard: Hazard) -> None:
    """Give the stock hazard its backend: compiled in float32 on the CPU, else in torch; all others none."""
    hazard.backend = None
    if type(hazard) is GeneralHazard and hazard.net.as_built() and not altered(hazard):
        hazard.backend = (Compiled if serves(hazard.net.first.weight) else InTorch)(hazard)


class InTorch:
    """The stock hazard in torch: what depends on the features is computed once, and gradients take few calls."""

    def __init__(self, hazard: GeneralHazard) -> None:
        self.hazard, self.net = hazard, hazard.net

    def solve(self, encoded: Tensor, y: Tensor, steps: int, tau: float) -> Solution:
        """4 `steps` + 1 sequential network calls forward, none backward."""
        if not torch.is_grad_enabled():
            return Solution(*ode.integrate(self._of(encoded), y, steps, tau), encoded)
        first, *others = self.net.linears()
        weights = [p for layer in others for p in (layer.weight, layer.bias)]
        z = self.hazard.of_features(encoded)
        mesh = ode.make_mesh(y, steps, tau)
        Lambda, lam = Solve.apply(self.hazard, z, mesh, first.weight[:, :2].t(), *weights)  # type: ignore[no-untyped-call]
        return Solution(Lambda, lam, encoded)

    def nll(self, encoded: Tensor, y: Tensor, event: Tensor, weight: Tensor, steps: int, tau: float) -> Tensor:
        """The sum of weight (Lambda(y) - event log lambda(y))."""
        solution = self.solve(encoded, y, steps, tau)
        return torch.dot(weight, nll_terms(solution.Lambda, floored_log(solution.lam), event))

    def dense(self, encoded: Tensor, t_max: Tensor, steps: int, tau: float) -> ode.Dense:
        """4 `steps` + 1 sequential network calls."""
        return ode.dense(self._of(encoded), len(encoded), t_max, steps, tau)

    def _of(self, encoded: Tensor) -> ode.HazardFunction:
        """h(Lambda, t) of these subjects."""
        return partial(self.hazard.after_features, self.hazard.of_features(encoded))


class Compiled(InTorch):
    """The same by `soden.kernels.ode`, for float32 on the CPU."""

    def solve(self, encoded: Tensor, y: Tensor, steps: int, tau: float) -> Solution:  # noqa: D102
        if torch.is_grad_enabled() or not serves(encoded, y):
            return super().solve(encoded, y, steps, tau)
        return Solution(*compiled_solve(self.net, encoded, y, steps, tau), encoded)

    def nll(self, encoded: Tensor, y: Tensor, event: Tensor, weight: Tensor, steps: int, tau: float) -> Tensor:
        """The sum of weight (Lambda(y) - event log lambda(y)); its gradient is computed on the way."""
        if not (torch.is_grad_enabled() and serves(encoded, y, event, weight)):
            return super().nll(encoded, y, event, weight, steps, tau)
        value: Tensor = CompiledNLL.apply(  # type: ignore[no-untyped-call]
            encoded, self.net.weights(), self.net.width, self.net.layers, y, event, weight, steps, tau
        )
        return value

    def dense(self, encoded: Tensor, t_max: Tensor, steps: int, tau: float) -> ode.Dense:  # noqa: D102
        if torch.is_grad_enabled() or not serves(encoded, t_max):
            return super().dense(encoded, t_max, steps, tau)
        mesh = ode.make_mesh(t_max.view(1), steps, tau)
        t, dt = mesh.t[:, 0], mesh.dt[:, 0]
        return ode.Dense(t[::4].contiguous(), *compiled_nodes(self.net, encoded, t, dt, ode.LARGEST))


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
        """The gradient of the forward pass times the outer derivative."""
        g_x, g_weights = ctx.gradients
        return (g * g_x if ctx.needs_input_grad[0] else None), g * g_weights, *[None] * 7


def compiled_solve(net: MLP, x: Tensor, y: Tensor, steps: int, tau: float) -> tuple[Tensor, Tensor]:
    """Lambda(y) and lambda(y), (n,); the hazard is the Softplus of `net` on [Lambda, t, x]; no gradients."""
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


class Solve(torch.autograd.Function):
    """(hazard, z, mesh, w, W_2, b_2, ..., W_out, b_out) -> Lambda(y), lambda(y).

    z (n, width) is the x-part of the first layer with its bias, w (2, width) its weights of Lambda and t; the others
    are passed because gradients are returned for them.
    """

    @staticmethod
    def forward(
        ctx: Any, hazard: GeneralHazard, z: Tensor, mesh: ode.Mesh, w: Tensor, *layers: Tensor
    ) -> tuple[Tensor, Tensor]:
        """RK4 without autograd that keeps what the backward pass needs."""
        first = torch.addcmul(z, mesh.t[..., None], w[1])  # (K, n, width): a stage adds its Lambda, in place
        slots, w_Lambda = first.unbind(0), w[0]
        at: list[Tensor] = []
        acts: list[list[Tensor]] = []
        h: list[Tensor] = []

        def stage(k: int, Lambda: Tensor) -> Tensor:
            at.append(Lambda)
            acts.append([])
            h.append(hazard.of_hidden(slots[k].addcmul_(Lambda[:, None], w_Lambda), acts[k]))
            return h[k]

        Lambda, lam = rk4(stage, mesh.dt)
        others = [torch.stack(layer) for layer in list(zip(*acts, strict=True))[1:]]
        ctx.save_for_backward(w, *layers, mesh.dt, mesh.t, torch.stack(at), torch.stack(h), first, *others)
        ctx.n_layers = len(layers)
        return Lambda, lam

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g_Lambda: Tensor, g_lambda: Tensor) -> tuple[Tensor | None, ...]:
        """The exact derivative of the forward pass."""
        w, *rest = ctx.saved_tensors
        layers, (dt, t, at, h, *acts) = rest[: ctx.n_layers], rest[ctx.n_layers :]
        K, n = h.shape
        flat = [a.view(K * n, -1) for a in acts]
        deltas = _unit_deltas(layers[:-2:2], layers[-2], flat)
        sigma = -torch.expm1(-h)  # softplus' = 1 - exp(-softplus)
        J = torch.mv(deltas[0], w[0]).view(K, n).mul_(sigma)
        e = stage_cotangents(J, dt, g_Lambda, g_lambda).mul_(sigma).view(-1, 1)
        for delta in deltas:
            delta.mul_(e)
        g_w = torch.stack([at.view(-1), t.reshape(-1)]) @ deltas[0]
        g_layers: list[Tensor] = []
        for delta, act in zip(deltas[1:], flat[:-1], strict=True):
            g_layers += [delta.t() @ act, delta.sum(0)]
        g_layers += [e.t() @ flat[-1], e.sum(0)]
        return None, deltas[0].view(K, n, -1).sum(0), None, g_w, *g_layers


def _unit_deltas(weights: Sequence[Tensor], w_out: Tensor, acts: Sequence[Tensor]) -> list[Tensor]:
    """d(output before Softplus) / d(input of each ReLU), first layer first."""
    relu_backward = torch.ops.aten.threshold_backward  # one kernel; multiplying by a mask takes ten times as long
    deltas = [relu_backward(w_out.expand_as(acts[-1]), acts[-1], 0)]
    for W, act in zip(reversed(weights), reversed(acts[:-1]), strict=True):
        deltas.append(relu_backward(deltas[-1] @ W, act, 0))
    return deltas[::-1]


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
