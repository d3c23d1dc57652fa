"""Cox: the linear proportional hazards model, lambda_x(t) = lambda_0(t) exp(x theta), with Breslow's baseline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import torch

from baselines.contract import Competitor
from soden.types import Features, FitReport, FloatArray, SurvivalData, concatenate

# Enough to keep the Hessian regular where a dummy is constant in a training part, too little to matter: on the
# released splits a hundred times less moves one coefficient (a dummy of a handful of subjects) by 1e-4, others by 1e-8.
RIDGE = 1e-4


class Cox(Competitor):
    """No search; fitted on train + valid, as the paper does. Survival curves are Breslow's step functions."""

    name = "cox"
    label = "Cox"
    takes_seq = False

    theta: FloatArray  # (p,)
    times: FloatArray  # event times, ascending
    cumulative: FloatArray  # H_0 at those times

    def fit(self, train: SurvivalData, valid: SurvivalData, seed: int = 0) -> FitReport:
        """Newton's method on the partial likelihood (scikit-survival, Breslow's ties); nothing in it is random."""
        from sksurv.linear_model import CoxPHSurvivalAnalysis
        from sksurv.util import Surv

        both = concatenate(train, valid)
        x = both.x.astype(np.float64)
        model = CoxPHSurvivalAnalysis(alpha=RIDGE, ties="breslow").fit(x, Surv.from_arrays(both.event, both.time))
        self.theta = np.asarray(model.coef_)
        baseline = model.cum_baseline_hazard_
        jumps = np.diff(baseline.y, prepend=0.0) > 0
        self.times, self.cumulative = np.asarray(baseline.x)[jumps], np.asarray(baseline.y)[jumps]
        return FitReport("ok", valid_loss=float("nan"))

    def predict_survival(self, data: Features, times: FloatArray) -> FloatArray:
        """exp(-H_0(t) exp(x theta))."""
        at = np.searchsorted(self.times, times, side="right")
        baseline = np.concatenate([[0.0], self.cumulative])[at]
        log_risk = data.x.astype(np.float64) @ self.theta
        with np.errstate(divide="ignore", over="ignore"):  # in logs, since 0 times an overflown risk is not a number
            survival: FloatArray = np.exp(-np.exp(log_risk[:, None] + np.log(baseline)))
        return survival

    def state(self) -> dict[str, Any]:
        """Coefficients and the baseline."""
        arrays = {"theta": self.theta, "times": self.times, "cumulative": self.cumulative}
        return {"name": self.name, **{k: torch.as_tensor(v) for k, v in arrays.items()}}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild the fitted model."""
        model = cls()
        model.theta, model.times, model.cumulative = (state[k].numpy() for k in ("theta", "times", "cumulative"))
        return model
