"""A table whose parts cannot be taken for one another: other sizes, other means and spreads of the covariates."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.config import Config
from benchmarks.data import Dataset
from benchmarks.data.splits import Split
from benchmarks.study.search import Search
from benchmarks.study.store import Store
from soden.types import SurvivalData

SIZES = (150, 70, 45)
PLACES = {"train": (0.0, 1.0), "valid": (2.0, 1.5), "test": (-1.5, 0.5)}  # mean and spread of the covariates
TRAINING = {"max_epochs": 2, "patience": 10}


def uneven(seed: int = 0) -> tuple[Dataset, Split]:
    """265 rows in no order; no time comes twice."""
    rng = np.random.default_rng(seed)
    n = sum(SIZES)
    split = Split(*(np.sort(part) for part in np.split(rng.permutation(n), np.cumsum(SIZES)[:2])))
    z = rng.normal(size=(n, 3))
    latent, censoring = rng.exponential(np.exp(-z[:, 0])), rng.uniform(0.1, 2.5, n)
    x = z.copy()
    for part, (mean, spread) in PLACES.items():
        x[getattr(split, part)] = mean + spread * z[getattr(split, part)]
    names = ("a", "b", "c")
    return Dataset("simulated", "UNEVEN", np.minimum(latent, censoring) + 0.01, latent <= censoring, x, names), split


def by_hand(dataset: Dataset, split: Split, part: str) -> SurvivalData:
    """The rows of a part, standardised with the moments of the training rows."""
    train, rows = dataset.x[split.train], getattr(split, part)
    x = (dataset.x[rows] - train.mean(axis=0)) / train.std(axis=0)
    return SurvivalData(dataset.time[rows], dataset.event[rows], x)


def poisoned(dataset: Dataset, rows: Any) -> Dataset:
    """Other covariates and times in these rows."""
    time, x = dataset.time.copy(), dataset.x.copy()
    time[rows], x[rows] = time[rows][::-1] * 3, 50 - 20 * x[rows]
    return replace(dataset, time=time, x=x)


def search_of(
    folder: Path, dataset: Dataset, splits: dict[int, Split], model: str, seed: int = 3, **keys: Any
) -> Search:
    """What fits trials of `model` in a run of this folder, to which data and splits are written."""
    dataset.save(folder / "data" / f"{dataset.name}.npz")
    for number, split in splits.items():
        split.save(folder / "splits" / dataset.name / f"{number}.npz")
    config = Config.of({"seed": seed, "training": TRAINING, "device": "cpu"} | keys)
    return Search(Store(folder, config), dataset.name, model)
