"""Readings of the baselines that no setting offers: other libraries have them, or the authors might have had them.

Each is a context in which the models are built that way; used to measure what the reading does to the cells, never by a
run of the study.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

import baselines.network
from baselines.cox_time import CoxTime
from baselines.discrete import DiscreteTime
from benchmarks.metrics.censoring import kaplan_meier
from soden.nets import MLP
from soden.training import Batch
from soden.types import BoolArray, FloatArray, SurvivalData


class NormBeforeReLU(MLP):
    """Linear -> batch norm -> ReLU -> [dropout], in torch: the compiled loops know the other order only."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for i, module in enumerate(list(self)):
            if isinstance(module, nn.BatchNorm1d):
                self[i], self[i - 1] = self[i - 1], module

    def forward(self, x: Tensor) -> Tensor:
        """(n, inputs) -> (n, outputs)."""
        out: Tensor = nn.Sequential.forward(self, x) if self._normed else super().forward(x)  # type: ignore[no-untyped-call]
        return out

    def after_first(self, u: Tensor) -> Tensor:
        """What comes after the first linear layer: its outputs u (width, n) -> (outputs, n)."""
        out: Tensor = nn.Sequential(*list(self)[1:])(u.t()).t() if self._normed else super().after_first(u)
        return out

    @property
    def _normed(self) -> bool:
        return any(isinstance(module, nn.BatchNorm1d) for module in self)


class KaimingStart(MLP):
    """Hidden layers that start from Kaiming's normal weights, as torchtuples' MLPVanilla does."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for layer in self.linears()[:-1]:
            nn.init.kaiming_normal_(layer.weight.data, nonlinearity="relu")


@contextmanager
def network(mlp: type[MLP]) -> Iterator[None]:
    """All baselines with this MLP."""
    with patch.object(baselines.network, "MLP", mlp):
        yield


def quantile_cuts(time: FloatArray, event: BoolArray, intervals: int) -> FloatArray:
    """The last times at which the Kaplan-Meier curve is still at equally spaced levels, doubled ones once.

    The other scheme of Kvamme and Borgan (2021), as pycox has it.
    """
    times, survival, _ = kaplan_meier(time, event)
    rising = np.concatenate([[1.0], survival])[::-1]
    levels = np.linspace(rising[0], 1.0, intervals)
    cuts = np.unique(np.concatenate([[0.0], times])[::-1][np.searchsorted(rising, levels)])
    cuts[0] = 0.0
    return cuts


@contextmanager
def cuts_at_quantiles() -> Iterator[None]:
    """The discrete-time models with intervals of equal numbers of events instead of equal lengths."""

    def prepare(self: DiscreteTime, train: SurvivalData) -> Mapping[str, Any]:
        return {"cuts": torch.as_tensor(quantile_cuts(train.time, train.event, int(self.hyper["intervals"])))}

    with patch.object(DiscreteTime, "prepare", prepare):
        yield


@contextmanager
def one_fresh_control() -> Iterator[None]:
    """Cox-Time's validation loss with one control per case, drawn anew at every epoch: pycox's own default."""
    generator = torch.Generator().manual_seed(0)

    def loss(self: CoxTime, batch: Batch) -> Tensor:
        t, _, first = batch.target
        case = self.examples(batch)
        left = len(batch) - first[case]
        control = first[case] + (torch.rand(len(case), generator=generator) * left).long().clamp(max=left - 1)
        encoded = self.net.encoder(batch.x, batch.seq)
        return softplus(self.net.at(encoded[control], t[case]) - self.net.at(encoded[case], t[case])).mean()

    with patch.object(CoxTime, "loss", loss):
        yield
