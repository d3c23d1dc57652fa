"""The networks of Section 5.4: ReLU MLPs of equal hidden layers on encoded features."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from soden.backends.mlp import CompiledMLP


class MLP(nn.Sequential):
    """Linear -> ReLU -> [batch norm] -> [dropout], `layers` times, then a linear output; torch's default weights.

    The order is that of the authors' and of pycox's networks (torchtuples' MLPVanilla).
    """

    backend: CompiledMLP | None = None  # computes the outputs instead of torch's modules; see soden.backends

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
        self._built = tuple(modules)
        self._linears = [module for module in modules if isinstance(module, nn.Linear)]
        self._place: tuple[Tensor, int, int] | None = None

    def forward(self, x: Tensor) -> Tensor:
        """(n, inputs) -> (n, outputs)."""
        return self.in_torch(x) if self.backend is None else self.backend(self, x)

    def after_first(self, u: Tensor) -> Tensor:
        """What comes after the first linear layer, without gradients: its outputs u (width, n) -> (outputs, n)."""
        return self.after_first_in_torch(u) if self.backend is None else self.backend.after_first(self, u)

    def in_torch(self, x: Tensor) -> Tensor:
        """`forward` by torch's modules, one after the other."""
        out: Tensor = super().forward(x)  # type: ignore[no-untyped-call]
        return out

    def after_first_in_torch(self, u: Tensor) -> Tensor:
        """`after_first` by torch's modules."""
        out: Tensor = nn.Sequential(*list(self)[1:])(u.t()).t()
        return out

    def as_built(self) -> bool:
        """True if this is an MLP, no subclass, with the modules that `__init__` made and no hooks on any of them."""
        modules = tuple(self)
        kinds = (nn.Linear, nn.ReLU, nn.BatchNorm1d, nn.Dropout)  # weight norm, for one, makes another kind of a layer
        return (
            type(self) is MLP
            and len(modules) == len(self._built)
            and all(now is then and type(now) in kinds for now, then in zip(modules, self._built, strict=True))
            and not any(altered(module) for module in (self, *modules))
        )

    @property
    def first(self) -> nn.Linear:
        """The first layer."""
        layer = self[0]
        assert isinstance(layer, nn.Linear)
        return layer

    def linears(self) -> list[nn.Linear]:
        """The linear layers that `__init__` made, first to last."""
        return self._linears

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


def altered(module: nn.Module) -> bool:
    """True if a module has hooks, frozen parameters or a `forward` of its own that its class does not have."""
    hooks = (module._forward_hooks, module._forward_pre_hooks, module._backward_hooks, module._backward_pre_hooks)
    frozen = any(not p.requires_grad for p in module.parameters(recurse=False))
    return any(hooks) or frozen or "forward" in vars(module)


class Encoder(nn.Module):
    """What a network sees of a subject: its static features. `soden.gru.SeriesEncoder` adds its series."""

    def __init__(self, static: int) -> None:
        super().__init__()
        self.outputs = static

    def forward(self, x: Tensor, seq: Tensor | None = None) -> Tensor:
        """(n, static) -> (n, outputs)."""
        return x

    def choose_backend(self) -> None:
        """Nothing to compute, so nothing to compute faster."""


@contextmanager
def seeded(seed: int, device: torch.device | str = "cpu") -> Iterator[None]:
    """Inside, torch's random numbers start from `seed` and new weights are float32; both are restored afterwards."""
    device = torch.device(device)
    cuda = [device.index or 0] if device.type == "cuda" else []
    default = torch.get_default_dtype()
    with torch.random.fork_rng(devices=cuda):
        torch.manual_seed(seed)
        torch.set_default_dtype(torch.float32)
        try:
            yield
        finally:
            torch.set_default_dtype(default)
