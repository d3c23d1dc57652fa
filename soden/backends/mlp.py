"""MLPs through compiled loops, as torch functions with gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from soden.backends import BLOCK, Array, array, borrow, columns, give_back, serves
from soden.nets import MLP

MOMENTUM = 0.1  # torch's, of batch norm's running means


def choose(net: nn.Module) -> None:
    """Give every MLP inside `net` its backend: compiled if it is as built, in float32 on the CPU; else none."""
    for module in net.modules():
        if isinstance(module, MLP):
            module.backend = CompiledMLP() if module.as_built() and serves(module.first.weight) else None


class CompiledMLP:
    """Computes an MLP by `soden.kernels.mlp`, or in torch where type, device or mode are others."""

    def __call__(self, net: MLP, x: Tensor) -> Tensor:
        """(n, inputs) -> (n, outputs): with gradients while training, without them afterwards."""
        if serves(x, net.first.weight) and net.training == torch.is_grad_enabled():
            return train(net, x) if net.training else apply(net, x)
        return net.in_torch(x)

    def after_first(self, net: MLP, u: Tensor) -> Tensor:
        """Outputs (outputs, n) from the first layer's outputs u (width, n), which is overwritten; no gradients."""
        if serves(u, net.first.weight):
            return torch.from_numpy(_after_first(net, np.ascontiguousarray(array(u))))
        return net.after_first_in_torch(u)


class _Train(torch.autograd.Function):
    """Outputs of a training batch, and batch norm's means and variances."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weights: Tensor, width: int, layers: int, norm: bool, masks: Array
    ) -> tuple[Tensor, Tensor]:
        from soden.kernels import mlp

        inputs, v = columns(x), array(weights)
        space = borrow(3 * layers * width * len(x))
        out, stats = mlp.forward(inputs, v, width, layers, norm, masks, space)
        ctx.kept, ctx.space = (inputs, v, width, layers, norm, masks, stats), space
        stats = torch.from_numpy(stats)
        ctx.mark_non_differentiable(stats)
        return torch.from_numpy(out), stats

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g_out: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        from soden.kernels import mlp

        g_x, g_weights = mlp.backward(np.ascontiguousarray(array(g_out)), *ctx.kept, ctx.space)
        give_back(ctx.space)
        return torch.from_numpy(g_x.T), torch.from_numpy(g_weights), None, None, None, None


def train(net: MLP, x: Tensor) -> Tensor:
    """Outputs of a training batch, with gradients, dropout and batch norm's running means."""
    n = len(x)
    norms = [m for m in net if isinstance(m, nn.BatchNorm1d)]
    if norms and n < 2:
        raise ValueError("batch norm needs batches of at least two subjects; raise batch_size or turn it off")
    masks = np.empty((0, net.width, n), np.float32)
    if net.dropout > 0:
        keep = 1 - net.dropout
        masks = array(torch.empty(net.layers, net.width, n).bernoulli_(keep).div_(keep))
    out, stats = _Train.apply(x, net.weights(), net.width, net.layers, bool(norms), masks)  # type: ignore[no-untyped-call]
    for m, norm in enumerate(norms):
        assert norm.running_mean is not None
        assert norm.running_var is not None
        norm.running_mean.lerp_(stats[0, m], MOMENTUM)
        norm.running_var.lerp_(stats[1, m] * (n / (n - 1)), MOMENTUM)  # the unbiased variance is what torch remembers
    result: Tensor = out
    return result


def apply(net: MLP, x: Tensor) -> Tensor:
    """Outputs of a trained network, (n, outputs)."""
    from soden.kernels import loops

    W, b = array(net.first.weight), array(net.first.bias)
    parts = []
    for part in torch.split(x, BLOCK):
        u = np.empty((net.width, len(part)), np.float32)
        loops.affine(W, columns(part), b, u)
        parts.append(_after_first(net, u))
    return torch.from_numpy(np.concatenate(parts, axis=1).T)


def _after_first(net: MLP, u: Array) -> Array:
    from soden.kernels import mlp

    norms = [m for m in net if isinstance(m, nn.BatchNorm1d)]
    factors, shifts = np.empty((2, len(norms), net.width), np.float32)
    for m, norm in enumerate(norms):  # scale * (u - mean) / sd + shift as one factor and one shift
        assert norm.running_mean is not None
        assert norm.running_var is not None
        factors[m] = array(norm.weight) / np.sqrt(array(norm.running_var) + np.float32(norm.eps))
        shifts[m] = array(norm.bias) - array(norm.running_mean) * factors[m]
    out: Array = mlp.apply(
        u, array(net.weights()), net.first.in_features, net.width, net.layers, bool(norms), factors, shifts
    )
    return out
