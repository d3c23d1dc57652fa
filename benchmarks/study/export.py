"""Write the splits of a data set as plain CSV, so that a model in any language can be fitted to them and scored here.

`data export support --out DIR` makes a folder per split. Predictions made from it go to `score`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import data
from benchmarks.data.files import replacing
from benchmarks.data.preprocess import design_columns, prepared
from benchmarks.data.splits import PARTS, Split
from benchmarks.metrics.base import CONVENTIONS, Outcome, discover
from soden.types import BoolArray, FloatArray

README = """{label}: {n} splits, {source}

<split>/raw_<part>.csv   the columns as they came: category codes, NaN where a value is missing
<split>/<part>.csv       dummies, imputed and standardised with what the training part of the split teaches
<split>/times.csv        the times at which the metrics read survival curves of the test part
<part> is train, valid or test. id is the row of the data set, time is in years, event is 1 where it was seen.
Fit on train, tune on valid (or fit on both, as the paper does with Cox), predict test.

Predictions for `python -m benchmarks score --data {name} --predictions FOLDER --label "My model"`
FOLDER/<split>.csv or .parquet: a column id, then a column of survival probabilities per time, headed by the time
FOLDER/<split>.npz:             id (n), times (m), survival (n, m)
Subjects in any order, times ascending in years. Curves are read linearly between your times, or as steps with
--between steps; before your first time from S(0) = 1. At time 0, if it is among your times, S must be 1. The last of
your times must be at or after the last of times.csv.
"""


def needed_times(time: FloatArray, event: BoolArray) -> FloatArray:
    """All times at which some metric reads a curve, under any convention."""
    outcomes = [Outcome(time, event, convention) for convention in CONVENTIONS]
    return np.unique(np.concatenate([m.times(o) for m in discover().values() for o in outcomes]))


def exported_times(time: FloatArray, event: BoolArray) -> FloatArray:
    """The same for other programs' readers: none so near another that the last digit of a decimal tells them apart.

    Observed times are exact. Times of a grid have nine decimals, and give way to an observed time beside them.
    """
    own, grid = np.unique(time), np.unique(needed_times(time, event).round(9))
    right = np.clip(np.searchsorted(own, grid), 1, len(own) - 1)
    gap = np.minimum(np.abs(grid - own[right - 1]), np.abs(grid - own[right]))
    return np.union1d(own, grid[gap > 1e-8])


def export_split(dataset: data.Dataset, split: Split, out: Path) -> None:
    """The CSV files of one split."""
    out.mkdir(parents=True, exist_ok=True)
    for part, standardised in zip(PARTS, prepared(dataset, split, *PARTS), strict=True):
        rows = dataset.take(split.part(part))
        key = {"id": split.part(part), "time": rows.time, "event": rows.event.astype(int)}
        for name, x, columns in (
            (f"raw_{part}", rows.x, dataset.columns),
            (part, standardised.x, design_columns(dataset)),
        ):
            features = {column: x[:, k] for k, column in enumerate(columns)}
            with replacing(out / f"{name}.csv") as file:
                pd.DataFrame({**key, **features}).to_csv(file, index=False)
    test = dataset.take(split.test)
    with replacing(out / "times.csv") as file:
        pd.DataFrame({"time": exported_times(test.time, test.event)}).to_csv(file, index=False)
