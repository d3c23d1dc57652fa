"""What each thing that changes training does to the cells: a search of its own with that one thing changed.

Ten trials on each of the authors' ten splits with the reference's own seeds and configurations, the best by validation
score judged on the test part, and the same without the change, which are the reference's first ten: paired by split, so
that the standard error is that of the effect and not of the splits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pandas as pd

from baselines.contract import Competitor, TrialOptions
from baselines.space import Rounding, resolve
from benchmarks import data, registry
from benchmarks.metrics.evaluate import evaluate
from benchmarks.study import variants
from benchmarks.study.reference import FOLDER
from benchmarks.study.rows import Row, known_rows
from benchmarks.study.trial import Key, better, fit_seed, hyper_parameters, run_trial
from benchmarks.study.verify import SPLITS, released_parts

SEED, TRIALS = 2022, 10
BASELINES = ("deepsurv", "cox_time", "nnet_survival", "deephit")
ODES = ("soden", "soden_ph", "soden_cox")
METABRIC, BOTH = ("metabric",), ("metabric", "support")


@dataclass(frozen=True)
class Change:
    """One thing that is otherwise, and whom it concerns."""

    models: tuple[str, ...]
    datasets: tuple[str, ...] = METABRIC
    training: dict[str, Any] = field(default_factory=dict)
    rounding: Rounding = "truncate"
    inside: Callable[[], AbstractContextManager[None]] = nullcontext


NONE = "none"
# By the name the report asks for it.
CHANGES = {
    NONE: Change(BASELINES + ODES),
    "momentum used": Change(BASELINES + ODES, training={"use_momentum": True}),
    "plain mean NLL": Change(ODES, BOTH, training={"nll": "text"}),
    "widths rounded": Change(BASELINES + ODES, rounding="nearest"),
    "batch norm before ReLU": Change(BASELINES, inside=partial(variants.network, variants.NormBeforeReLU)),
    "Kaiming weights": Change(BASELINES, inside=partial(variants.network, variants.KaimingStart)),
    "cuts at quantiles": Change(("nnet_survival", "deephit"), inside=variants.cuts_at_quantiles),
    "one fresh control": Change(("cox_time",), inside=variants.one_fresh_control),
}
Job = tuple[str, str, str, int]  # change, data set, model, split


def jobs() -> Iterator[Job]:
    """All of them; those without the change wherever one with it is to be compared."""
    for name, change in CHANGES.items():
        pairs = [(d, m) for d in change.datasets for m in change.models]
        if name == NONE:  # wherever a change is measured
            pairs = list(dict.fromkeys((d, m) for c in CHANGES.values() for d in c.datasets for m in c.models))
        yield from ((name, d, m, split) for d, m in pairs for split in SPLITS)


def chosen(job: Job, trials: int = TRIALS) -> tuple[Row, Competitor]:
    """The best of a split's trials by validation score, and its model."""
    name, dataset, model, split = job
    change, model_class = CHANGES[name], registry.model(model)
    space = resolve(model_class.space, data.module(dataset).SEARCH)
    train, valid, _ = released_parts(dataset, split)
    best: Row | None = None
    fitted: Competitor | None = None
    for trial in _to_fit(job, trials):
        key = Key(dataset, model, split, trial)
        hyper = hyper_parameters(SEED, key, space, change.rounding)
        options = TrialOptions(device="cpu", **change.training)
        row, found = run_trial(model_class, key, fit_seed(SEED, key), hyper, train, valid, options)
        if row["status"] == "failed":
            raise RuntimeError(f"{'/'.join(map(str, job))}, trial {trial}: {row['traceback']}")
        if better(row, best):
            best, fitted = row, found
    if best is None or fitted is None:
        raise RuntimeError(f"{'/'.join(map(str, job))}: all {trials} trials diverged")
    return best, fitted


def _to_fit(job: Job, trials: int) -> Iterable[int]:
    """All trials; without a change the search has been made, and its best one is enough."""
    name, dataset, model, split = job
    best: Row | None = None
    for row in known_rows(FOLDER, dataset, model) if name == NONE else ():
        if row["split"] == split and row["trial"] < trials and better(row, best):
            best = row
    return range(trials) if best is None else [best["trial"]]


def scores(job: Job) -> list[Row]:
    """Every metric of the chosen model on the test part."""
    import torch

    torch.set_num_threads(1)
    with CHANGES[job[0]].inside():
        row, fitted = chosen(job)
        _, _, test = released_parts(job[1], job[3])
        found = evaluate(test.time, test.event, lambda t: fitted.predict_survival(test, t), fitted.nll(test))
    key = dict(zip(("change", "dataset", "model", "split"), job, strict=True)) | {"trial": row["trial"]}
    return [{**key, **score._asdict()} for score in found]


def effects(rows: pd.DataFrame) -> pd.DataFrame:
    """Per cell: the mean without the change, what the change adds to it, and the standard error of that over splits."""
    cell = ["dataset", "model", "metric", "g_tau"]
    plain = rows[rows["change"] == NONE].set_index([*cell, "split"])["value"]
    out = []
    for key, part in rows[rows["change"] != NONE].groupby(["change", *cell], sort=False):
        value = part.set_index([*cell, "split"])["value"]
        pairs = pd.DataFrame({"with": value, "without": plain.reindex(value.index)}).dropna()
        gap = pairs["with"] - pairs["without"]
        error = float(gap.std(ddof=1)) / math.sqrt(len(gap)) if len(gap) > 1 else math.nan
        numbers = (round(float(v), 5) for v in (pairs["without"].mean(), gap.mean(), error))
        out.append((*key, *numbers, len(gap)))
    return pd.DataFrame(out, columns=["change", *cell, "without", "effect", "standard_error", "splits"])
