"""SODEN, SODEN-PH and SODEN-Cox as competitors: stopped and selected by the figure that the authors' code prints.

That code floors the two factors of the hazard separately, and cuts x beta in Lambda alone. If one factor falls below
its floor, log(lambda) is clamped but Lambda is not, so the likelihood grows without bound. Large learning rates find
this: on two of ten splits of SUPPORT training ended at an NLL of -3 and -5, where the published mean is .702. Here the
product of the factors is floored, as Section 3.2 says; `nll: authors` does what the authors' code does.
"""

from __future__ import annotations

from typing import Any, ClassVar

from torch import Tensor

from baselines.chunked import chunked_mean
from baselines.contract import Competitor
from baselines.space import NETWORK
from soden import models
from soden.hazard import CoxHazard, GeneralHazard, Hazard, PHHazard, Solution
from soden.likelihood import floored_log
from soden.nets import Encoder
from soden.types import FloatArray, SurvivalData


class _AsPublished(models.OdeModel, Competitor):
    """Early stopping and selection by the mean of the chunks' means, or by the plain mean."""

    space = NETWORK
    authors_hazard: ClassVar[type[Hazard]]  # whose likelihood is floored as in the authors' code

    def prepare(self, train: SurvivalData) -> dict[str, Any]:
        """Remember which likelihood the options ask for."""
        return super().prepare(train) | {"nll": getattr(self.options, "nll", "text")}

    def make_hazard(self, encoder: Encoder, width: int, layers: int) -> Hazard:
        kind = self.authors_hazard if self.prepared["nll"] == "authors" else self.hazard_class
        return kind(encoder, width, layers)

    def average(self, terms: FloatArray, time: FloatArray, weight: FloatArray | None) -> float:
        """The validation loss: the mean over chunks, as published, or the plain mean."""
        return super().average(terms, time, weight) if self.prepared["nll"] == "text" else chunked_mean(terms, time)


class Soden(_AsPublished, models.Soden):
    """The general model."""

    name = "soden"
    label = "SODEN"
    authors_hazard = GeneralHazard


class _AuthorsPH(PHHazard):
    """The authors floor h0(y) and g(x) apart."""

    def log_lambda(self, solution: Solution) -> Tensor:
        assert solution.h0 is not None
        return floored_log(solution.h0) + floored_log(solution.encoded)


class SodenPH(_AsPublished, models.SodenPH):
    """Proportional hazards."""

    name = "soden_ph"
    label = "SODEN-PH"
    authors_hazard = _AuthorsPH


class _AuthorsCox(CoxHazard):
    """The authors cut x beta at 10 in Lambda, but not in log lambda."""

    def log_lambda(self, solution: Solution) -> Tensor:
        assert solution.h0 is not None
        return floored_log(solution.h0) + solution.encoded


class SodenCox(_AsPublished, models.SodenCox):
    """Proportional hazards with a linear predictor."""

    name = "soden_cox"
    label = "SODEN-Cox"
    authors_hazard = _AuthorsCox
