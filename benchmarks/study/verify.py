"""Check the arena against the paper before any network is trained: `verify cox` gives the 18 published Cox cells."""

from __future__ import annotations

from functools import cache
from typing import Any

from benchmarks.data import Dataset, load
from benchmarks.data.preprocess import prepared
from benchmarks.data.splits import PARTS, make_split
from soden.types import SurvivalData

DATASETS = ("support", "metabric")
SPLITS = range(1, 11)
METRICS = ("ctd", "ibll", "ibs")
# The published means have three decimals (0.0005); the rest is room for Breslow's ties, as measured by others.
LARGEST = 0.0015


@cache
def _dataset(name: str) -> Dataset:
    return load(name)


def released_parts(name: str, split: int) -> list[SurvivalData]:
    """Train, valid and test of one of the authors' splits, with our own preprocessing."""
    return prepared(_dataset(name), make_split(_dataset(name), "released", split), *PARTS)


def cox_scores(name: str, split: int) -> list[dict[str, Any]]:
    """Fit Cox on train + valid and score it on test."""
    from baselines.cox import Cox
    from benchmarks.metrics.evaluate import evaluate

    train, valid, test = released_parts(name, split)
    model = Cox()
    model.fit(train, valid)
    scores = evaluate(test.time, test.event, lambda times: model.predict_survival(test, times))
    key = {"dataset": name, "model": "cox", "split": split}
    return [{**key, **s._asdict()} for s in scores if s.metric in METRICS]
