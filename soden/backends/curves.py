"""Predicted curves of SODEN's stock hazard in float64, compiled: followed from kink to kink of the network."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from soden import backends, ode
from soden.hazard import GeneralHazard, Hazard
from soden.nets import MLP, altered
from soden.types import FloatArray


def serves(hazard: Hazard) -> bool:
    """True for the stock hazard, as built, in float64 on the CPU, where numba is installed."""
    if type(hazard) is not GeneralHazard or not hazard.net.as_built() or altered(hazard):
        return False
    weight = hazard.net.first.weight
    return weight.is_cpu and weight.dtype is torch.float64 and backends.available()


def curves(hazard: GeneralHazard, encoded: Tensor, times: FloatArray, tau: float) -> tuple[FloatArray, FloatArray]:
    """Lambda and lambda (n, k) at increasing times (k,)."""
    from soden.kernels import piecewise

    x = np.ascontiguousarray(encoded.numpy())
    Lambda, lam = piecewise.curves(x, *_arrays(hazard.net), times, tau, ode.LARGEST)
    return Lambda, lam


def _arrays(net: MLP) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(first, up, bias), as `soden.kernels.piecewise` takes them."""
    first, *others = net.linears()
    up, bias = np.zeros((net.layers, net.width, net.width)), np.zeros((net.layers + 1, net.width))
    for m, layer in enumerate([first, *others]):
        bias[m, : layer.out_features] = layer.bias.detach().numpy()
    for m, layer in enumerate(others):
        up[m, :, : layer.out_features] = layer.weight.detach().numpy().T
    return np.ascontiguousarray(first.weight.detach().numpy().T), up, bias
