"""What single differences between the paper's text, its numbers and the authors' code do to IBS and IBLL.

Cox (train + valid) and SODEN (fixed hyper-parameters, nothing searched) on the authors' 20 splits; one thing changed at
a time, on the same predictions. The formulas are written out here once more, so that each has its own switch.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import registry
from benchmarks.commands._arguments import place
from benchmarks.data.files import replacing
from benchmarks.metrics.base import LEVELS
from benchmarks.metrics.censoring import fit_censoring
from benchmarks.seeds import seed_for
from benchmarks.study.verify import DATASETS, SPLITS, released_parts
from soden.types import FloatArray, SurvivalData

MODELS = ("cox", "soden")
HYPER = {"layers": 2, "width": 32, "lr": 1e-3, "weight_decay": 1e-5, "momentum": 0.0}
BATCH = {"support": 256, "metabric": 64}
SMALLEST_G = 1e-8
GUARD = 1e-10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--out", type=place, required=True, help="CSV to write; reports read that of the reference")


def run(args: argparse.Namespace) -> int:
    """Fit Cox and SODEN on the authors' splits, score them under every change, write and print the effects."""
    with replacing(args.out) as part:  # first: a place that cannot be written is said before the work
        table = measure()
        table.to_csv(part, index=False)
    print(table.to_string(index=False))
    return 0


@dataclass(frozen=True)
class Reading:
    """How IBS and IBLL are read; the defaults give the published numbers."""

    points: int = 1000
    interpolate: bool = True  # G between its steps
    stretched: bool = False  # survival predicted up to the last time, scored up to the last one with G > 0


# What is changed, and by which name the report asks for it.
CHANGES = {
    "100 grid points": Reading(points=100),
    "G as a step function": Reading(interpolate=False),
    "stretched grid": Reading(stretched=True),
}


def integrated(
    test: SurvivalData, survival: Callable[[FloatArray], FloatArray], level: str, how: Reading
) -> tuple[float, float]:
    """IBS and IBLL at one truncation (Sections 5.3.2 and 5.3.3, as published)."""
    y, event = test.time, test.event
    G = fit_censoring(y, event, interpolate=how.interpolate)
    G_y = G(y)
    tau = y[G_y > (0.0 if level == "1e-8" else LEVELS[level])].max()
    t = np.linspace(y.min(), tau, how.points)
    # The authors' code makes curves up to the largest time; its score at 1e-8 then takes them for curves up to tau.
    at = np.linspace(y.min(), y.max(), how.points) if how.stretched and level == "1e-8" else t
    keep = G_y > SMALLEST_G
    G_t, S = G(t), survival(at)[keep]
    S, t, G_t = S[:, G_t > SMALLEST_G], t[G_t > SMALLEST_G], G_t[G_t > SMALLEST_G]
    dead = (y[keep, None] <= t) * event[keep, None] / G_y[keep, None]
    alive = (y[keep, None] > t) / G_t
    ibs = float((S**2 * dead + (1 - S) ** 2 * alive).mean())
    return ibs, float((np.log(1 - S + GUARD) * dead + np.log(S + GUARD) * alive).mean())


def fitted(dataset: str, model: str, split: int) -> tuple[Any, SurvivalData]:
    """A model of one split, and the split's test part."""
    train, valid, test = released_parts(dataset, split)
    found = registry.model(model)({**HYPER, "batch_size": BATCH[dataset]})
    found.fit(train, valid, seed_for(0, "deviations", dataset, model, split))
    return found, test


def scores(dataset: str, model: str, split: int) -> Iterator[dict[str, Any]]:
    """Both scores of one fitted model under the published reading and under every change."""
    found, test = fitted(dataset, model, split)
    for change, how in {"none": Reading(), **CHANGES}.items():
        for level in LEVELS:
            ibs, ibll = integrated(test, lambda t: np.asarray(found.predict_survival(test, t), np.float64), level, how)
            for metric, value in (("ibs", ibs), ("ibll", ibll)):
                key = {"dataset": dataset, "model": model, "split": split, "metric": metric, "g_tau": level}
                yield {**key, "change": change, "value": value}


def effects(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean and largest |change| over truncations of the means over splits, which are what the tables print."""
    means = rows.groupby(["change", "dataset", "model", "metric", "g_tau"])["value"].mean()
    out = []
    for change in CHANGES:
        gap = (means[change] - means["none"]).abs().groupby(["dataset", "model", "metric"])
        out += [(change, *key, round(part.mean(), 5), round(part.max(), 5)) for key, part in gap]
    return pd.DataFrame(out, columns=["change", "dataset", "model", "metric", "mean", "largest"])


def measure() -> pd.DataFrame:
    """All splits; a minute or two."""
    return effects(
        pd.DataFrame([row for d in DATASETS for m in MODELS for split in SPLITS for row in scores(d, m, split)])
    )
