"""Compute again what a run says it computed: its trials, its chosen models' predictions, its cells."""

from __future__ import annotations

import hashlib
import lzma
import math
import multiprocessing
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from itertools import zip_longest
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from baselines.contract import Competitor
from benchmarks import data, numerics, registry
from benchmarks.config import Config
from benchmarks.data.preprocess import prepared
from benchmarks.data.splits import PARTS, make_split
from benchmarks.elementary import portable_functions
from benchmarks.results.files import damaged, read_csv, unpack
from benchmarks.results.folder import Results, read_results, split_sources
from benchmarks.results.published import published_cells
from benchmarks.results.types import KEY, Trial, read_trials
from benchmarks.seeds import rng_for, seed_for
from benchmarks.study import prepare
from benchmarks.study.evaluate import score
from benchmarks.study.search import Search, pin_threads
from benchmarks.study.store import Store
from benchmarks.study.stored import CELL, TEST, differing, found_with, sample_for
from soden.types import SurvivalData

# Cox: before any network is trained, the 18 published cells

DATASETS = ("support", "metabric")
SPLITS = range(1, 11)
METRICS = ("ctd", "ibll", "ibs")
# The published means have three decimals (0.0005); the rest is room for Breslow's ties, as measured by others.
LARGEST = 0.0015


@cache
def _dataset(name: str) -> data.Dataset:
    return data.load(name)


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


# Fits: every model once, for a look

# Usual values for tables of this size; nothing was searched, and nothing chosen by a look at a test part.
HYPER = {"layers": 2, "width": 64, "lr": 1e-3, "weight_decay": 1e-5, "momentum": 0.9, "dropout": 0.1}
HYPER |= {"batch_norm": True, "intervals": 50, "alpha": 0.2, "sigma": 0.25}


def fit_and_score(dataset: str, name: str, split: int, batch_size: int) -> dict[str, Any]:
    """One fit on one split: the test scores at the largest truncation, epochs and seconds."""
    from benchmarks.metrics.evaluate import evaluate

    train, valid, test = released_parts(dataset, split)
    model = registry.model(name)({**HYPER, "batch_size": batch_size})
    start = perf_counter()
    report = model.fit(train, valid, seed_for(0, "sanity", dataset, name, split))
    seconds = perf_counter() - start
    scores = evaluate(test.time, test.event, lambda times: model.predict_survival(test, times))
    largest = {s.metric: s.value for s in scores if s.metric in METRICS and s.g_tau == "1e-8"}
    return largest | {"epochs": report.epochs, "seconds": seconds}


# Trials: fitted again from the run's configuration alone


class Again:
    """Fits the trials of a finished run again, in a folder of its own: data and splits are made from its config."""

    def __init__(self, folder: Path, work: Path, any_numerics: bool = False) -> None:
        config = replace(Config.of_run(folder), known="", known_numerics="same")
        if any_numerics:
            config = replace(config, numerics="native" if numerics.mode() == "native" else "portable")
        elif config.numerics == numerics.mode() and (note := numerics.note()):
            print(note)
        self.folder, self.store = folder, Store(work, config)
        self.sources = split_sources(read_csv(folder / "datasets.csv"), config.split_source)
        self._searches: dict[tuple[str, str], Search] = {}
        pin_threads(config.threads)

    def trial(self, trial: Trial) -> Trial:
        """The same trial, fitted now."""
        return self.search(trial.dataset, trial.model, trial.split).fit(*trial.pair)[0]

    def search(self, dataset: str, model: str, split: int) -> Search:
        """What fits this model's trials of one split."""
        self._prepare(dataset)
        path = self.store.split_file(dataset, split)
        if not path.exists():
            how, table = self.sources[dataset], self.store.dataset(dataset)
            make_split(table, how, split, seed=self.store.config.seed).save(path)
        if (dataset, model) not in self._searches:
            self._searches[dataset, model] = Search(self.store, dataset, model)
        return self._searches[dataset, model]

    def _prepare(self, name: str) -> None:
        """The run's own file if it kept one (MIMIC is not built twice), else from its source."""
        target, kept = self.store.run / "data" / f"{name}.npz", self.folder / "data" / f"{name}.npz"
        if target.exists():
            return
        if kept.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(kept.resolve())
        else:
            data.load(name, prepare.data_settings(self.store.config)).save(target)

    @cache  # noqa: B019
    def missing(self, name: str) -> str:
        """Why the trials of a data set cannot be run here; empty if they can."""
        try:
            self._prepare(name)
        except data.DataUnavailable as error:
            return str(error).splitlines()[0]
        return ""


def fit_again(folder: Path, trials: Sequence[Trial], jobs: int) -> Iterator[Trial]:
    """Trials of a finished run, fitted now, in their order."""
    with tempfile.TemporaryDirectory() as work:
        again = Again(folder, Path(work))
        if jobs == 1 or len(trials) < 2 * jobs:
            yield from map(again.trial, trials)
            return
        for dataset, model, split in {(t.dataset, t.model, t.split) for t in trials}:
            again.search(dataset, model, split)  # data and splits are written here, once, before the processes read
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(jobs, context, _start, (folder, Path(work))) as pool:
            yield from pool.map(_fit, trials)


