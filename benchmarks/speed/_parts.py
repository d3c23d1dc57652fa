"""The first split of SUPPORT or METABRIC for the speed commands, or a simulated stand-in where the data are absent."""

from __future__ import annotations

import numpy as np

from benchmarks.data import DataUnavailable, load
from benchmarks.data.preprocess import prepared
from benchmarks.data.splits import PARTS, make_split
from benchmarks.seeds import rng_for
from soden.types import SurvivalData

SHAPES = {"support": ((5370, 1776, 1727), 27, 1.3), "metabric": ((1125, 368, 411), 9, 0.35)}  # sizes, inputs, mean time


def first_split(name: str) -> tuple[dict[str, SurvivalData], str]:
    """Train, valid and test of the authors' split 1, and a word on where they come from."""
    try:
        dataset = load(name)
    except DataUnavailable:
        why = f"`python -m benchmarks data list {name}` says why"
        return _stand_in(name), f"{name}: data not found ({why}), simulated features and times instead"
    parts = dict(zip(PARTS, prepared(dataset, make_split(dataset, "released", 1), *PARTS), strict=True))
    return parts, f"{name}: split 1, {' / '.join(str(len(part)) for part in parts.values())} subjects"


def _stand_in(name: str) -> dict[str, SurvivalData]:
    """Standard normal features, Weibull times of shape 1/2 (many early events, like SUPPORT), a third censored."""
    sizes, p, mean = SHAPES[name]
    parts = {}
    for part, n in zip(PARTS, sizes, strict=True):
        rng = rng_for(0, "speed", name, part)
        x = rng.standard_normal((n, p))
        time = 0.001 + mean / 2 * rng.standard_exponential(n) ** 2 * np.exp(0.3 * x[:, 0])
        parts[part] = SurvivalData(np.minimum(time, 4 * mean), (time < 4 * mean) & (rng.random(n) < 0.7), x)
    return parts
