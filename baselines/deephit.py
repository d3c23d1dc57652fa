"""DeepHit (Lee et al. 2018): a probability mass per interval, likelihood plus ranking loss, Appendix C."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from baselines.discrete import DiscreteTime
from baselines.space import REGULARISED_NETWORK, Choice, PerDataset, Uniform
from soden.training import Batch

EPS = 1e-7  # pycox's guard inside the logarithms


class DeepHit(DiscreteTime):
    """p_l(x) by a softmax over the intervals and one place past the last; alpha NLL + (1 - alpha) ranking loss.

    alpha as pycox has it: 1 is the likelihood alone, 0 the ranking loss alone.
    """

    name = "deephit"
    label = "DeepHit"
    space = {  # noqa: RUF012
        **REGULARISED_NETWORK,
        "intervals": PerDataset("intervals"),
        "alpha": Uniform(0, 1),
        "sigma": Choice((0.25, 1, 5)),
    }

    def loss(self, batch: Batch) -> Tensor:
        """alpha NLL + (1 - alpha) L_2."""
        label, event = batch.target
        phi = self.net(batch.x, batch.seq)
        return deephit_loss(phi, label, event, float(self.hyper["alpha"]), float(self.hyper["sigma"]))

    def survival_at_cuts(self, phi: Tensor) -> Tensor:
        """S_l = 1 - sum_{j <= l} p_j."""
        return 1 - pad(phi, (0, 1)).softmax(1).cumsum(1)[:, :-1]


def deephit_loss(phi: Tensor, label: Tensor, event: Tensor, alpha: float, sigma: float) -> Tensor:
    """The mean loss of a batch, pairs compared within it; a zero logit stands for survival past the last cut."""
    log_p = pad(phi, (0, 1)).log_softmax(1)
    F = log_p.exp().cumsum(1)
    own = label[:, None]
    F_own = F.gather(1, own)[:, 0]
    guard = EPS * log_p.amax(1).exp()  # pycox adds EPS before it divides by the sum of exponentials
    log_S = (1 - F_own).relu().add(guard).log()
    nll = -torch.where(event > 0, log_p.gather(1, own)[:, 0], log_S).mean()
    return alpha * nll + (1 - alpha) * ranking_loss(F / sigma, F_own / sigma, label, event)


def ranking_loss(F: Tensor, F_own: Tensor, label: Tensor, event: Tensor) -> Tensor:
    """L_2: mean over all pairs of exp(-(F_{l_i}(x_i) - F_{l_i}(x_j))) where i is seen to die before j; F over sigma.

    exp(F_l(x_j)) summed over those j still alive after l serves every i that dies at l: O(n L) instead of O(n^2).
    """
    cuts = torch.arange(F.shape[1], device=F.device)
    leaves = (2 * label + (event == 0))[:, None]  # a censored subject leaves after those who die at the same cut
    of_others = (F.exp() * (leaves > 2 * cuts)).sum(0)[label]
    return torch.dot(of_others, event * (-F_own).exp()) / len(F) ** 2
