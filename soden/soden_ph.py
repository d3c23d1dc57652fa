"""SODEN-PH: h0(t) g(x), both networks; proportional hazards without a parametric form (Section 5.2)."""

from __future__ import annotations

from soden.hazard import PHHazard
from soden.model import OdeModel


class SodenPH(OdeModel):
    """Proportional hazards."""

    name = "soden_ph"
    label = "SODEN-PH"
    hazard_class = PHHazard

    def error_block(self) -> int:
        """The training batch's size: its sorted times are the mesh, so the error depends on how many there are."""
        return int(self.hyper["batch_size"])