_again: Again | None = None  # of a process of `fit_again`


def _start(folder: Path, work: Path) -> None:
    global _again
    _again = Again(folder, work)


def _fit(trial: Trial) -> Trial:
    assert _again is not None
    return _again.trial(trial)


def pick(trials: pd.DataFrame, n: int, seed: int) -> list[Trial]:
    """n different trials, each as likely as any other."""
    chosen = rng_for(seed, "audit").permutation(len(trials))[:n]
    return list(read_trials(trials.iloc[sorted(chosen)]))


def named(trials: pd.DataFrame, text: str) -> Trial:
    """The trial DATASET/MODEL/SPLIT/TRIAL."""
    parts = text.split("/")
    if len(parts) != 4 or not all(part.isdigit() for part in parts[2:]):
        raise ValueError(f"--trial wants DATASET/MODEL/SPLIT/TRIAL, e.g. support/soden/1/0; got {text!r}")
    rows = trials
    for name, value in zip(KEY, (*parts[:2], int(parts[2]), int(parts[3])), strict=True):
        choices = list(dict.fromkeys(rows[name]))
        rows = rows[rows[name] == value]
        if rows.empty:
            raise ValueError(f"the run has no trial with {name} {value!r}; choose among {', '.join(map(str, choices))}")
    return next(read_trials(rows.iloc[:1]))


# States: the chosen models of a kept run in one small file, with checksums of what they predict on the test parts

FILE, TABLE = "states.tar.xz", "states.csv"
TIMES = 100  # equally spaced, from 0 to the last of the test part


def checksum(model: Competitor, test: SurvivalData) -> str:
    """The sha256 of S on the test part, as float64."""
    with portable_functions():
        S = model.predict_survival(test, np.linspace(0, float(test.time.max()), TIMES))
    return hashlib.sha256(np.ascontiguousarray(S, dtype="<f8").tobytes()).hexdigest()


def state_name(dataset: str, model: str, split: int) -> str:
    """The name of a chosen model's file in the archive."""
    return f"{dataset}/{model}/{split}.pt"


@dataclass(frozen=True)
class StateCheck:
    """One chosen model: whether it predicts what it predicted, and how far its scores are from those that were kept."""

    name: str
    same_bits: bool
    largest: float  # |difference| of scores; nan if there is no such model or no such score


def check_states(kept: Path) -> Iterator[StateCheck]:
    """Every chosen model of a kept run, loaded and scored on its test part; one that is not packed fails."""
    results = read_results(kept)
    checksums = {
        row["dataset"] + f"/{row['model']}/{row['split']}": row for row in read_csv(kept / TABLE).to_dict("records")
    }
    scores = dict(iter(results.conventions.groupby(["dataset", "model", "split"])))
    with tempfile.TemporaryDirectory() as work:
        try:
            with tarfile.open(kept / FILE) as archive:
                unpack(archive, Path(work))
        except (tarfile.TarError, lzma.LZMAError, EOFError) as error:
            raise damaged(kept / FILE, str(error).splitlines()[0].rstrip(":")) from error
        again = Again(kept, Path(work) / "run")
        for row in results.chosen:
            if row.trial is None:
                continue
            name = state_name(row.dataset, row.model, row.split)
            noted, path = checksums.pop(name.removesuffix(".pt"), {}), Path(work) / name
            if noted.get("trial") != row.trial or not path.is_file():
                yield StateCheck(name, False, float("nan"))
                continue
            test = again.search(row.dataset, row.model, row.split).test(row.split)
            try:
                model = registry.model(row.model).load(path)
            except Exception:  # torch and pickle raise many kinds, and advise to turn safety off
                yield StateCheck(name, False, float("nan"))
                continue
            largest = _largest(model, test, scores.get((row.dataset, row.model, row.split)))
            yield StateCheck(name, checksum(model, test) == noted["predictions"], largest)
        yield from (StateCheck(f"{name}.pt", False, float("nan")) for name in checksums)  # chosen by nobody


def _largest(model: Competitor, test: SurvivalData, kept: pd.DataFrame | None) -> float:
    """How far the scores of a model are from those that were kept."""
    with portable_functions():
        now = {(s["convention"], s["metric"], s["g_tau"]): s["value"] for s in score(model, test)[0]}
    then = {} if kept is None else {(r.convention, r.metric, r.g_tau): r.value for r in kept.itertuples()}
    if now.keys() != then.keys():
        return float("nan")
    both = [(then[key], now[key]) for key in now if not (math.isnan(then[key]) and math.isnan(now[key]))]
    return max((abs(old - new) for old, new in both), default=0.0)


# The reference: its trials taken as known, its chosen models and all its cells made again

RUN = "verify"
BY_STUDY = "interpolation_helps"  # the statement that no run can test by itself
# What a check of the reference takes from its config; the rest is this machine's own.
TAKEN = (
    *("seed", "models", "skip", "splits", "split_source", "trials", "configurations", "width_rounding"),
    *("training", "evaluation"),
)
ALL_TRIALS = 100_000  # one job per model: there is nothing to train but the chosen
SHARES = (1, 2, 4)  # per cent of a model's trials that a forgery changed; 1 is one trial per split


