"""SODEN: survival models through ordinary differential equation networks."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from soden.estimator import SODEN, SODENPH, FitDiverged, SODENCox
    from soden.machine import warm_up

__version__ = "2.0.0"  # the one place; pyproject.toml reads it, saved models carry it
_LAZY = dict.fromkeys(("SODEN", "SODENPH", "FitDiverged", "SODENCox"), "estimator") | {"warm_up": "machine"}
__all__ = ["SODEN", "SODENPH", "FitDiverged", "SODENCox", "__version__", "warm_up"]


def __getattr__(name: str) -> Any:
    """Load the estimators when first asked for: asking for one module must not bring the rest."""
    if name in _LAZY:
        return getattr(import_module(f"soden.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
