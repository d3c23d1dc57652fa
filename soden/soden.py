"""SODEN: h(Lambda, t; x) is one network, no assumption on the shape of the hazard (Section 3.1)."""

from __future__ import annotations

from soden.hazard import GeneralHazard
from soden.model import OdeModel


class Soden(OdeModel):
    """The general model."""

    name = "soden"
    label = "SODEN"
    hazard_class = GeneralHazard
