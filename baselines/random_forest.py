"""Random survival forest (Ishwaran et al. 2008): the mean of the Kaplan-Meier curves of the leaves of many trees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import torch

from baselines.contract import Competitor
from baselines.curves import at_steps, own_state
from baselines.space import Power, Uniform
from baselines.trees import Trees
from soden.types import BoolArray, Features, FitReport, FloatArray, IntArray, SurvivalData

# What bounds the cost. A log-rank split visits every distinct time: on 150 of them, as many as LSB gives its forests, a
# fit on SUPPORT takes a third of the time on all 1,469. LSB grows 1,000 trees; 100 take a tenth of that.
TREES = 100
TIMES = 150


class RandomForest(Competitor):
    """scikit-survival's forest with log-rank splits, on event times gathered at 150 of their quantiles.

    Selected by C^td on the validation part, as Kvamme et al. (2019) select theirs: it has no likelihood.
    """

    name = "random_forest"
    label = "RSF"
    takes_seq = False
    select_by = "ctd"
    # Ranges of the large-scale survival benchmark (Burk et al. 2024, arXiv 2406.04098): share of the features tried at
    # a split and of the subjects drawn for a tree in (0, 1), leaves of at least 1 to 50 subjects. Those are drawn by
    # their logarithm here, from 3 on, scikit-survival's own least: leaves of one subject take most of the memory.
    space = {  # noqa: RUF012
        "max_features": Uniform(0.05, 1),
        "max_samples": Uniform(0.1, 1),
        "min_samples_leaf": Power(2, 1.6, 5.65, whole=True),
    }

    trees: Trees
    times: FloatArray  # where curves may jump, ascending
    leaf: IntArray  # of each drop of each leaf's curve: the leaf's node, counted over all trees
    column: IntArray  # and its time
    drop: FloatArray  # and by how much S falls there

    def fit(self, train: SurvivalData, valid: SurvivalData, seed: int = 0) -> FitReport:
        """Grow the trees."""
        from sksurv.ensemble import RandomSurvivalForest
        from sksurv.util import Surv

        time = coarse(train.time, train.event)
        forest = RandomSurvivalForest(
            n_estimators=TREES,
            max_features=float(self.hyper["max_features"]),
            max_samples=float(self.hyper["max_samples"]),
            min_samples_leaf=int(self.hyper["min_samples_leaf"]),
            random_state=seed % 2**32,
        ).fit(train.x, Surv.from_arrays(train.event, time))
        self._keep([tree.tree_ for tree in forest.estimators_], np.asarray(forest.unique_times_))
        return FitReport("ok", valid_loss=float("nan"))

    def _keep(self, fitted: list[Any], times: FloatArray) -> None:
        """The trees, and of their leaves' curves the drops alone: a few per leaf instead of a value per time."""
        self.trees, self.times = Trees.of(fitted), times
        found = []
        for tree, start in zip(fitted, self.trees.start, strict=False):
            leaves = np.flatnonzero(tree.children_left < 0)
            drops = -np.diff(tree.value[leaves, :, 1], axis=1, prepend=1.0)
            row, column = np.nonzero(drops)
            found.append((leaves[row] + start, column, drops[row, column]))
        leaf, column, drop = (np.concatenate(parts) for parts in zip(*found, strict=True))
        self.leaf, self.column, self.drop = leaf.astype(np.int32), column.astype(np.int16), drop

    def predict_survival(self, data: Features, times: FloatArray) -> FloatArray:
        """The mean over the trees of the curve of the leaf a subject falls into."""
        x = np.ascontiguousarray(data.x, dtype=np.float32)
        fallen = np.zeros((len(x), len(self.times)))
        ends = np.searchsorted(self.leaf, self.trees.start)
        for k in range(len(self.trees)):
            mine, nodes = slice(ends[k], ends[k + 1]), self.trees.nodes(k)
            drops = np.zeros((nodes.stop - nodes.start, len(self.times)))
            drops[self.leaf[mine] - nodes.start, self.column[mine]] = self.drop[mine]
            fallen += drops[self.trees.leaves(k, x)]
        curves = np.maximum(1 - np.cumsum(fallen, axis=1) / len(self.trees), 0.0)
        return at_steps(self.times, curves, times)

    def state(self) -> dict[str, Any]:
        """Trees and drops, as tensors."""
        arrays = {key: torch.as_tensor(getattr(self, key)) for key in ("times", "leaf", "column", "drop")}
        return {"name": self.name, "hyper": self.hyper, "trees": self.trees.state(), **arrays}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild the fitted model."""
        own = own_state(state, cls.name)
        model = cls(own["hyper"])
        model.trees = Trees.from_state(own["trees"])
        model.times, model.leaf, model.column, model.drop = (
            own[key].numpy() for key in ("times", "leaf", "column", "drop")
        )
        return model


def coarse(time: FloatArray, event: BoolArray) -> FloatArray:
    """Times on TIMES quantiles of the event times: events go up to the next one, censorings down to the last one.

    No subject is then counted as at risk at a time it did not reach. A subject censored before the first event is never
    at risk, so its time before that event does not matter.
    """
    grid = np.unique(np.quantile(time[event], np.linspace(0, 1, TIMES), method="higher"))
    up, down = np.searchsorted(grid, time, side="left"), np.searchsorted(grid, time, side="right") - 1
    moved: FloatArray = np.where(event, grid[np.minimum(up, len(grid) - 1)], grid[np.maximum(down, 0)])
    return np.where(time < grid[0], time.min(), moved)
