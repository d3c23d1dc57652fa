"""SuMo-net (Rindt et al. 2022): survival as a monotone network of time, trained by the right-censored likelihood."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import logsigmoid, softplus

from baselines.contract import Competitor
from baselines.space import Choice, PerDataset, Power
from soden.backends import array, serves
from soden.likelihood import FLOOR, nll_terms
from soden.nets import MLP, Encoder
from soden.training import Batch, NeuralModel
from soden.types import Features, FloatArray, SurvivalData

CACHE = 1 << 16  # hidden values at a time: as many as fit a core's cache


class MonotoneNet(nn.Module):
    """z(t, x), which rises with t: a network of x enters a tanh network whose weights on all that holds t are squares.

    The squares make it monotone. dz/dt is carried along with z, layer by layer, in closed form.
    """

    def __init__(self, encoder: Encoder, hyper: Mapping[str, Any]) -> None:
        super().__init__()
        self.encoder = encoder
        width = int(hyper["monotone_width"])
        depth = int(hyper["monotone_layers"])
        # Its linear output is what the first monotone layer adds of x, bias included.
        self.of_x = MLP(encoder.outputs, int(hyper["width"]), int(hyper["layers"]), width, float(hyper["dropout"]))
        self.of_t = nn.Parameter(torch.randn(width))
        # Squares of mean 1 / inputs: a sum of them neither vanishes nor saturates the next tanh.
        sizes = [width] * (depth - 1) + [1]
        self.roots = nn.ParameterList(torch.randn(size, width) / width**0.5 for size in sizes)
        self.biases = nn.ParameterList(torch.zeros(size) for size in sizes)

    def forward(self, from_x: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
        """z and dz/dt of n pairs: what `of_x` made of the subjects (width, n), and their times (n,) -> (n,), (n,)."""
        slope = self.of_t.square()[:, None]
        h = torch.tanh(from_x + slope * t)
        dh = (1 - h * h) * slope
        z = dz = h
        for k, (root, bias) in enumerate(zip(self.roots, self.biases, strict=True)):
            z, dz = _product(root.square(), torch.cat([h, dh], dim=1)).chunk(2, dim=1)
            z = z + bias[:, None]
            if k < len(self.roots) - 1:
                h = torch.tanh(z)
                dh = (1 - h * h) * dz
        return z[0], dz[0]


class SumoNet(NeuralModel, Competitor):
    """S_x(t) = 1 - sigmoid(z(t, x)), so lambda_x(t) = sigmoid(z) dz/dt and Lambda_x(t) = softplus(z).

    Nothing makes S(0) = 1 in the paper: the little mass before time 0 is lost right after it, where S(0) = 1. Hazards
    below 1e-8 count as it inside the logarithm, as SODEN's do. Time enters standardised. The authors' network of x has
    tanh units; here it has the ReLU units of all the others.
    """

    name = "sumo_net"
    label = "SuMo-net"
    # The authors' code (GitHub MrHuff/Sumo-Net, serious_run.py): depths 1 and 2, widths 8 to 32, these learning rates,
    # decays and dropouts. Their batches of 5 to 250 subjects are replaced by those of the data set, which all share.
    space = {  # noqa: RUF012
        "layers": Choice((1, 2)),
        "width": Choice((8, 16, 32)),
        "monotone_layers": Choice((1, 2)),
        "monotone_width": Choice((8, 16, 32)),
        "gru_width": Power(2, 3, 8, whole=True),  # as the paper's networks, where the data have series
        "lr": Choice((1e-3, 1e-2, 1e-1)),
        "weight_decay": Choice((0.0, 1e-4, 1e-3, 1e-2, 1e-1)),
        "dropout": Choice((0.0, 0.1, 0.2, 0.3, 0.4, 0.5)),
        "batch_size": PerDataset("batch_size"),
    }
    net: MonotoneNet

    def prepare(self, train: SurvivalData) -> dict[str, Any]:
        """Mean and sd of the training times."""
        return {"mean": float(train.time.mean()), "sd": float(train.time.std()) or 1.0}

    def build(self, encoder: Encoder, prepared: Mapping[str, Any]) -> nn.Module:
        """The network, which owns the encoder."""
        return MonotoneNet(encoder, self.hyper)

    def targets(self, data: SurvivalData) -> tuple[Tensor, ...]:
        """Standardised times, and events."""
        return self._scaled(data.time), torch.as_tensor(data.event, dtype=torch.float32)

    def loss(self, batch: Batch) -> Tensor:
        """Mean of -Delta log f(y) - (1 - Delta) log S(y)."""
        return self._terms(batch).mean()

    def _terms(self, batch: Batch) -> Tensor:
        """-Delta log lambda(y) + Lambda(y), which is the same."""
        t, event = batch.target
        z, dz = self.net(self._from_x(batch.x, batch.seq), t)
        return nll_terms(softplus(z), self._log_hazard(z, dz), event)

    def _log_hazard(self, z: Tensor, dz: Tensor) -> Tensor:
        """The log of the hazard, as a sum of logs, so that no product underflows before the floor is applied."""
        log_lambda = dz.clamp(min=torch.finfo(dz.dtype).tiny).log() + logsigmoid(z) - float(np.log(self.prepared["sd"]))
        return log_lambda.clamp(min=float(np.log(FLOOR)))

    @torch.no_grad()
    def nll(self, data: SurvivalData) -> FloatArray:
        """-Delta log lambda(y) + Lambda(y) of each subject."""
        values: FloatArray = self._terms(self.batch(data, next(self.net.parameters()).device)).double().cpu().numpy()
        return values

    def predict_survival(self, data: Features, times: FloatArray) -> FloatArray:
        """1 - sigmoid(z)."""
        ordered, back = np.unique(np.asarray(times, dtype=np.float64), return_inverse=True)
        z, _ = self._on_grid(data, ordered)
        # Rounding may leave a step down of one unit in the last place.
        survival = np.exp(-np.maximum.accumulate(softplus(z).numpy(), axis=1))
        survival[:, ordered == 0] = 1.0
        result: FloatArray = survival[:, back]
        return result

    def predict_hazard(self, data: Features, times: FloatArray) -> FloatArray:
        """sigmoid(z) dz/dt."""
        z, dz = self._on_grid(data, np.asarray(times, dtype=np.float64))
        hazard: FloatArray = (z.sigmoid() * dz / self.prepared["sd"]).numpy()
        return hazard

    @torch.no_grad()
    def _on_grid(self, data: Features, times: FloatArray) -> tuple[Tensor, Tensor]:
        """z and dz/dt at all pairs, (n, len(times)) in float64."""
        from_x = self._from_x(*self.features(data))
        t = self._scaled(times).to(from_x)
        n, width = from_x.shape[1], len(from_x)
        pieces = torch.split(t, max(1, CACHE // (2 * width * max(1, n))))
        parts = [self.net(from_x.repeat(1, len(part)), part.repeat_interleave(n)) for part in pieces]
        z, dz = (
            torch.cat([part[k].view(-1, n) for part in parts]).t().double().cpu() if parts else torch.empty(n, 0)
            for k in range(2)
        )
        return z, dz

    def _from_x(self, x: Tensor, seq: Tensor | None) -> Tensor:
        """(width, n): one column per subject, as the compiled products want it."""
        out: Tensor = self.net.of_x(self.net.encoder(x, seq))
        return out.t()

    def _scaled(self, time: FloatArray) -> Tensor:
        scaled = (np.asarray(time, dtype=np.float64) - self.prepared["mean"]) / self.prepared["sd"]
        return torch.as_tensor(scaled, dtype=torch.float32)


class _Product(torch.autograd.Function):
    """W a through the compiled loops: the same bits on every processor, which torch's own product has only slowly."""

    @staticmethod
    def forward(ctx: Any, W: Tensor, a: Tensor) -> Tensor:
        from soden.kernels import loops

        ctx.save_for_backward(W, a)
        y = np.empty((len(W), a.shape[1]), np.float32)
        loops.affine(array(W), array(a), np.zeros(len(W), np.float32), y)
        return torch.from_numpy(y)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor]:
        from soden.kernels import loops

        W, a = (array(t) for t in ctx.saved_tensors)
        d = np.ascontiguousarray(array(g))
        g_W, g_a = np.zeros_like(W), np.empty_like(a)
        loops.add_outer(d[None], a[None], g_W)
        loops.affine(np.ascontiguousarray(W.T), d, np.zeros(len(a), np.float32), g_a)
        return torch.from_numpy(g_W), torch.from_numpy(g_a)


def _product(W: Tensor, a: Tensor) -> Tensor:
    """W a, (r, k) times (k, n)."""
    if not serves(W, a):
        return W @ a
    product: Tensor = _Product.apply(W.contiguous(), a.contiguous())  # type: ignore[no-untyped-call]
    return product
