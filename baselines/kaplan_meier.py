"""Kaplan-Meier: the same curve for every subject, which a model with features should predict better than."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import torch

from baselines.contract import Competitor
from baselines.curves import at_steps, own_state
from soden.types import Features, FitReport, FloatArray, SurvivalData, concatenate


class KaplanMeier(Competitor):
    """No features, no search; fitted on train + valid, as Cox is.

    All pairs of subjects are tied, and the published C^td gives nothing for ties: it is 0 here, not one half.
    """

    name = "kaplan_meier"
    label = "Kaplan-Meier"
    takes_seq = False

    times: FloatArray  # event times, ascending
    survival: FloatArray  # S at those times

    def fit(self, train: SurvivalData, valid: SurvivalData, seed: int = 0) -> FitReport:
        """S(t) = product over the event times up to t of 1 - deaths / at risk (scikit-survival)."""
        from sksurv.nonparametric import kaplan_meier_estimator

        both = concatenate(train, valid)
        times, survival = kaplan_meier_estimator(both.event, both.time)
        jumps = np.diff(survival, prepend=1.0) < 0  # the estimator also lists the times of censoring
        self.times, self.survival = times[jumps], survival[jumps]
        return FitReport("ok", valid_loss=float("nan"))

    def predict_survival(self, data: Features, times: FloatArray) -> FloatArray:
        """The one curve for each of them."""
        return np.tile(at_steps(self.times, self.survival[None], times), (len(data.x), 1))

    def state(self) -> dict[str, Any]:
        """The curve."""
        return {"name": self.name, "times": torch.as_tensor(self.times), "survival": torch.as_tensor(self.survival)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild the fitted model."""
        model, own = cls(), own_state(state, cls.name)
        model.times, model.survival = own["times"].numpy(), own["survival"].numpy()
        return model
