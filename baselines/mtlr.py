"""MTLR (Yu et al. 2011; with a network, Fotso 2018): a logistic regression per cut, chained into one distribution."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import pad

from baselines.deephit import deephit_loss
from baselines.discrete import DiscreteTime
from baselines.space import REGULARISED_NETWORK, PerDataset
from soden.training import Batch


class MTLR(DiscreteTime):
    """Maximum likelihood of p_l(x), a softmax over sums of the network's outputs; pycox calls it MTLR."""

    name = "mtlr"
    label = "MTLR"
    # Searched as the paper searches its other discrete-time models, which share everything but the loss (Appendix D).
    space = {**REGULARISED_NETWORK, "intervals": PerDataset("intervals")}  # noqa: RUF012

    def loss(self, batch: Batch) -> Tensor:
        """Mean of -Delta log p_l - (1 - Delta) log S_l."""
        label, event = batch.target
        return mtlr_loss(self.net(batch.x, batch.seq), label, event)

    def survival_at_cuts(self, phi: Tensor) -> Tensor:
        """S_l = 1 - sum_{j <= l} p_j."""
        return 1 - pad(scores(phi), (0, 1)).softmax(1).cumsum(1)[:, :-1]


def scores(phi: Tensor) -> Tensor:
    """log p_l up to a constant: sum_{j >= l} phi_j, as everybody who dies at l is dead at all later cuts."""
    return phi.flip(1).cumsum(1).flip(1)


def mtlr_loss(phi: Tensor, label: Tensor, event: Tensor) -> Tensor:
    """The mean negative log-likelihood: DeepHit's on these scores, without a share for its ranking loss."""
    return deephit_loss(scores(phi), label, event, alpha=1.0, sigma=1.0)
