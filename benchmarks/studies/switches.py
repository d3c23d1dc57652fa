"""What each change of training does to the cells: a search of its own with that one thing changed.

Ten trials on each of the authors' ten splits with the reference's own seeds and configurations, the best by validation
score judged on the test part, and the same without the change, which are the reference's first ten: paired by split, so
that the standard error is that of the effect and not of the splits. Whole searches are compared by naming a run that
holds one without the change: `--run replications/1 --trials 100 --changes "momentum used" --datasets support metabric`.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import AbstractContextManager, nullcontext
from dataclasses import astuple, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from baselines.contract import Competitor, TrialOptions
from baselines.space import Rounding, resolve
from benchmarks import ROOT, data, registry
from benchmarks.commands._arguments import positive, processes
from benchmarks.config import Config
from benchmarks.data.files import replacing
from benchmarks.metrics.evaluate import evaluate
from benchmarks.results.folder import find_run
from benchmarks.results.types import Trial
from benchmarks.seeds import rng_for, seed_for
from benchmarks.studies import _variants as variants
from benchmarks.study.reference import FOLDER
from benchmarks.study.store import Journal, read_known, read_lines
from benchmarks.study.trial import Key, better, fit_seed, hyper_parameters, run_trial
from benchmarks.study.verify import SPLITS, _dataset, released_parts
from soden.types import concatenate

TRIALS = 10
BASELINES = ("deepsurv", "cox_time", "nnet_survival", "deephit")
ODES = ("soden", "soden_ph", "soden_cox")
METABRIC, BOTH = ("metabric",), ("metabric", "support")


@dataclass(frozen=True)
class Change:
    """One change to training, and the models it applies to."""

    models: tuple[str, ...]
    datasets: tuple[str, ...] = METABRIC
    training: dict[str, Any] = field(default_factory=dict)
    rounding: Rounding = "truncate"
    inside: Callable[[], AbstractContextManager[None]] = nullcontext
    then: Callable[[Competitor, Key, TrialOptions], Competitor] | None = None  # done to the chosen model


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
    "fine-tuned": Change(ODES, BOTH, then=lambda *given: fine_tune(*given)),
}
Job = tuple[str, str, str, int]  # change, data set, model, split


@dataclass(frozen=True)
class Search:
    """A search that was made without a change: its folder, and how many of its trials per split are compared."""

    folder: Path = FOLDER
    trials: int = TRIALS

    @property
    def name(self) -> str:
        """Of the folder with the results: "switches" for ten trials of the reference."""
        return "switches" if self == Search() else f"switches-{self.folder.name}-{self.trials}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--run", dest="name", default="reference", help="the run whose search is changed")
    parser.add_argument("--trials", type=positive, default=TRIALS, help="of each split, of those the run has")
    parser.add_argument("--datasets", nargs="+", choices=BOTH, help="instead of those of each change")
    parser.add_argument("--models", nargs="+", choices=BASELINES + ODES, help="only these")
    parser.add_argument("--jobs", type=processes, default=2, help="processes")
    parser.add_argument("--changes", nargs="+", metavar="CHANGE", help="only these, by their names in the table")
    parser.add_argument("--directory", type=Path, default=ROOT, help="where results/switches goes")


def run(args: argparse.Namespace) -> int:
    """Write a line per split to a journal, so that a stopped study goes on where it was; then the table of effects."""
    if wrong := [name for name in args.changes or () if name not in CHANGES]:
        raise ValueError(f"--changes {wrong[0]!r} is none of: {', '.join(repr(n) for n in CHANGES if n != NONE)}")
    search = Search(find_run(args.name, ROOT / "results"), args.trials)
    folder = args.directory / "results" / search.name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "scores.jsonl"
    rows = list(read_lines(path.read_bytes())) if path.is_file() else []
    writer = Journal(path)
    done = {(r["change"], r["dataset"], r["model"], r["split"]) for r in rows}
    waiting = [job for job in jobs(args.changes, args.datasets, args.models) if job not in done]
    print(f"{len(waiting)} searches of {search.trials} trials to run, {len(done)} there already")
    for name in {job[1] for job in waiting}:
        _dataset(name)  # fetched here, once, if it has to be
    with ProcessPoolExecutor(args.jobs) as pool:
        for number, future in enumerate(as_completed([pool.submit(scores, job, search) for job in waiting]), start=1):
            finished = future.result()
            writer.append(*finished)
            rows += finished
            if number % 20 == 0 or number == len(waiting):
                print(f"  {number}/{len(waiting)}", flush=True)
    table = effects(pd.DataFrame(rows))
    with replacing(folder / "switches.csv") as part:
        table.to_csv(part, index=False)
    print(table[table["g_tau"].isin(["", "1e-8"])].to_string(index=False))
    print(folder / "switches.csv")
    return 0


def jobs(
    changes: Collection[str] | None = None, datasets: Sequence[str] | None = None, models: Collection[str] | None = None
) -> Iterator[Job]:
    """Those asked for, and the search without a change wherever one with it is to be compared."""
    asked = [
        (name, dataset, model)
        for name, change in CHANGES.items()
        if name != NONE and (changes is None or name in changes)
        for dataset in datasets or change.datasets
        for model in change.models
        if models is None or model in models
    ]
    plain = dict.fromkeys((NONE, dataset, model) for _, dataset, model in asked)
    yield from ((*one, split) for one in [*plain, *asked] for split in SPLITS)


def chosen(job: Job, search: Search = Search()) -> tuple[dict[str, Any], Competitor]:  # noqa: B008
    """The best of a split's trials by validation score, and its model."""
    name, dataset, model, split = job
    config = Config.of_run(search.folder)
    change, model_class = CHANGES[name], registry.model(model)
    space = resolve(model_class.space, data.module(dataset).SEARCH)
    train, valid, _ = released_parts(dataset, split)
    best: dict[str, Any] | None = None
    fitted: Competitor | None = None
    options = TrialOptions(device="cpu", **change.training)
    for trial in _to_fit(job, search):
        key = Key(dataset, model, split, trial)
        drawn = key if config.configurations == "per_split" else replace(key, split=0)
        hyper = hyper_parameters(config.seed, drawn, space, change.rounding)
        row, found = run_trial(model_class, key, fit_seed(config.seed, key), hyper, train, valid, options)
        if row["status"] == "failed":
            raise RuntimeError(f"{'/'.join(map(str, job))}, trial {trial}: {row['traceback']}")
        if better(row, best):
            best, fitted = row, found
    if best is None or fitted is None:
        raise RuntimeError(f"{'/'.join(map(str, job))}: all {search.trials} trials diverged")
    if change.then:
        fitted = change.then(fitted, Key(dataset, model, split, best["trial"]), options)
    return best, fitted


