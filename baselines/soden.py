"""SODEN, SODEN-PH and SODEN-Cox as competitors, with the likelihood as the authors' code has it."""

from __future__ import annotations

from typing import Any, ClassVar

from torch import Tensor

from baselines.chunked import chunked_mean
from baselines.contract import Competitor, TrialOptions
from baselines.space import NETWORK
from soden import models
from soden.hazard import CoxHazard, GeneralHazard, Hazard, PHHazard, Solution
from soden.likelihood import floored_log
from soden.nets import Encoder
from soden.types import FloatArray, SurvivalData


class _AsPublished(models.OdeModel, Competitor):
    """Early stopping and selection by the figure that the authors' code prints."""

    space = NETWORK
    published_hazard: ClassVar[type[Hazard]]  # whose likelihood is floored as in the authors' code

    def prepare(self, train: SurvivalData) -> dict[str, Any]:
        """Also whether the authors' code is followed where it differs from the text."""
        published = isinstance(self.options, TrialOptions) and self.options.nll == "published"
        return super().prepare(train) | {"published": published}

    def make_hazard(self, encoder: Encoder, width: int, layers: int) -> Hazard:
        kind = self.published_hazard if self.prepared["published"] else self.hazard_class
        return kind(encoder, width, layers)

    def average(self, terms: FloatArray, time: FloatArray, weight: FloatArray | None) -> float:
        """The mean of the chunks' means, or the plain mean."""
        return chunked_mean(terms, time) if self.prepared["published"] else super().average(terms, time, weight)


class Soden(_AsPublished, models.Soden):
    """The general model."""

    name = "soden"
    label = "SODEN"
    published_hazard = GeneralHazard


class _PublishedPH(PHHazard):
    """The authors floor h0(y) and g(x) apart."""

    def log_lambda(self, solution: Solution) -> Tensor:
        assert solution.h0 is not None
        return floored_log(solution.h0) + floored_log(solution.encoded)


class SodenPH(_AsPublished, models.SodenPH):
    """Proportional hazards."""

    name = "soden_ph"
    label = "SODEN-PH"
    published_hazard = _PublishedPH


class _PublishedCox(CoxHazard):
    """The authors cut x beta at 10 in Lambda, but not in log lambda."""

    def log_lambda(self, solution: Solution) -> Tensor:
        assert solution.h0 is not None
        return floored_log(solution.h0) + solution.encoded


class SodenCox(_AsPublished, models.SodenCox):
    """Proportional hazards with a linear predictor."""

    name = "soden_cox"
    label = "SODEN-Cox"
    published_hazard = _PublishedCox
