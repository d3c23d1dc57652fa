"""PC-Hazard (Kvamme and Borgan 2021): a hazard that is constant on each of some intervals, in continuous time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from baselines.contract import Competitor
from baselines.discrete import make_cuts
from baselines.network import Network
from baselines.space import REGULARISED_NETWORK, PerDataset
from soden.likelihood import nll_terms
from soden.nets import Encoder
from soden.training import Batch, NeuralModel
from soden.types import Features, FloatArray, IntArray, SurvivalData

SMALL = -15.0  # softplus(phi) = exp(phi) to seven digits below it, where its logarithm is phi (pycox's threshold)


class PCHazard(NeuralModel, Competitor):
    """lambda_x(t) = softplus(phi_l(x)) / width on interval l; past the last cut the last interval's goes on.

    pycox's loss counts time in intervals. Here log(width) is added for every event, which makes it the likelihood of
    the times themselves: comparable between numbers of intervals, and with SODEN's.
    """

    name = "pc_hazard"
    label = "PC-Hazard"
    # Searched as the paper searches its discrete-time models, of which this one differs by the loss alone (Appendix D).
    space = {**REGULARISED_NETWORK, "intervals": PerDataset("intervals")}  # noqa: RUF012

    def prepare(self, train: SurvivalData) -> dict[str, Any]:
        """The cuts, one more than intervals, and their distance."""
        cuts = make_cuts(train.time, int(self.hyper["intervals"]) + 1)
        return {"cuts": torch.as_tensor(cuts), "width": float(cuts[1])}

    def build(self, encoder: Encoder, prepared: Mapping[str, Any]) -> nn.Module:
        """One output per interval."""
        return Network(encoder, self.hyper, outputs=len(prepared["cuts"]) - 1)

    def targets(self, data: SurvivalData) -> tuple[Tensor, ...]:
        """For each subject: its interval, the share of the interval it was observed, its event."""
        interval, part = self._place(data.time)
        return torch.as_tensor(interval), *(torch.as_tensor(v, dtype=torch.float32) for v in (part, data.event))

    def loss(self, batch: Batch) -> Tensor:
        """Mean of -Delta log lambda(y) + Lambda(y)."""
        return self._terms(self.net(batch.x, batch.seq), *batch.target).mean()

    def _terms(self, phi: Tensor, interval: Tensor, part: Tensor, event: Tensor) -> Tensor:
        return pc_hazard_terms(phi, interval, part, event) + event * float(np.log(self._width))

    @torch.no_grad()
    def nll(self, data: SurvivalData) -> FloatArray:
        """-Delta log lambda(y) + Lambda(y) of each subject."""
        interval, part, event = (t.to(next(self.net.parameters()).device) for t in self.targets(data))
        terms = self._terms(self.net(*self.features(data)), interval, part, event)
        values: FloatArray = terms.double().cpu().numpy()
        return values

    def predict_survival(self, data: Features, times: FloatArray) -> FloatArray:
        """exp(-Lambda_x(t)), Lambda linear between the cuts."""
        ordered, back = np.unique(np.asarray(times, dtype=np.float64), return_inverse=True)
        interval, part = self._place(ordered)
        rate = self._rates(data)
        before = np.concatenate([np.zeros((len(rate), 1)), np.cumsum(rate, axis=1)], axis=1)
        # Rounding may leave a step down of one unit in the last place where an interval ends.
        Lambda = np.maximum.accumulate(before[:, interval] + rate[:, interval] * part, axis=1)
        return np.exp(-Lambda)[:, back]

    def predict_hazard(self, data: Features, times: FloatArray) -> FloatArray:
        """lambda_x(t), (n, len(times)); at a cut that of the interval which ends there."""
        interval, _ = self._place(np.asarray(times, dtype=np.float64))
        hazard: FloatArray = self._rates(data)[:, interval] / self._width
        return hazard

    def _rates(self, data: Features) -> FloatArray:
        """Lambda gained over each interval, (n, intervals)."""
        with torch.no_grad():
            rates: FloatArray = softplus(self.net(*self.features(data)).double()).cpu().numpy()
        return rates

    @property
    def _width(self) -> float:
        return float(self.prepared["width"])

    def _place(self, time: FloatArray) -> tuple[IntArray, FloatArray]:
        """The interval (left, right] of each time, and how far into it, in widths: more than 1 past the last cut."""
        cuts = self.prepared["cuts"].numpy()
        interval = np.clip(np.searchsorted(cuts, time, side="left") - 1, 0, len(cuts) - 2)
        return interval, (time - cuts[interval]) / self._width


def pc_hazard_terms(phi: Tensor, interval: Tensor, part: Tensor, event: Tensor) -> Tensor:
    """-Delta log lambda + Lambda with the width of an interval as the unit of time: pycox's loss."""
    rate = softplus(phi)
    own = rate.gather(1, interval[:, None])[:, 0]
    own_phi = phi.gather(1, interval[:, None])[:, 0]
    log_lambda = torch.where(own_phi < SMALL, own_phi, own.clamp(min=torch.finfo(own.dtype).tiny).log())
    intervals = torch.arange(phi.shape[1], device=phi.device)
    before = (rate * (intervals < interval[:, None])).sum(1)
    return nll_terms(before + own * part, log_lambda, event)
