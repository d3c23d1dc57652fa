"""A step of RMSProp with clipping in one pass over the weights, compiled."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from soden.backends import array


def step(
    weights: Tensor,
    gradient: Tensor,
    mean_square: Tensor,
    velocity: Tensor,
    lr: float,
    weight_decay: float,
    momentum: float,
    largest: float,
) -> None:
    """As `soden.training.RMSProp`; all vectors are changed in place."""
    from soden.kernels import rmsprop

    vectors = (array(t) for t in (weights, gradient, mean_square, velocity))
    numbers = (np.float32(v) for v in (lr, weight_decay, momentum, largest))
    rmsprop.step(*vectors, *numbers)
