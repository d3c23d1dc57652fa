"""Numbers and names as the page prints them."""

from __future__ import annotations

import math
from typing import Any

from benchmarks.results.names import BEYOND, DATASETS, MODELS

METRICS = {
    "ctd": "Cᵗᵈ",
    "ibll": "IBLL",
    "ibs": "IBS",
    "nll": "NLL",
    "antolini": "Antolini C",
    "uno": "Uno C",
    "dcal": "D-calibration",
    "dcal_p": "D-calibration p",
}
ARROWS = {"ctd": "↑", "ibll": "↑", "ibs": "↓", "nll": "↓"}
NONE = "–"


def known(value: Any) -> bool:
    """Whether there is a number."""
    return value is not None and not (isinstance(value, float) and math.isnan(value))


def number(value: Any, digits: int = 3, sign: bool = False) -> str:
    """A fixed number of decimals, with a true minus; a dash where there is none."""
    if not known(value):
        return NONE
    text = f"{abs(round(value, digits)):.{digits}f}"
    negative = round(value, digits) < 0
    return ("−" if negative else "+" if sign and float(text) else "") + text


def mean_and_error(mean: Any, error: Any) -> str:
    """`0.627 ±.003`, as in the paper."""
    if not known(mean):
        return NONE
    bar = number(error).removeprefix("0") if known(error) else NONE
    return f"{number(mean)} ±{bar}"


def p_value(value: Any) -> str:
    """Two figures, or "< 0.001"."""
    if not known(value):
        return NONE
    return "< 0.001" if value < 0.001 else f"{value:.2g}"


def seconds(value: Any) -> str:
    """Three figures."""
    return f"{value:.3g}" if known(value) else NONE


def plural(n: int, thing: str) -> str:
    """`1 split`, `10 splits`."""
    return f"{n:,} {thing}" if n == 1 else f"{n:,} {thing}s"


def dataset_label(name: str) -> str:
    """As printed."""
    return DATASETS.get(name, name)


def model_label(name: str) -> str:
    """As printed."""
    return (MODELS | BEYOND).get(name, name)


def slug(*parts: str) -> str:
    """An id for an anchor."""
    return "-".join(part.replace(".", "_") for part in parts if part)
