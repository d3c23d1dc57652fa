"""Nnet-Survival (Gensheimer and Narasimhan 2019): a conditional hazard probability per interval, Appendix C."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import softplus

from baselines.discrete import DiscreteTime
from baselines.space import REGULARISED_NETWORK, PerDataset
from soden.training import Batch

EPS = 1e-7  # pycox's guard inside the logarithm


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
        return (1 - phi.sigmoid() + EPS).cumprod(1)


def hazard_nll(phi: Tensor, label: Tensor, event: Tensor) -> Tensor:
    """-log(1 - lambda) = softplus(phi) for each interval up to a subject's own, and -phi more where it dies there."""
    cuts = torch.arange(phi.shape[1], device=phi.device)
    survived = (softplus(phi) * (cuts <= label[:, None])).sum()
    return (survived - (event * phi.gather(1, label[:, None])[:, 0]).sum()) / len(phi)
