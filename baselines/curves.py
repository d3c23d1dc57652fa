"""What the models without a network share: step functions as survival curves, and the check of a saved state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from soden.types import FloatArray


def at_steps(jumps: FloatArray, curves: FloatArray, times: FloatArray) -> FloatArray:
    """Step functions (n, m) that are 1 before the first of m ascending jumps, read at any times: (n, len(times))."""
    where = np.searchsorted(jumps, np.asarray(times, dtype=np.float64), side="right")
    padded: FloatArray = np.concatenate([np.ones((len(curves), 1)), curves], axis=1)
    return padded[:, where]


def own_state(state: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The state, if this model saved it."""
    if state.get("name") != name:
        raise ValueError(f"this state was saved by {state.get('name')!r}; load it with that model, not {name!r}")
    return state
