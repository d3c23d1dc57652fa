"""Write the splits of a data set as plain CSV, so that a model in any language can be fitted to them and scored here.

`splits export --data support --out DIR` makes a folder per split. Predictions made from it go to `score`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import data
from benchmarks.data.files import replacing
from benchmarks.data.preprocess import design_columns, prepared
from benchmarks.data.splits import HOW, PARTS, Split, make_split, source_of
from benchmarks.metrics.base import CONVENTIONS, Outcome, discover
from benchmarks.study.config import resolve
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
--between steps. They must start at or before the first of times.csv (from S(0) = 1 otherwise) and reach its last.
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("what", choices=["export"])
    parser.add_argument("--data", required=True, choices=data.names(), metavar="NAME", help="a data set's name")
    parser.add_argument("--out", type=Path, required=True, help="folder for 1/, 2/, ... and README.txt")
    parser.add_argument("--n", type=int, help="how many splits; default: as many as the paper or the data set has")
    parser.add_argument("--source", choices=HOW, default="auto", help="the authors' where they exist, or drawn")
    parser.add_argument("--seed", type=int, default=resolve()["seed"], help="of drawn splits; default: the study's")


def run(args: argparse.Namespace) -> int:
    """Export them all."""
    dataset = data.load(args.data)
    if dataset.seq is not None:
        raise ValueError(f"{dataset.label} has series, which a CSV does not hold; choose a data set without")
    if args.n is not None and args.n < 1:
        raise ValueError(f"--n counts splits from 1; got {args.n}")
    n = args.n or data.module(args.data).N_SPLITS
    for number in range(1, n + 1):
        split = make_split(dataset, args.source, number, seed=args.seed)
        export_split(dataset, split, args.out / str(number))
        print(f"{dataset.label} split {number}: {' / '.join(map(str, split.sizes()))} train / valid / test")
    kinds = {source_of(dataset.name, args.source, number) for number in range(1, n + 1)}
    said = " and ".join("the authors'" if kind == "released" else f"drawn 3:1:1, seed {args.seed}" for kind in kinds)
    with replacing(args.out / "README.txt") as file:
        file.write_text(README.format(label=dataset.label, name=dataset.name, n=n, source=said))
    print(f"{n} splits in {args.out}; README.txt there says what is what, and how predictions come back")
    return 0
