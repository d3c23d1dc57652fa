"""Faster ways to compute what the mathematics of `soden` says; the results are the same up to rounding.

A network or hazard has an attribute `backend`, which is None until `NeuralModel.choose_backends` is called, once per
fit. A backend is chosen only for exactly the class it was written for, as `__init__` built it and without hooks: a
subclass always computes with its own methods.

    mlp      an MLP, forward and back            soden.nets.MLP
    ode      solution, likelihood and mesh       soden.hazard.GeneralHazard (compiled, or in torch with fewer calls)
    gru      the last state of a series          soden.gru.SeriesEncoder
    rmsprop  a step of the optimiser             soden.training.RMSProp
    curves   predicted curves in float64         soden.hazard.GeneralHazard (for the estimator)

Compiled code (`soden.kernels`, numba) serves float32 on the CPU, `curves` float64. One file per kernel: fingerprints
follow imports, so that an edited GRU does not rerun models without series.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Array = npt.NDArray[np.float32]
BLOCK = 512  # subjects at a time where nothing is kept for a backward pass: a layer's values then stay in the cache
LINE = 16  # numbers in a line of the cache, at whose start a vector is read fastest


@cache
def available() -> bool:
    """True if numba is installed."""
    return find_spec("numba") is not None


def serves(*tensors: Tensor) -> bool:
    """True if all tensors are float32 on the CPU and numba is installed."""
    for t in tensors:  # asked several times per step: a generator would cost more than the answer
        if t.dtype is not torch.float32 or not t.is_cpu:
            return False
    return available()


def array(tensor: Tensor) -> Array:
    """The tensor's memory as a numpy array."""
    values: Array = tensor.detach().numpy()
    return values


def columns(x: Tensor) -> Array:
    """A copy with one column per subject."""
    return np.ascontiguousarray(array(x).T)


_spare: list[Array] = []


def borrow(size: int) -> Array:
    """An uninitialised buffer of at least `size` numbers from the pool; return it with `give_back`.

    Fresh memory of some megabytes comes as pages that the system clears first, which takes longer than a step.
    """
    for i, space in enumerate(_spare):
        if len(space) >= size:
            return _spare.pop(i)
    space = np.empty(size + LINE, np.float32)
    offset = -space.ctypes.data // space.itemsize % LINE
    return space[offset : offset + size]


def give_back(space: Array) -> None:
    """Return a buffer to the pool, which keeps the four largest."""
    _spare.append(space)
    if len(_spare) > 4:
        _spare.sort(key=len)
        del _spare[0]
