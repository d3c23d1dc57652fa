"""The authors' average of a likelihood: the unweighted mean over chunks of 1,024 subjects, sorted by time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

CHUNK = 1024  # subjects that the authors' code evaluates at once


def chunked_mean(terms: npt.NDArray[np.floating[Any]], time: npt.NDArray[np.floating[Any]]) -> float:
    """The unweighted mean of the means over time-sorted chunks of 1024; the plain mean of fewer subjects."""
    ordered = np.asarray(terms)[np.argsort(time, kind="stable")]
    return float(np.mean([ordered[i : i + CHUNK].mean() for i in range(0, len(ordered), CHUNK)]))
