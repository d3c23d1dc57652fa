"""DeepSurv (Katzman et al. 2018): proportional hazards with a neural network, Appendix B."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from baselines.contract import Competitor
from baselines.network import Network
from baselines.space import REGULARISED_NETWORK
from soden.nets import Encoder
from soden.training import Batch, NeuralModel
from soden.types import Features, FitReport, FloatArray, SurvivalData

EPS = 1e-7  # pycox's guard inside the logarithm of the risk-set sum


class DeepSurv(NeuralModel, Competitor):
    """lambda_x(t) = h_0(t) exp(g(x)): in-batch partial likelihood, then Breslow's baseline on the training part.

    As in pycox, the risk set of a case is its own mini-batch's, and tied times stand in the order of a sort.
    """

    name = "deepsurv"
    label = "DeepSurv"
    space = REGULARISED_NETWORK

    def prepare(self, train: SurvivalData) -> dict[str, Any]:
        """Nothing: Breslow's estimate needs the fitted network."""
        return {}

    def build(self, encoder: Encoder, prepared: Mapping[str, Any]) -> nn.Module:
        """One output, g(x)."""
        return Network(encoder, self.hyper, outputs=1)

    def targets(self, data: SurvivalData) -> tuple[Tensor, ...]:
        """Times and events."""
        need_events(data)
        return torch.as_tensor(data.time), torch.as_tensor(data.event, dtype=torch.float32)

    def loss(self, batch: Batch) -> Tensor:
        """Mean over the batch's events of -g(x_i) + log sum_{j in R_i} exp g(x_j)."""
        time, event = batch.target
        return partial_likelihood_loss(self.net(batch.x, batch.seq)[:, 0], time, event)

    def after_fit(self, train: SurvivalData, report: FitReport) -> FitReport:
        """Breslow's log H_0 at the training part's event times."""
        times, log_cumulative = breslow(self._log_risk(train), train)
        self.prepared = {"times": torch.as_tensor(times), "log_H0": torch.as_tensor(log_cumulative)}
        return report

    def predict_survival(self, data: Features, times: FloatArray) -> FloatArray:
        """exp(-H_0(t) exp(g(x))): a step function that jumps at the training part's event times."""
        jumps = self.prepared["times"].numpy()
        log_H0 = np.concatenate([[-np.inf], self.prepared["log_H0"].numpy()])
        at = np.searchsorted(jumps, np.asarray(times, dtype=np.float64), side="right")
        with np.errstate(over="ignore"):  # a huge risk means survival 0
            survival: FloatArray = np.exp(-np.exp(self._log_risk(data)[:, None] + log_H0[at]))
        return survival

    def _log_risk(self, data: Features) -> FloatArray:
        with torch.no_grad():
            g: FloatArray = self.net(*self.features(data))[:, 0].double().cpu().numpy()
        return g


def need_events(data: SurvivalData) -> None:
    """Refuse a part that the partial likelihood cannot score."""
    if not data.event.any():
        raise ValueError(
            f"a part of {len(data)} subjects without events has no partial likelihood to train or stop on; "
            "draw another split, or use a model with a full likelihood"
        )


def partial_likelihood_loss(g: Tensor, time: Tensor, event: Tensor) -> Tensor:
    """Negative log partial likelihood per event, risk sets within the rows given; 0 where there is no event."""
    order = time.argsort(descending=True)
    g, event = g[order], event[order]
    g = g - g.max()
    log_risk = g.exp().cumsum(0).add(EPS).log()
    return torch.dot(log_risk - g, event) / event.sum().clamp(min=1)


def breslow(log_risk: FloatArray, data: SurvivalData) -> tuple[FloatArray, FloatArray]:
    """Event times and log H_0 there, H_0(t) = sum_{y_i <= t} Delta_i / sum_{j in R_i} exp g(x_j); O(n log n).

    In logs, so that no risk is too large for a float.
    """
    order = np.argsort(data.time, kind="stable")
    time, event, g = data.time[order], data.event[order], log_risk[order]
    log_at_risk = np.logaddexp.accumulate(g[::-1])[::-1]  # over j from i to the end
    first = np.searchsorted(time, np.unique(time[event]))  # ties: everybody with that time is at risk
    deaths = np.add.reduceat(event, first, dtype=np.float64) if len(first) else np.zeros(0)
    # reduceat sums up to the next event time; the rows in between are censored and add nothing.
    return time[first], np.logaddexp.accumulate(np.log(deaths) - log_at_risk[first])
