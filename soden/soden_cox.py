"""SODEN-Cox: h0(t) exp(x beta), the linear Cox model with a network as its baseline (Section 5.2)."""

from __future__ import annotations

from soden.hazard import CoxHazard
from soden.model import SeparableModel


class SodenCox(SeparableModel):
    """Proportional hazards with a linear predictor; takes static features only, as in the paper."""

    name = "soden_cox"
    label = "SODEN-Cox"
    hazard_class = CoxHazard
    takes_seq = False
