"""The network all four neural baselines share: an encoder, then an MLP (Section 5.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from soden.nets import MLP, Encoder

CACHE = 1 << 19  # hidden values at a time: more than fit a core's cache make deep networks three times slower


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
        first, *rest = self.mlp
        assert isinstance(first, nn.Linear)
        after_first = nn.Sequential(*rest)
        of_x = encoded @ first.weight[:, :-1].t() + first.bias
        of_t = t[:, None, None] * first.weight[:, -1]
        rows = max(1, CACHE // of_x.shape[1])
        out = of_x.new_empty(len(t), len(of_x))
        for j in range(0, len(of_x), rows):
            block = of_x[j : j + rows]
            at_once = max(1, rows // len(block))
            for k in range(0, len(t), at_once):
                pairs = block + of_t[k : k + at_once]
                out[k : k + at_once, j : j + rows] = after_first(pairs.flatten(0, 1)).view(pairs.shape[:2])
        return out
