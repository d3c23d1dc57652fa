"""What a run was made with: interpreter, libraries, pins and machine; written beside its numbers."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks import ROOT
from benchmarks.data.files import sha256_of

LIBRARIES = ("torch", "numpy", "scipy", "pandas", "numba", "lifelines", "scikit-survival", "pycox", "snakemake")


def environment() -> dict[str, Any]:
    """Plain JSON; no name of a host or a user, so that it can be published."""
    pins = ROOT / "requirements.txt"
    return {
        "python": platform.python_version(),
        "libraries": {name: found for name in LIBRARIES if (found := _version(name))},
        "pins": sha256_of(pins) if pins.is_file() else "",
        "system": f"{platform.system()} {platform.machine()}",
        "processor": processor(),
        "cores": os.cpu_count() or 0,
        "memory_gb": memory_gb(),
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """The processor's name; results can differ in the last bits between kinds of processors."""
    if cpuinfo.is_file():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def memory_gb() -> float:
    """Physical memory."""
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return 0.0
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)


def differences(then: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """What is not the same, in words; memory and cores change no number."""
    pairs = {key: (then.get(key), now.get(key)) for key in ("python", "system", "processor")}
    old, new = then.get("libraries", {}), now.get("libraries", {})
    pairs |= {name: (old.get(name), new.get(name)) for name in sorted({*old, *new})}
    return [f"{name} {a or 'absent'} then, {b or 'absent'} now" for name, (a, b) in pairs.items() if a != b]
