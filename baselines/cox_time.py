"""Cox-Time (Kvamme et al. 2019): a relative risk that depends on time, Appendix B."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from baselines.contract import Competitor
from baselines.deepsurv import need_events
from baselines.network import Network
from baselines.space import REGULARISED_NETWORK
from soden.nets import Encoder
from soden.training import Batch, NeuralModel
from soden.types import Features, FitReport, FloatArray, SurvivalData

BLOCK = 1 << 20  # pairs of (time, subject) held at once
BASELINE_SUBJECTS = 10_000  # pycox's `sample`: all of SUPPORT and METABRIC, half of MIMIC, which would take minutes
VALID_CONTROLS = 10  # per validation case; pycox's own example repeats the validation part ten times


class CoxTime(NeuralModel, Competitor):
    """lambda_x(t) = h_0(t) exp(g(t, x)): each case against one control drawn from its risk set, then Breslow.

    As in pycox the cases make the batches, the control comes from everybody still at risk in the training part, and
    time enters the network standardised. Validation controls are drawn once, the same for every epoch and trial.
    """

    name = "cox_time"
    label = "Cox-Time"
    space = REGULARISED_NETWORK
    net: Network

    def prepare(self, train: SurvivalData) -> dict[str, Any]:
        """Mean and sd of the training times."""
        return {"mean": float(train.time.mean()), "sd": float(train.time.std()) or 1.0}

    def build(self, encoder: Encoder, prepared: Mapping[str, Any]) -> nn.Module:
        """One output, g(t, x)."""
        return Network(encoder, self.hyper, outputs=1, with_time=True)

    def fit(self, train: SurvivalData, valid: SurvivalData, seed: int = 0) -> FitReport:
        """Train on `train`, stop on `valid`, both in the order of time: a risk set is then all rows from one on."""
        self.train = _by_time(train)
        return super().fit(self.train, _by_time(valid), seed)

    def targets(self, data: SurvivalData) -> tuple[Tensor, ...]:
        """Standardised times, events, and the first row of each subject's risk set (`data` in the order of time)."""
        need_events(data)
        first = np.searchsorted(data.time, data.time, side="left")
        return self._scaled(data.time), torch.as_tensor(data.event), torch.as_tensor(first)

    def examples(self, whole: Batch) -> Tensor:
        """Batches are made of cases."""
        return whole.target[1].nonzero()[:, 0]

    def batch_loss(self, whole: Batch, rows: Tensor) -> Tensor:
        """Mean over the cases i of log(1 + exp(g(y_i, x_j) - g(y_i, x_i))), j drawn from those at risk at y_i."""
        t, _, first = whole.target
        control = _draw(first[rows], len(whole), torch.rand(len(rows), device=rows.device))
        both = torch.cat([rows, control])
        encoded = self.net.encoder(whole.x[both], None if whole.seq is None else whole.seq[both])
        g_case, g_control = self.net.at(encoded, t[rows].repeat(2)).chunk(2)
        return softplus(g_control - g_case).mean()

    def loss(self, batch: Batch) -> Tensor:
        """The same over all events of `batch`, with controls that never change: what early stopping compares."""
        t, _, first = batch.target
        case = self.examples(batch)
        uniform = torch.rand(VALID_CONTROLS, len(case), generator=torch.Generator().manual_seed(0))
        control = _draw(first[case], len(batch), uniform.to(case.device)).flatten()
        encoded = self.net.encoder(batch.x, batch.seq)
        g_case = self.net.at(encoded[case], t[case])
        g_control = self.net.at(encoded[control], t[case].repeat(VALID_CONTROLS)).view(VALID_CONTROLS, -1)
        return softplus(g_control - g_case).mean()

    def state(self) -> dict[str, Any]:
        """The state of a neural model, with Breslow's estimate."""
        self._baseline()
        return super().state()

    def predict_survival(self, data: Features, times: FloatArray) -> FloatArray:
        """exp(-sum_{y_i <= t} h_0(y_i) exp(g(y_i, x))): a step function that jumps at the training event times."""
        jumps, log_h0 = self._baseline()
        at = np.searchsorted(jumps.numpy(), np.asarray(times, dtype=np.float64), side="right")
        t = self._scaled(jumps.numpy())
        parts = []
        with torch.no_grad():
            for encoded in self.net.encoder(*self.features(data)).split(max(1, BLOCK // len(t))):
                log_steps = self.net.on_grid(encoded, t.to(encoded.device)).double().cpu() + log_h0[:, None]
                cumulative = torch.nn.functional.pad(log_steps.exp().cumsum(0), (0, 0, 1, 0))
                parts.append(torch.exp(-cumulative[at]).t())
        survival: FloatArray = torch.cat(parts).numpy()
        return survival

    def _baseline(self) -> tuple[Tensor, Tensor]:
        """Event times and log h_0 there: Delta_i over the sum of exp(g(y_i, x_j)) over the risk set.

        The network sees n_events x n / 2 pairs, as long as many epochs: done when a prediction or the state is asked
        for, so that of a hundred trials only the chosen one pays; and with a sample of a large training part.
        """
        if "log_h0" not in self.prepared:
            part = _sample(self.train)
            jumps, deaths = np.unique(part.time[part.event], return_counts=True)
            first = torch.as_tensor(np.searchsorted(part.time, jumps))
            with torch.no_grad():
                encoded = self.net.encoder(*self.features(part))
                log_risk = self._log_risk_sums(encoded, self._scaled(jumps).to(encoded.device), first)
            self.prepared |= {"times": torch.as_tensor(jumps), "log_h0": torch.as_tensor(np.log(deaths)) - log_risk}
        return self.prepared["times"], self.prepared["log_h0"]

    def _log_risk_sums(self, encoded: Tensor, t: Tensor, first: Tensor) -> Tensor:
        sums, k = [], 0
        rows = torch.arange(len(encoded))
        while k < len(t):
            start = int(first[k])
            block = slice(k, k + max(1, BLOCK // (len(encoded) - start)))
            g = self.net.on_grid(encoded[start:], t[block]).double().cpu()
            g[rows[start:] < first[block, None]] = -torch.inf  # left before the later times of this block
            sums.append(g.logsumexp(1))
            k = block.stop
        return torch.cat(sums)

    def _scaled(self, time: FloatArray) -> Tensor:
        scaled = (np.asarray(time, dtype=np.float64) - self.prepared["mean"]) / self.prepared["sd"]
        return torch.as_tensor(scaled, dtype=torch.float32)


def _by_time(data: SurvivalData) -> SurvivalData:
    return data.take(np.argsort(data.time, kind="stable"))


def _sample(data: SurvivalData) -> SurvivalData:
    """At most BASELINE_SUBJECTS of them, still in the order of time: pycox's `sample`, with a seed."""
    if len(data) <= BASELINE_SUBJECTS:
        return data
    rows = np.random.default_rng(0).choice(len(data), BASELINE_SUBJECTS, replace=False)
    return data.take(np.sort(rows))


def _draw(first: Tensor, n: int, uniform: Tensor) -> Tensor:
    """One row from first..n-1 each."""
    return first + (uniform * (n - first)).long().clamp(max=n - 1 - first)
