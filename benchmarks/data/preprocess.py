"""Dummy coding, imputation and standardisation, fitted on the training part alone (Section 5.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.data.dataset import Dataset, FloatArray

if TYPE_CHECKING:
    from benchmarks.data.splits import Split
    from soden.types import SurvivalData


def design_columns(dataset: Dataset) -> tuple[str, ...]:
    """Names of the network's inputs: continuous columns first, then one dummy per level but the first."""
    continuous = [c for c in dataset.columns if c not in dataset.categorical]
    dummies = [f"{c}={v:g}" for c in dataset.columns if c in dataset.categorical for v in dataset.categorical[c][1:]]
    return (*continuous, *dummies)


def design(dataset: Dataset) -> FloatArray:
    """The unstandardised inputs, (n, q) float64, in the order of `design_columns`.

    Levels come from the definition of the column, not from the rows at hand: every part has the same inputs, also where
    a rare level is absent from the training part. A missing category is missing in all its dummies.
    """
    continuous: list[FloatArray] = []
    dummies: list[FloatArray] = []
    for column, values in zip(dataset.columns, dataset.x.T, strict=True):
        if column not in dataset.categorical:
            continuous.append(values)
            continue
        levels = dataset.categorical[column][1:]
        dummies.extend(np.where(np.isnan(values), np.nan, values == level) for level in levels)
    return np.column_stack([*continuous, *dummies]) if continuous or dummies else np.empty((len(dataset), 0))


@dataclass(frozen=True, eq=False)
class Preprocessor:
    """What was learnt from the training part: where to centre and how to scale each input."""

    columns: tuple[str, ...]
    seq_columns: tuple[str, ...]
    mean: FloatArray  # (q,)
    sd: FloatArray  # (q,) with ddof 0; 1 for a constant input, infinite for one that has no value at all
    seq_mean: FloatArray  # (channels,)
    seq_sd: FloatArray  # (channels,) infinite for a constant channel, which thereby becomes 0

    @classmethod
    def fit(cls, train: Dataset) -> Preprocessor:
        """Learn mean and sd of each input from these rows; missing values do not count."""
        mean, sd = _moments(design(train))
        # As the authors did: a dummy constant in train is left unscaled, so a level new in test still shows there.
        sd = np.where(sd == 0, 1.0, sd)
        seq_mean: FloatArray = np.empty(0)
        seq_sd: FloatArray = np.empty(0)
        if train.seq is not None:
            seq_mean, seq_sd = _moments(train.seq.reshape(-1, train.seq.shape[2]).astype(np.float64))
            seq_sd = np.where(seq_sd == 0, np.inf, seq_sd)
        return cls(design_columns(train), train.seq_columns, mean, sd, seq_mean, seq_sd)

    def transform(self, part: Dataset) -> SurvivalData:
        """Standardise; a missing value becomes 0, the training mean."""
        from soden.types import SurvivalData

        if (design_columns(part), part.seq_columns) != (self.columns, self.seq_columns):
            raise ValueError(
                f"{part.name} gives the inputs {(*design_columns(part), *part.seq_columns)}, but the preprocessing was "
                f"fitted on {(*self.columns, *self.seq_columns)}; fit and transform parts of one data set"
            )
        x = _standardise(design(part), self.mean, self.sd)
        seq = None if part.seq is None else _standardise(part.seq, self.seq_mean, self.seq_sd)
        return SurvivalData(part.time, part.event, x, seq)


def prepared(dataset: Dataset, split: Split, *parts: str) -> list[SurvivalData]:
    """The named parts of a split ("train", "valid", "test"), preprocessed with what train teaches."""
    fitted = Preprocessor.fit(dataset.take(split.train))
    return [fitted.transform(dataset.take(split.part(part))) for part in parts]


def _moments(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and sd (ddof 0) of the finite values of each column; a column without any gets mean 0 and sd infinity."""
    known = np.isfinite(values)
    count = known.sum(axis=0)
    filled = np.where(known, values, 0.0)
    mean = filled.sum(axis=0) / np.maximum(count, 1)
    sd = np.sqrt((np.where(known, values - mean, 0.0) ** 2).sum(axis=0) / np.maximum(count, 1))
    low, high = np.where(known, values, np.inf).min(axis=0), np.where(known, values, -np.inf).max(axis=0)
    constant = low == high  # rounding of the mean would give a constant column a tiny sd and blow up unseen values
    return np.where(constant, low, mean), np.where(count == 0, np.inf, np.where(constant, 0.0, sd))


def _standardise(values: FloatArray, mean: FloatArray, sd: FloatArray) -> Any:
    scaled = (np.where(np.isfinite(values), values, mean) - mean) / sd
    return scaled.astype(np.float32)
