"""The likelihood of right-censored and left-truncated times (Section 3.2)."""

from __future__ import annotations

import torch
from torch import Tensor

FLOOR = 1e-8  # hazards below it count as it inside the logarithm, as in the authors' code


def floored_log(hazard: Tensor) -> Tensor:
    """log(max(lambda, 1e-8))."""
    return torch.log(hazard.clamp(min=FLOOR))


def nll_terms(Lambda: Tensor, log_lambda: Tensor, event: Tensor, Lambda_entry: Tensor | None = None) -> Tensor:
    """-Delta log lambda(y) + Lambda(y) - Lambda(entry), one per subject; a subject seen from the start enters at 0."""
    terms = Lambda - event * log_lambda
    return terms if Lambda_entry is None else terms - Lambda_entry
