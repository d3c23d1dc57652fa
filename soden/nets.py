"""The networks of Section 5.4: ReLU MLPs of equal hidden layers, and a one-layer GRU for series."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class MLP(nn.Sequential):
    """Linear -> [batch norm] -> ReLU -> [dropout], `layers` times, then a linear output; torch's default weights."""

    def __init__(
        self, inputs: int, width: int, layers: int, outputs: int, dropout: float = 0.0, batch_norm: bool = False
    ) -> None:
        modules: list[nn.Module] = []
        for size in [inputs] + [width] * (layers - 1):
            modules.append(nn.Linear(size, width))
            if batch_norm:
                modules.append(nn.BatchNorm1d(width))
            modules.append(nn.ReLU())
            if dropout > 0:
                modules.append(nn.Dropout(dropout))
        modules.append(nn.Linear(width, outputs))
        super().__init__(*modules)


class Encoder(nn.Module):
    """Static features joined with the last state of a GRU over the series; the identity where there is no series."""

    def __init__(self, static: int, channels: int = 0, gru_width: int = 0) -> None:
        super().__init__()
        self.gru = nn.GRU(channels, gru_width, batch_first=True) if channels else None
        self.outputs = static + (gru_width if channels else 0)

    def forward(self, x: Tensor, seq: Tensor | None = None) -> Tensor:
        """(n, static), (n, steps, channels) -> (n, outputs)."""
        if self.gru is None or seq is None:
            return x
        _, last = self.gru(seq)
        return torch.cat([x, last[0]], dim=1)


@contextmanager
def seeded(seed: int, device: torch.device | str = "cpu") -> Iterator[None]:
    """Torch's generators start from `seed` inside and are as they were outside: weights and dropout need them."""
    device = torch.device(device)
    cuda = [device.index or 0] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=cuda):
        torch.manual_seed(seed)
        yield
