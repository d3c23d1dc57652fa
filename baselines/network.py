"""The network all four neural baselines share: an encoder, then an MLP (Section 5.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from soden.nets import MLP, Encoder

CACHE = 1 << 16  # hidden values at a time: as many as fit a core's cache


class Network(nn.Module):
    """MLP on the encoded features, and on the time as well where the model has it as an input."""

    def __init__(self, encoder: Encoder, hyper: Mapping[str, Any], outputs: int, with_time: bool = False) -> None:
        super().__init__()
        self.encoder = encoder
        self.mlp = MLP(
            encoder.outputs + with_time,
            int(hyper["width"]),
            int(hyper["layers"]),
            outputs,
            float(hyper.get("dropout", 0)),
            bool(hyper.get("batch_norm", False)),
        )

    def forward(self, x: Tensor, seq: Tensor | None = None) -> Tensor:
        """(n, static), (n, steps, channels) -> (n, outputs)."""
        out: Tensor = self.mlp(self.encoder(x, seq))
        return out

    def at(self, encoded: Tensor, t: Tensor) -> Tensor:
        """g(t, x) of pairs: rows of encoded features (m, p) and their times (m,) -> (m,)."""
        out: Tensor = self.mlp(torch.cat([encoded, t[:, None]], dim=1))
        return out[:, 0]

    def on_grid(self, encoded: Tensor, t: Tensor) -> Tensor:
        """g(t, x) of all pairs: (n, p), (m,) -> (m, n). The first layer sees each subject and each time once."""
        first = self.mlp.first
        of_x = torch.addmm(first.bias[:, None], first.weight[:, :-1], encoded.t())  # (width, n)
        of_t = first.weight[:, -1:] * t  # (width, m)
        n, pairs_at_once = len(encoded), max(1, CACHE // len(of_x))
        out = of_x.new_empty(len(t), n)
        for j in range(0, n, pairs_at_once):
            block = of_x[:, None, j : j + pairs_at_once]
            times = max(1, pairs_at_once // block.shape[2])
            for k in range(0, len(t), times):
                pairs = block + of_t[:, k : k + times, None]
                out[k : k + times, j : j + pairs_at_once] = self.mlp.after_first(pairs.flatten(1)).view(pairs.shape[1:])
        return out
