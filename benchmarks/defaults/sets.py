"""The data sets of the study: real ones that are public, from 137 to 8,000 subjects, and how each is split."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from benchmarks import data
from benchmarks.data import Dataset
from benchmarks.data.preprocess import Preprocessor
from benchmarks.seeds import rng_for
from soden.types import SurvivalData

TRAIN = 0.75
LEAST_TEST = 1000  # subjects of a test part where the data set has more than are used


class Set(NamedTuple):
    """Where a data set comes from, and how many of its subjects are used."""

    source: str
    n: int | None = None


SKSURV = {
    "veterans": "load_veterans_lung_cancer",
    "whas500": "load_whas500",
    "gbsg2": "load_gbsg2",
    "aids": "load_aids",
}
SETS = {
    "veterans": Set("veterans"),
    "whas500": Set("whas500"),
    "support-500": Set("support", 500),
    "gbsg2": Set("gbsg2"),
    "support-1000": Set("support", 1000),
    "aids": Set("aids"),
    "metabric": Set("metabric"),
    "support-2000": Set("support", 2000),
    "support-4000": Set("support", 4000),
    "flchain": Set("flchain"),
    "support-8000": Set("support", 8000),
}
LOOKED_AT = ("whas500", "gbsg2", "support-1000", "metabric")  # what the defaults were chosen on


def load(name: str) -> Dataset:
    """The whole data set behind a name of SETS."""
    source = SETS[name].source
    return _bundled(source) if source in SKSURV else data.load(source)


def _bundled(name: str) -> Dataset:
    """A data set of scikit-survival; categories become numbers, which preprocessing makes dummies of."""
    import sksurv.datasets

    frame, y = getattr(sksurv.datasets, SKSURV[name])()
    if name == "aids":
        frame = frame.drop(columns="txgrp")  # the treatment once more, with levels of a handful of patients
    event, time = y.dtype.names
    kept = np.flatnonzero(y[time] > 0)
    levels: dict[str, Any] = {}
    for column in frame.columns:
        if frame[column].dtype.kind not in "biuf":
            codes = frame[column].astype("category").cat.codes
            levels[column], frame[column] = tuple(sorted(codes.unique().tolist())), codes
    x = frame.to_numpy(dtype=float)
    return Dataset(name, name.upper(), y[time], y[event], x, tuple(frame.columns), levels).take(kept)


def parts(name: str, dataset: Dataset, stage: str, split: int) -> tuple[SurvivalData, SurvivalData]:
    """(train, test) of one split; "choose" and "confirm" draw from other seeds, so that no split is seen twice."""
    order = rng_for(0, "defaults", stage, name, split).permutation(len(dataset))
    n = SETS[name].n or len(dataset)
    end = round(TRAIN * n)
    test = order[end : max(n, end + (LEAST_TEST if SETS[name].n else 0))]
    train = dataset.take(order[:end])
    fitted = Preprocessor.fit(train)
    return fitted.transform(train), fitted.transform(dataset.take(test))
