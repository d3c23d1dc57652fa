"""Fitted decision trees as plain arrays: what both ensembles of trees keep of scikit-learn's objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch

from soden.types import FloatArray, IntArray

FIELDS = ("left", "right", "feature", "threshold", "start")


@dataclass(frozen=True, eq=False)
class Trees:
    """All nodes of all trees, one tree after the other; children count from the start of their tree, leaves have -1."""

    left: IntArray
    right: IntArray
    feature: IntArray
    threshold: FloatArray
    start: IntArray  # (trees + 1,) the first node of each tree, and the end

    @classmethod
    def of(cls, fitted: Sequence[Any]) -> Self:
        """From scikit-learn's `tree_` objects."""
        sizes = [tree.node_count for tree in fitted]

        def joined(name: str, kind: type) -> Any:
            return np.concatenate([getattr(tree, name) for tree in fitted]).astype(kind)

        return cls(
            joined("children_left", np.int32),
            joined("children_right", np.int32),
            joined("feature", np.int16),
            joined("threshold", np.float64),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        )

    def __len__(self) -> int:
        return len(self.start) - 1

    def nodes(self, tree: int) -> slice:
        """Where a tree's nodes are."""
        return slice(int(self.start[tree]), int(self.start[tree + 1]))

    def leaves(self, tree: int, x: FloatArray) -> IntArray:
        """The leaf each row of x (n, p) float32 ends in, counted within the tree."""
        mine = self.nodes(tree)
        left, right, feature, threshold = (v[mine] for v in (self.left, self.right, self.feature, self.threshold))
        at = np.zeros(len(x), dtype=np.intp)
        rows = np.flatnonzero(left[at] >= 0)
        while len(rows):
            here = at[rows]
            at[rows] = np.where(x[rows, feature[here]] <= threshold[here], left[here], right[here])
            rows = rows[left[at[rows]] >= 0]
        return at

    def state(self) -> dict[str, Any]:
        """Tensors."""
        return {name: torch.as_tensor(getattr(self, name)) for name in FIELDS}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild."""
        return cls(*(state[name].numpy() for name in FIELDS))