def overlay(config: Mapping[str, Any], datasets: Sequence[str], folder: Path) -> dict[str, Any]:
    """The configuration that checks these data sets of a reference with this config."""
    taken = {key: config[key] for key in TAKEN if key in config}
    known = {"known": str(folder), "known_numerics": "any"}
    return {**taken, **known, "run": RUN, "datasets": list(datasets), "chunk": ALL_TRIALS, "device": "cpu"}


@dataclass(frozen=True)
class Check:
    """What came out; `refits` are verdict words of `Trial.judge`."""

    refits: Mapping[str, int]  # identical, equivalent, different -> how many
    chosen: int  # how many there must be
    different: tuple[str, ...]  # what came out otherwise, and how
    cells: int  # published ones on these data sets
    same_cells: int

    @property
    def holds(self) -> bool:
        """Every chosen trial came out again, and every cell and test with it."""
        refits = self.refits["identical"] + self.refits["equivalent"]
        return not self.different and refits == self.chosen > 0 and self.same_cells == self.cells > 0


def check(again: Results, reference: Results) -> Check:
    """Compare the refits with the trials that were chosen, and cells, tests and statements with the reference's own."""
    names = set(again.config["datasets"])
    chosen = {row.key for row in reference.chosen if row.dataset in names}
    words = {"identical": 0, "equivalent": 0, "different": 0}
    different = [
        f"{'/'.join(map(str, key))} was not chosen again" for key in chosen - {row.key for row in again.chosen}
    ]
    for row in again.chosen:
        verdict = row.refit or "different: it was not fitted again"
        words[verdict.split(":")[0]] += 1
        if verdict.startswith("different"):
            different.append(f"{row.dataset}/{row.model}/{row.split}/{row.trial} {verdict}")
    published = published_cells()[CELL]
    published = published[published["dataset"].isin(names)].drop_duplicates()
    both = published.merge(reference.cells, on=CELL).merge(again.cells, on=CELL, suffixes=("_then", ""))
    same = both["mean"] == both["mean_then"]
    if words["equivalent"]:  # other bits, other digits: as near as the chosen networks are
        same = pd.Series(np.isclose(both["mean"], both["mean_then"], atol=1e-3))
    else:
        tables = [("cells.csv", reference.cells, again.cells, CELL), ("tests.csv", reference.tests, again.tests, TEST)]
        if names == set(reference.config["datasets"]):
            # What interpolation helps rests on steps.csv, which a study makes and no run.
            claims = (read_csv(run.path / "claims.csv").query(f"claim != {BY_STUDY!r}") for run in (reference, again))
            tables.append(("claims.csv", *claims, ["claim", "dataset"]))
        for name, then, now, keys in tables:
            then, now = (rows[rows["dataset"].isin(names)] for rows in (then, now))
            different += differing(name, then, now, keys, 0.0)
    return Check(words, len(chosen), tuple(different), len(published), int(same.sum()))


def sample(trials: pd.DataFrame, reference: Results, n: int | None, seed: int) -> list[Trial]:
    """n trials that were not chosen, of each data set and model, spread over the splits; all of them if n is None."""
    chosen = {row.key for row in reference.chosen}
    rest: dict[tuple[str, str], dict[int, list[Trial]]] = {}
    for trial in read_trials(trials):
        if (trial.dataset, trial.model, *trial.pair) not in chosen:
            rest.setdefault((trial.dataset, trial.model), {}).setdefault(trial.split, []).append(trial)
    picked = []
    for search, splits in sorted(rest.items()):
        rng = rng_for(seed, "sample", *search)
        shuffled = [[part[i] for i in rng.permutation(len(part))] for _, part in sorted(splits.items())]
        turns = [trial for turn in zip_longest(*shuffled) for trial in turn if trial is not None]
        picked += turns if n is None else turns[:n]
    return picked


def power(trials: pd.DataFrame, picked: Sequence[Trial], chosen: int) -> str:
    """What refitting these trials, and all chosen ones, shows: computed for the search where it shows least."""
    of_search = Counter((trial.dataset, trial.model) for trial in picked)
    sizes = trials.groupby(["dataset", "model"]).size()
    splits = trials.groupby(["dataset", "model"])["split"].nunique()
    search = min(of_search, key=lambda key: of_search[key] / sizes[key])
    n, size, rest = of_search[search], int(sizes[search]), int(sizes[search] - splits[search])
    parts = [(percent, round(size * percent / 100)) for percent in SHARES]
    found = ", ".join(f"{percent} % with probability {found_with(k, rest, n):.2f}" for percent, k in parts)
    return (
        f"A forgery of these shares of one model's {size} trials on one data set would have been found: {found} "
        f"({n} of its {rest} trials that were not chosen were fitted again, and all {chosen} chosen ones); "
        f"--sample {sample_for(parts[0][1], rest)} finds {SHARES[0]} % with 0.95"
    )
