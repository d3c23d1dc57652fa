"""MLPs through the compiled loops of `soden.kernels`, as torch functions with gradients.

Served are float32 tensors on the CPU, where numba is installed; all else takes torch's way, which gives the same
numbers up to rounding.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

if TYPE_CHECKING:
    from soden.nets import MLP

Array = npt.NDArray[np.float32]
BLOCK = 512  # subjects at a time where nothing is kept for a backward pass: a layer's values then stay in the cache
LINE = 16  # numbers in a line of the cache, at whose start a vector is read fastest
MOMENTUM = 0.1  # torch's, of batch norm's running means


@cache
def available() -> bool:
    """Whether numba is installed."""
    return find_spec("numba") is not None


def serves(*tensors: Tensor) -> bool:
    """Whether these can be computed with here."""
    for t in tensors:  # asked several times per step: a generator would cost more than the answer
        if t.dtype is not torch.float32 or not t.is_cpu:
            return False
    return available()


def array(tensor: Tensor) -> Array:
    """The tensor's own memory."""
    values: Array = tensor.detach().numpy()
    return values


def columns(x: Tensor) -> Array:
    """One column per subject."""
    return np.ascontiguousarray(array(x).T)


_spare: list[Array] = []


def borrow(size: int) -> Array:
    """Memory for so many numbers, what is in it is anybody's; to be given back.

    Fresh memory of some megabytes comes as pages that the system clears first, which takes longer than a step.
    """
    for i, space in enumerate(_spare):
        if len(space) >= size:
            return _spare.pop(i)
    space = np.empty(size + LINE, np.float32)
    offset = -space.ctypes.data // space.itemsize % LINE
    return space[offset : offset + size]


def give_back(space: Array) -> None:
    """Let the next one have it."""
    _spare.append(space)
    if len(_spare) > 4:
        _spare.sort(key=len)
        del _spare[0]


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


def apply_after_first(net: MLP, u: Tensor) -> Tensor:
    """The same from the first layer's outputs u (width, n), which is overwritten: (outputs, n)."""
    return torch.from_numpy(_after_first(net, np.ascontiguousarray(array(u))))


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