def _to_fit(job: Job, search: Search) -> Iterable[int]:
    """All trials; where a change does not touch the search it has been made, and its best one is enough."""
    name, dataset, model, split = job
    best: Trial | None = None
    for trial in read_known(search.folder, dataset, model) if name == NONE or CHANGES[name].then else ():
        if trial.split == split and trial.trial < search.trials and trial.beats(best):
            best = trial
    return range(search.trials) if best is None else [best.trial]


def fine_tune(fitted: Competitor, key: Key, options: TrialOptions) -> Competitor:
    """Train the chosen model further on another division of train and validation parts, as the released code can.

    The authors' files of that division are not released: here it is random, with parts of the same sizes. Step size
    and patience are those of the first training; the optimiser starts anew.
    """
    train, valid, _ = released_parts(key.dataset, key.split)
    both = concatenate(train, valid)
    order = rng_for(0, "fine-tune", key.dataset, key.split).permutation(len(both))
    again = type(fitted)(fitted.hyper, options)
    again.start = {name: value.clone() for name, value in fitted.net.state_dict().items()}  # type: ignore[attr-defined]
    seed = seed_for(0, "fine-tune", *astuple(key))
    again.fit(both.take(order[: len(train)]), both.take(order[len(train) :]), seed)
    return again


def scores(job: Job, search: Search) -> list[dict[str, Any]]:
    """Every metric of the chosen model on the test part."""
    import torch

    torch.set_num_threads(1)
    with CHANGES[job[0]].inside():
        row, fitted = chosen(job, search)
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
