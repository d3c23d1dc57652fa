"""Numbers and names as the page prints them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from benchmarks.results.names import higher_is_better

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


def arrow(metric: str) -> str:
    """Where better is."""
    return "↑" if higher_is_better(metric) else "↓"


def cell_values(cell: Mapping[str, Any] | None) -> dict[str, Any]:
    """A cell as printed, with its mean for sorting and its mark; without a mean, why there is none."""
    if cell is None or not known(cell["mean"]):
        why = "N/A" if cell is None or cell["status"] == "not_applicable" else cell["status"]
        return {"text": why, "mean": "", "mark": ""}
    text = mean_and_error(cell["mean"], cell["standard_error"]) + ("*" if cell["significant"] else "")
    return {"text": text, "mean": cell["mean"], "mark": cell["mark"]}


def slug(*parts: str) -> str:
    """An id for an anchor."""
    return "-".join(part.replace(".", "_") for part in parts if part)
