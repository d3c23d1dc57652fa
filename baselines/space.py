"""Search spaces: what a hyper-parameter may be, how it is drawn and how the paper prints it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

Rounding = Literal["truncate", "nearest"]


class Distribution(Protocol):
    """One hyper-parameter's range."""

    def draw(self, rng: np.random.Generator, rounding: Rounding) -> Any:
        """One value; `rounding` is how real draws become whole numbers."""

    def latex(self) -> str:
        """The range as the paper prints it."""


@dataclass(frozen=True)
class Choice:
    """One of a few values, equally likely."""

    values: tuple[Any, ...]

    def draw(self, rng: np.random.Generator, rounding: Rounding) -> Any:  # noqa: D102
        return self.values[int(rng.integers(len(self.values)))]

    def latex(self) -> str:  # noqa: D102
        if all(isinstance(v, bool) for v in self.values):
            return r"$\{" + ", ".join(rf"\text{{{v}}}" for v in self.values) + r"\}$"
        return r"$\{" + ", ".join(f"{v:g}" for v in self.values) + r"\}$"


@dataclass(frozen=True)
class Uniform:
    """A real number between two bounds."""

    low: float
    high: float

    def draw(self, rng: np.random.Generator, rounding: Rounding) -> float:  # noqa: D102
        return float(rng.uniform(self.low, self.high))

    def latex(self) -> str:  # noqa: D102
        return f"$[{self.low:g}, {self.high:g}]$"


@dataclass(frozen=True)
class Power:
    """base^u with u uniform; `whole` makes it an integer (the paper says rounded, the authors' code truncates)."""

    base: int
    low: float
    high: float
    whole: bool = False

    def draw(self, rng: np.random.Generator, rounding: Rounding) -> float | int:  # noqa: D102
        value = float(self.base ** rng.uniform(self.low, self.high))
        if not self.whole:
            return value
        return int(value) if rounding == "truncate" else round(value)

    def latex(self) -> str:  # noqa: D102
        low, high = (f"{v:g}" if len(f"{v:g}") == 1 else f"{{{v:g}}}" for v in (self.low, self.high))
        return f"$[{self.base}^{low}, {self.base}^{high}]$"


@dataclass(frozen=True)
class PerDataset:
    """Values that belong to the data set (batch sizes, numbers of intervals): its `search[key]`."""

    key: str

    def draw(self, rng: np.random.Generator, rounding: Rounding) -> Any:  # noqa: D102
        raise TypeError(f"{self.key} depends on the data set: call resolve() before drawing")

    def latex(self) -> str:  # noqa: D102
        return "see text"


# Appendix D of the paper; every neural model searches these.
NETWORK: Mapping[str, Distribution] = {
    "layers": Choice((1, 2, 4)),
    "width": Power(2, 2, 7, whole=True),
    "gru_width": Power(2, 3, 8, whole=True),  # used only where the data have series
    "lr": Power(10, -4.5, -1.5),
    "weight_decay": Power(10, -9, -4),
    "momentum": Uniform(0.85, 0.99),
    "batch_size": PerDataset("batch_size"),
}
# The neural baselines search these as well.
REGULARISED_NETWORK: Mapping[str, Distribution] = {
    **NETWORK,
    "dropout": Choice((0, 0.1, 0.5)),
    "batch_norm": Choice((True, False)),
}


def resolve(space: Mapping[str, Distribution], per_dataset: Mapping[str, tuple[Any, ...]]) -> dict[str, Distribution]:
    """Fill in what the data set decides."""
    return {name: Choice(tuple(per_dataset[d.key])) if isinstance(d, PerDataset) else d for name, d in space.items()}


def draw(
    space: Mapping[str, Distribution],
    rng_for: Callable[[str], np.random.Generator],
    rounding: Rounding = "truncate",
) -> dict[str, Any]:
    """One configuration; a generator per name, so that adding a hyper-parameter moves no other draw."""
    return {name: d.draw(rng_for(name), rounding) for name, d in space.items()}
