"""What the two discrete-time models share: cuts, interval labels and interpolation (Appendix C; pycox's rules)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from baselines.contract import Competitor
from baselines.network import Network
from soden.nets import Encoder
from soden.training import NeuralModel
from soden.types import BoolArray, Features, FloatArray, IntArray, SurvivalData


def make_cuts(time: FloatArray, intervals: int) -> FloatArray:
    """`intervals` equidistant times from 0 to the largest training time: pycox's default scheme."""
    if intervals < 2:
        raise ValueError(
            f"intervals must be at least 2; got {intervals}: time 0 is the first cut, the last time another"
        )
    return np.linspace(0.0, time.max(), intervals)


def interval_labels(time: FloatArray, event: BoolArray, cuts: FloatArray) -> tuple[IntArray, BoolArray]:
    """Index of the cut a subject belongs to: events go to the right end of their interval, censorings to the left.

    A subject observed beyond the last cut is censored there.
    """
    event = event & (time <= cuts[-1])
    right = np.searchsorted(cuts, time, side="left")
    left = np.searchsorted(cuts, time, side="right") - 1
    return np.where(event, right, left), event


class DiscreteTime(NeuralModel, Competitor):
    """A model of the survival at the cuts; linear inside the intervals (pycox's `const_pdf`), constant past the last.

    pycox lets a little mass sit at the first cut, time 0: it is lost right after 0, where S(0) = 1.
    """

    select_by = "ctd"

    @abstractmethod
    def survival_at_cuts(self, phi: Tensor) -> Tensor:
        """Network outputs (n, L) -> S at the L cuts."""

    def prepare(self, train: SurvivalData) -> dict[str, Any]:
        """The cuts."""
        return {"cuts": torch.as_tensor(make_cuts(train.time, int(self.hyper["intervals"])))}

    def build(self, encoder: Encoder, prepared: Mapping[str, Any]) -> nn.Module:
        """One output per cut."""
        return Network(encoder, self.hyper, outputs=len(prepared["cuts"]))

    def targets(self, data: SurvivalData) -> tuple[Tensor, ...]:
        """Interval indices l and events, one of each per subject."""
        label, event = interval_labels(data.time, data.event, self.prepared["cuts"].numpy())
        return torch.as_tensor(label), torch.as_tensor(event, dtype=torch.float32)

    def predict_survival(self, data: Features, times: FloatArray) -> FloatArray:
        """S between two cuts by linear interpolation."""
        cuts = self.prepared["cuts"].numpy()
        t = np.clip(np.asarray(times, dtype=np.float64), 0.0, cuts[-1])
        right = np.clip(np.searchsorted(cuts, t, side="left"), 1, len(cuts) - 1)
        weight = (t - cuts[right - 1]) / (cuts[right] - cuts[right - 1])
        s = self._at_cuts(data)
        before, after = s[:, right - 1], s[:, right]
        # Written so that rounding never makes a curve rise, neither inside an interval nor into the next.
        survival: FloatArray = np.maximum(before - (before - after) * weight, after)
        survival[:, t == 0] = 1.0
        return survival

    def predict_hazard(self, data: Features, times: FloatArray) -> FloatArray:
        """The conditional probability p_l / S_{l-1} of t's interval, per unit of time; 0 past the last cut."""
        cuts = self.prepared["cuts"].numpy()
        t = np.asarray(times, dtype=np.float64)
        s = self._at_cuts(data)
        alive = np.maximum(s[:, :-1], np.finfo(np.float32).tiny)
        steps = (s[:, :-1] - s[:, 1:]) / alive / np.diff(cuts)
        right = np.clip(np.searchsorted(cuts, t, side="left"), 1, len(cuts) - 1)
        hazard: FloatArray = np.where(t > cuts[-1], 0.0, steps[:, right - 1])
        return hazard

    def _at_cuts(self, data: Features) -> FloatArray:
        with torch.no_grad():
            s = self.survival_at_cuts(self.net(*self.features(data)).double())
        # Rounding may push a cumulative sum past its neighbour by one unit in the last place.
        curve: FloatArray = np.minimum.accumulate(s.clamp(0, 1).cpu().numpy(), axis=1)
        return curve
