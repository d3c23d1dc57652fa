"""Gradient boosting of the Cox partial likelihood (Ridgeway 1999): log risk as a sum of small regression trees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import torch

from baselines.contract import Competitor
from baselines.curves import at_steps, own_state
from baselines.deepsurv import breslow, need_events, partial_likelihood_loss
from baselines.space import Choice, Power, Uniform
from baselines.trees import Trees
from soden.types import BoolArray, Features, FitReport, FloatArray, SurvivalData

TREES = 500  # at most, a tenth of LSB's; early stopping ends most fits before
PATIENCE = 50  # trees; each is a smaller step than a network's epoch, of which ten are waited for


class GradientBoosting(Competitor):
    """lambda_x(t) = h_0(t) exp(f(x)): scikit-survival's boosting, stopped on the validation part, then Breslow."""

    name = "gradient_boosting"
    label = "GBM"
    takes_seq = False
    # Ranges of the large-scale survival benchmark for boosted trees (Burk et al. 2024, arXiv 2406.04098): learning rate
    # in (0, 1), here by its logarithm; shares of features and of subjects in (0, 1); depths of 1 to 20, here to 8, past
    # which trees are weak learners no longer and cost most.
    space = {  # noqa: RUF012
        "learning_rate": Power(10, -2, 0),
        "max_depth": Choice((1, 2, 3, 4, 5, 6, 7, 8)),
        "max_features": Uniform(0.05, 1),
        "subsample": Uniform(0.1, 1),
    }

    trees: Trees
    value: FloatArray  # what each node adds to the log risk, learning rate included
    times: FloatArray  # event times, ascending
    log_H0: FloatArray  # Breslow's baseline there

    def fit(self, train: SurvivalData, valid: SurvivalData, seed: int = 0) -> FitReport:
        """Add trees until the validation part's partial likelihood has not improved for PATIENCE of them."""
        from sksurv.util import Surv

        need_events(train)
        need_events(valid)
        rate = float(self.hyper["learning_rate"])
        history: list[float] = []
        log_risk = np.zeros(len(valid))
        time, event = torch.as_tensor(valid.time), torch.as_tensor(valid.event, dtype=torch.float64)

        def stop(stage: int, boosting: Any, _: Any) -> bool:
            nonlocal log_risk
            log_risk = log_risk + rate * boosting.estimators_[stage, 0].predict(valid.x)
            history.append(float(partial_likelihood_loss(torch.as_tensor(log_risk), time, event)))
            return len(history) - int(np.argmin(history)) > PATIENCE

        boosting = _boosting()(
            n_estimators=TREES,
            learning_rate=rate,
            max_depth=int(self.hyper["max_depth"]),
            max_features=float(self.hyper["max_features"]),
            subsample=float(self.hyper["subsample"]),
            random_state=seed % 2**32,
        ).fit(train.x, Surv.from_arrays(train.event, train.time), monitor=stop)
        if not np.isfinite(history).all():
            return FitReport("diverged", float("nan"), message="the validation part's partial likelihood is not finite")
        best = int(np.argmin(history)) + 1
        fitted = [tree.tree_ for tree in boosting.estimators_[:best, 0]]
        self.trees, self.value = Trees.of(fitted), rate * np.concatenate([tree.value[:, 0, 0] for tree in fitted])
        self.times, self.log_H0 = breslow(self._log_risk(train), train)
        stopped_by = "patience" if len(history) < TREES else "max_epochs"
        return FitReport("ok", history[best - 1], len(history), best, stopped_by)

    def predict_survival(self, data: Features, times: FloatArray) -> FloatArray:
        """exp(-H_0(t) exp(f(x))): a step function that jumps at the training part's event times."""
        with np.errstate(over="ignore"):  # a huge risk means survival 0
            curves = np.exp(-np.exp(self._log_risk(data)[:, None] + self.log_H0))
        return at_steps(self.times, curves, times)

    def _log_risk(self, data: Features) -> FloatArray:
        x = np.ascontiguousarray(data.x, dtype=np.float32)
        total = np.zeros(len(x))
        for k in range(len(self.trees)):
            total += self.value[self.trees.nodes(k)][self.trees.leaves(k, x)]
        return total

    def state(self) -> dict[str, Any]:
        """Trees and baseline, as tensors."""
        arrays = {key: torch.as_tensor(getattr(self, key)) for key in ("value", "times", "log_H0")}
        return {"name": self.name, "hyper": self.hyper, "trees": self.trees.state(), **arrays}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild the fitted model."""
        own = own_state(state, cls.name)
        model = cls(own["hyper"])
        model.trees = Trees.from_state(own["trees"])
        model.value, model.times, model.log_H0 = (own[key].numpy() for key in ("value", "times", "log_H0"))
        return model


def negative_gradient(log_risk: FloatArray, time: FloatArray, event: BoolArray) -> FloatArray:
    """Delta_i - exp(f_i) times the sum over the events at y_j <= y_i of 1 / sum_{k: y_k >= y_j} exp(f_k).

    The pull of the partial likelihood on each f_i, in O(n log n). scikit-survival visits all pairs, which takes 98% of
    its time on SUPPORT.
    """
    order = np.argsort(time, kind="stable")
    sorted_time = time[order]
    risk = np.exp(log_risk - log_risk.max())[order]
    at_risk = np.cumsum(risk[::-1])[::-1][np.searchsorted(sorted_time, sorted_time, side="left")]
    hazard = np.cumsum(event[order] / at_risk)[np.searchsorted(sorted_time, sorted_time, side="right") - 1]
    gradient = np.empty(len(time))
    gradient[order] = event[order] - risk * hazard
    return gradient


def _boosting() -> Any:
    """scikit-survival's class with the gradient from above, and without the train scores that nobody reads."""
    from sksurv.ensemble import GradientBoostingSurvivalAnalysis
    from sksurv.ensemble.survival_loss import CoxPH

    class FastCoxPH(CoxPH):  # type: ignore[misc]
        def __call__(self, y_true: Any, raw_prediction: Any, sample_weight: Any = None) -> float:
            return float("nan")

        def gradient(self, y_true: Any, raw_prediction: Any, sample_weight: Any = None, **_: Any) -> FloatArray:
            return negative_gradient(raw_prediction.ravel(), y_true["time"], y_true["event"])

    class Boosting(GradientBoostingSurvivalAnalysis):  # type: ignore[misc]
        def _get_loss(self, sample_weight: Any) -> FastCoxPH:
            return FastCoxPH()

    return Boosting
