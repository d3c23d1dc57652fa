"""Nnet-Survival (Gensheimer and Narasimhan 2019): a conditional hazard probability per interval, Appendix C."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid

from baselines.discrete import DiscreteTime
from soden.space import REGULARISED_NETWORK, PerDataset
from soden.training import Batch


class NnetSurvival(DiscreteTime):
    """lambda_l(x) = sigmoid(phi_l(x)), maximum likelihood; pycox calls it LogisticHazard."""

    name = "nnet_survival"
    label = "Nnet-Survival"
    space = {**REGULARISED_NETWORK, "intervals": PerDataset("intervals")}  # noqa: RUF012

    def loss(self, batch: Batch) -> Tensor:
        """Mean of -Delta log lambda_l - (1 - Delta) log(1 - lambda_l) - sum_{j < l} log(1 - lambda_j)."""
        label, event = batch.target
        phi = self.net(batch.x, batch.seq)
        return hazard_nll(phi, label, event)

    def survival_at_cuts(self, phi: Tensor) -> Tensor:
        """S_l = prod_{j <= l} (1 - lambda_j)."""
        return logsigmoid(-phi).cumsum(1).exp()


def hazard_nll(phi: Tensor, label: Tensor, event: Tensor) -> Tensor:
    """The discrete-time likelihood as binary cross-entropies of the intervals up to a subject's own."""
    label = label[:, None]
    died = torch.zeros_like(phi).scatter(1, label, event[:, None])
    terms = binary_cross_entropy_with_logits(phi, died, reduction="none")
    return terms.cumsum(1).gather(1, label).mean()
