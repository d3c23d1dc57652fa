"""The inner loops of the networks on a CPU, compiled by numba; `soden.backends` calls them.

A survival network is small (4 to 128 units, batches of 32 to 1024), so a step through torch is mostly calls: a solve of
SODEN makes hundreds, each of some microseconds for a microsecond of arithmetic. Here a pass is one call. Everything is
float32, and no library is called whose bits depend on the processor: where the code is compiled for one kind of
processor, as `benchmarks.numerics` has it, the bits are the same on all.
"""

# mypy: disable-error-code="attr-defined"

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import config


def _cache() -> str:
    """Where compiled code is kept: where the user wants it, else with Python's own beside these files, else aside."""
    here = Path(__file__).parent
    # Numba makes code anew when the file of a function changes, not when that of one it calls does: so the name of the
    # folder holds all of them.
    version = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(here.glob("*.py")))).hexdigest()[:16]
    places = [Path(config.CACHE_DIR)] if config.CACHE_DIR else []
    for place in (*places, here / "__pycache__"):
        with contextlib.suppress(OSError):
            place.mkdir(parents=True, exist_ok=True)
            if os.access(place, os.W_OK):
                return str(place / f"soden-kernels-{version}")
    return str(Path(tempfile.gettempdir()) / f"soden-kernels-{version}")


_CACHE = _cache()


def kernel(function: Callable[..., Any], sums: str = "reassoc") -> Any:
    """Compile at the first call; multiply-adds may be fused and sums split over the lanes of a vector, no more."""
    users, config.CACHE_DIR = config.CACHE_DIR, _CACHE
    try:
        return numba.njit(cache=True, error_model="numpy", fastmath={"contract", sums})(function)
    finally:
        config.CACHE_DIR = users


def literal_kernel(function: Callable[..., Any]) -> Any:
    """The same, but sums stay in the order they are written."""
    return kernel(function, "contract")
