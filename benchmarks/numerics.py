"""The same bits on every x86-64 processor, or the fastest ones here: settled before numpy and torch are loaded.

The libraries choose their arithmetic by the processor they find: AVX-512 here, AVX2 there, other code on AMD than on
Intel. A training run that differs in one bit ends elsewhere. `portable`, the default, holds all of them to one code
path that any processor since 2013 has (AVX2 with fused multiply-add):

- torch's own kernels to AVX2; its matrix products and logarithms come from MKL, whose one path that is the same on
  Intel and AMD is its slowest: the networks therefore do their products in `soden.kernels`, compiled for one processor;
- numpy and OpenBLAS to AVX2; numba to the code of a Haswell.

`native` leaves every library its choice. Verbs, rules and tests call `set_up` before they import anything else; it
raises TooLate if numpy or torch was imported first. `import soden` alone sets nothing.
"""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

VARIABLE = "SODEN_NUMERICS"
MODES = ("portable", "native")
PORTABLE = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_CBWR": "COMPATIBLE",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "+avx2,+fma",
    "NUMBA_DISABLE_INTEL_SVML": "1",
}
# One thread unless the caller says otherwise: a study runs one process per core, and a second thread in each only makes
# them wait for each other. Sums over threads would also depend on how many there are.
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
LOADED_TOO_EARLY = ("numpy", "torch", "numba")


class TooLate(RuntimeError):
    """Libraries were loaded before they could be told what to compute with."""


def set_up(mode: str | None = None) -> None:
    """Make the environment what `mode` asks for; by default what $SODEN_NUMERICS says, else portable."""
    mode = mode or os.environ.get(VARIABLE) or MODES[0]
    if mode not in MODES:
        raise ValueError(f"{VARIABLE} must be {' or '.join(MODES)}; got {mode!r}")
    wanted = PORTABLE if mode == "portable" else {}
    others = dict.fromkeys(PORTABLE) if mode == "native" else {}
    changed = [n for n, value in {**wanted, **others}.items() if os.environ.get(n) != value]
    early = [name for name in LOADED_TOO_EARLY if name in sys.modules]
    if changed and early:
        raise TooLate(
            f"{', '.join(early)} came before benchmarks.numerics, so numbers would not be {mode}; start through "
            f"`python -m benchmarks`, or set {VARIABLE}={mode} and call benchmarks.numerics.set_up() first of all"
        )
    os.environ[VARIABLE] = mode
    for name in changed:
        if name in wanted:
            os.environ[name] = wanted[name]
        else:
            del os.environ[name]
    for name in THREADS:
        os.environ.setdefault(name, "1")


def mode() -> str:
    """The mode that `set_up` has settled; TooLate if it has not run."""
    chosen = os.environ.get(VARIABLE)
    if chosen not in MODES:
        raise TooLate(f"nobody has settled the numerics; start through `python -m benchmarks`, or see {__name__}")
    return chosen


def kind() -> str:
    """How numbers are computed here: "portable", "native", or "own bits of ..." on a processor without AVX2."""
    if mode() == "native":
        return "native"
    if not _has_avx2():
        return f"own bits of {platform.machine() or 'this machine'}"
    import torch

    if (found := torch.backends.cpu.get_cpu_capability()) != "AVX2":
        raise TooLate(f"torch computes with {found} where portable numerics were asked for: it was loaded too early")
    return "portable"


def _has_avx2(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether this is an x86-64 processor of 2013 or later."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return False
    if not cpuinfo.is_file():
        return True  # not Linux: torch's own answer is asked for next
    flags = {word for line in cpuinfo.read_text().splitlines() if line.startswith("flags") for word in line.split()}
    return {"avx2", "fma"} <= flags


def note() -> str:
    """A sentence for processors that cannot compute the portable bits; empty elsewhere."""
    found = kind()
    if not found.startswith("own"):
        return ""
    return f"This processor cannot compute the portable bits; rows have the {found}, and others' may differ in the end."
