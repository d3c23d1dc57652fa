"""The simulation of Section 4: two groups whose survival curves cross at t = 1, so hazards are not proportional."""

from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.data.dataset import Dataset
from benchmarks.data.settings import DataSettings
from benchmarks.seeds import rng_for

NAME = "simulated"
LABEL = "SIMULATED"
SEARCH = {"batch_size": (128, 256, 512), "intervals": (10, 50, 100, 200, 400)}
N_SPLITS = 10
CONVENTION = "published"

FloatArray = npt.NDArray[np.float64]
CENSORED_BEFORE = 2.0  # C ~ U(0, 2)


def cumulative_hazard(x: npt.ArrayLike, t: npt.ArrayLike) -> FloatArray:
    """Lambda_x(t) = 2t for x = 0 and 2t^2 for x = 1; x and t broadcast."""
    group, time = _groups(x, t)
    return np.where(group == 1, 2 * time**2, 2 * time)


def survival(x: npt.ArrayLike, t: npt.ArrayLike) -> FloatArray:
    """S_x(t) = exp(-2t) for x = 0 and exp(-2t^2) for x = 1."""
    return np.asarray(np.exp(-cumulative_hazard(x, t)))


def hazard(x: npt.ArrayLike, t: npt.ArrayLike) -> FloatArray:
    """lambda_x(t) = 2 for x = 0 and 4t for x = 1."""
    group, time = _groups(x, t)
    return np.where(group == 1, 4 * time, 2.0)


def simulate(n: int, seed: int, repetition: int = 0) -> Dataset:
    """Draw n subjects; each variable has its own generator, so a smaller n gives the first rows of a larger one."""

    def rng(variable: str) -> np.random.Generator:
        return rng_for(seed, "simulated", repetition, variable)

    x = rng("x").integers(0, 2, size=n).astype(np.float64)
    cumulative = rng("T").standard_exponential(n)  # Lambda_x(T) is standard exponential
    t = np.where(x == 1, np.sqrt(cumulative / 2), cumulative / 2)
    c = rng("C").uniform(0, CENSORED_BEFORE, size=n)
    return Dataset(
        NAME, LABEL, np.minimum(t, c), t <= c, x[:, None], ("x",), {"x": (0, 1)}, source="drawn from the seed"
    )


def load(settings: DataSettings) -> Dataset:
    """Return the simulation of the configured size; the option `repetition` gives another independent draw."""
    return simulate(settings.simulated_n, settings.seed, int(settings.options.get(NAME, {}).get("repetition", 0)))


def _groups(x: npt.ArrayLike, t: npt.ArrayLike) -> tuple[npt.NDArray[Any], FloatArray]:
    group, time = np.asarray(x), np.asarray(t, dtype=np.float64)
    if not np.isin(group, (0, 1)).all():
        raise ValueError(f"the simulation knows the groups x = 0 and x = 1; got {np.unique(group)[:5].tolist()}")
    return group, time
