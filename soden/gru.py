"""Series: a one-layer GRU whose last state joins the static features (Section 5.4)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from soden.nets import Encoder


class SeriesEncoder(Encoder):
    """Static features and the last state of a GRU over the series."""

    def __init__(self, static: int, channels: int, width: int) -> None:
        super().__init__(static + width)
        self.gru = nn.GRU(channels, width, batch_first=True)

    def forward(self, x: Tensor, seq: Tensor | None = None) -> Tensor:
        """(n, static), (n, steps, channels) -> (n, outputs)."""
        if seq is None:
            raise ValueError("this network was built for subjects with series; pass seq")
        _, last = self.gru(seq)
        return torch.cat([x, last[0]], dim=1)
