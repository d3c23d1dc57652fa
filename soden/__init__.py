"""SODEN: survival models through ordinary differential equation networks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from soden.estimator import SODEN, SODENPH, FitDiverged, SODENCox

__version__ = "2.0.0"  # the one place; pyproject.toml reads it, saved models carry it
_LAZY = ("SODEN", "SODENPH", "FitDiverged", "SODENCox")
__all__ = ["SODEN", "SODENPH", "FitDiverged", "SODENCox", "__version__"]


def __getattr__(name: str) -> Any:
    """Load the estimators when first asked for: asking for one module must not bring the rest."""
    if name in _LAZY:
        from soden import estimator

        return getattr(estimator, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
