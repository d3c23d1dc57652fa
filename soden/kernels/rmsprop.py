"""One step of RMSProp with clipping, in one pass over the weights."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,misc"

from __future__ import annotations

import numpy as np

from soden.kernels import kernel
from soden.kernels.loops import F


@kernel
def step(weights, gradient, mean_square, velocity, lr, weight_decay, momentum, largest):
    """As `soden.training.RMSProp`; all vectors are changed in place. The square root is IEEE's, to the last bit."""
    total = F(0)
    for i in range(len(gradient)):
        total += gradient[i] * gradient[i]
    norm = np.sqrt(total)
    if norm > largest:
        scale = largest / (norm + F(1e-6))
        for i in range(len(gradient)):
            gradient[i] *= scale
    for i in range(len(gradient)):
        g = gradient[i] + weight_decay * weights[i]
        mean_square[i] = F(0.99) * mean_square[i] + F(0.01) * (g * g)
        gradient[i] = g / (np.sqrt(mean_square[i]) + F(1e-8))
    if momentum > F(0):
        for i in range(len(gradient)):
            velocity[i] = momentum * velocity[i] + gradient[i]
            weights[i] -= lr * velocity[i]
    else:
        for i in range(len(gradient)):
            weights[i] -= lr * gradient[i]
