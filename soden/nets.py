"""The networks of Section 5.4: ReLU MLPs of equal hidden layers on encoded features."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from soden import compiled


class MLP(nn.Sequential):
    """Linear -> ReLU -> [batch norm] -> [dropout], `layers` times, then a linear output; torch's default weights.

    The order is that of the authors' and of pycox's networks (torchtuples' MLPVanilla).
    """

    def __init__(
        self, inputs: int, width: int, layers: int, outputs: int, dropout: float = 0.0, batch_norm: bool = False
    ) -> None:
        modules: list[nn.Module] = []
        for size in [inputs] + [width] * (layers - 1):
            modules += [nn.Linear(size, width), nn.ReLU()]
            if batch_norm:
                modules.append(nn.BatchNorm1d(width))
            if dropout > 0:
                modules.append(nn.Dropout(dropout))
        modules.append(nn.Linear(width, outputs))
        super().__init__(*modules)
        self.width, self.layers, self.dropout = width, layers, dropout
        self._place: tuple[Tensor, int, int] | None = None

    def forward(self, x: Tensor) -> Tensor:
        """(n, inputs) -> (n, outputs); compiled where it can be."""
        if compiled.serves(x, self.first.weight) and self.training == torch.is_grad_enabled():
            return compiled.train(self, x) if self.training else compiled.apply(self, x)
        out: Tensor = super().forward(x)  # type: ignore[no-untyped-call]
        return out

    def after_first(self, u: Tensor) -> Tensor:
        """What comes after the first linear layer, without gradients: its outputs u (width, n) -> (outputs, n)."""
        if compiled.serves(u, self.first.weight):
            return compiled.apply_after_first(self, u)
        out: Tensor = nn.Sequential(*list(self)[1:])(u.t()).t()
        return out

    @property
    def first(self) -> nn.Linear:
        """The first layer."""
        layer = self[0]
        assert isinstance(layer, nn.Linear)
        return layer

    def linears(self) -> list[nn.Linear]:
        """Its linear layers, first to last."""
        return [module for module in self if isinstance(module, nn.Linear)]

    def live_in(self, flat: Tensor, start: int) -> None:
        """All parameters have become views of `flat`, one after the other from `start`: see `flatten_parameters`."""
        self._place = (flat, start, start + sum(p.numel() for p in self.parameters()))

    def weights(self) -> Tensor:
        """All parameters as one vector with their gradients: the one they live in, as long as they do, or a copy."""
        if self._place is not None:
            flat, start, end = self._place
            if self.first.weight.data_ptr() == flat.data_ptr() + start * flat.element_size():
                return flat if end - start == len(flat) else flat[start:end]
        return torch.cat([p.reshape(-1) for p in self.parameters()])


class Encoder(nn.Module):
    """What a network sees of a subject: its static features. `soden.gru.SeriesEncoder` adds its series."""

    def __init__(self, static: int) -> None:
        super().__init__()
        self.outputs = static

    def forward(self, x: Tensor, seq: Tensor | None = None) -> Tensor:
        """(n, static) -> (n, outputs)."""
        return x


@contextmanager
def seeded(seed: int, device: torch.device | str = "cpu") -> Iterator[None]:
    """Torch's generators start from `seed` inside and are as they were outside: weights and dropout need them."""
    device = torch.device(device)
    cuda = [device.index or 0] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=cuda):
        torch.manual_seed(seed)
        yield
