"""Series: a one-layer GRU whose last state joins the static features (Section 5.4)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from soden.backends import gru as compiled
from soden.nets import Encoder


class SeriesEncoder(Encoder):
    """Static features and the last state of a GRU over the series."""

    backend: Callable[[nn.GRU, Tensor], Tensor] | None = None  # computes the state instead of torch; see soden.backends

    def __init__(self, static: int, channels: int, width: int) -> None:
        super().__init__(static + width)
        self.gru = nn.GRU(channels, width, batch_first=True)

    def forward(self, x: Tensor, seq: Tensor | None = None) -> Tensor:
        """(n, static), (n, steps, channels) -> (n, outputs)."""
        if seq is None:
            raise ValueError("this network was built for subjects with series; pass seq")
        channels = self.gru.input_size
        if seq.ndim != 3 or seq.shape[1] == 0 or seq.shape[2] != channels:
            raise ValueError(
                f"seq must have shape (subjects, steps, {channels}), one step or more; got {(*seq.shape,)}"
            )
        state = last_state if self.backend is None else self.backend
        return torch.cat([x, state(self.gru, seq)], dim=1)

    def choose_backend(self) -> None:
        """Compiled if the GRU is as built, in float32 on the CPU."""
        self.backend = compiled.last_state if compiled.fits(self.gru) else None


def last_state(gru: nn.GRU, seq: Tensor) -> Tensor:
    """The state after the last step by torch's GRU, (n, width)."""
    last: Tensor = gru(seq)[1][0]
    return last
