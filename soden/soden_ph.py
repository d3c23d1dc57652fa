"""SODEN-PH: h0(t) g(x), both networks; proportional hazards without a parametric form (Section 5.2)."""

from __future__ import annotations

from soden.hazard import PHHazard
from soden.model import SeparableModel


class SodenPH(SeparableModel):
    """Proportional hazards."""

    name = "soden_ph"
    label = "SODEN-PH"
    hazard_class = PHHazard
