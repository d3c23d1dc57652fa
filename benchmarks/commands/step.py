"""Do one step of a run, as the rules of the workflow call it.

R is the run's folder, whose config.json says what to do; the key says which job of the step this is. Files are read
from R and written to it.
"""

from __future__ import annotations

import os
import shutil
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import data, numerics, registry
from benchmarks.commands._arguments import place, run_sub_verb, sub_verbs
from benchmarks.config import Config
from benchmarks.results import privacy
from benchmarks.study import lease, plan, prepare

if TYPE_CHECKING:
    from benchmarks.study.search import Search

run = run_sub_verb


def add_arguments(parser: ArgumentParser) -> None:
    """A run's folder and a key; gather takes the run as a whole."""
    parts = {
        "known": ("", known),
        "data": ("DATASET", data_set),
        "splits": ("DATASET", splits),
        "tune": ("DATASET/MODEL/CHUNK", tune),
        "evaluate": ("DATASET/MODEL", evaluate),
        "gather": ("", gather),
        "simulate": ("REPETITION", simulate),
        "mimic": ("STAGE", mimic),
    }
    sub_verbs(parser, {name: (_adds(name, form), function) for name, (form, function) in parts.items()})


def _adds(step: str, form: str) -> Callable[[ArgumentParser], None]:
    def add(parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=place, metavar="R", help="the run's folder, such as results/quick")
        if form:
            parser.add_argument("key", metavar=form, help="which job of the step")
        parser.add_argument("--expect", metavar="HASH", help="what R/config.json and the code must still come to")
        parser.set_defaults(step=step, form=form, key="")

    return add


def known(args: Namespace) -> int:
    """Stop if no trial can be taken from the run that the configuration names under `known`."""
    from benchmarks.study import store
    from benchmarks.study.status import available

    _, config = _job(args)
    trials = store.Store(args.folder, config)
    pairs = ((name, model) for name in available(args.folder, config) for model in plan.models_for(config, name))
    if why := store.nothing_known(trials, [trials.preview(*pair) for pair in pairs]):
        raise ValueError(why)
    return 0


def data_set(args: Namespace) -> int:
    """Put a data set into R/data, or write down why it cannot be had."""
    (name,), config = _job(args)
    status = prepare.prepare_data(name, config, args.folder)
    if status["available"]:
        print(f"{name}: {status['summary']['n']} subjects from {status['source']}")
    else:
        print(f"{name} is not available, the run goes on without it:\n{status['why']}")
    return 0


def splits(args: Namespace) -> int:
    """Write R/splits/DATASET: row numbers of train, valid and test, the authors' own or drawn 3:1:1."""
    (name,), config = _job(args)
    sources = prepare.prepare_splits(name, config, args.folder)
    print(f"{name}: {plan.n_splits(config, name)} splits, {sources}")
    return 0


def tune(args: Namespace) -> int:
    """Run a chunk of the random search; finished trials are in its journal and are not run again.

    Failed trials are tried again by the next call, and no table is written, unless the configuration says keep_failed.
    """
    from benchmarks.study.store import write_chunk

    (name, model, number), config = _job(args)
    chunk = plan.chunk_of(config, name, model, number)
    with lease.lease(_table(args.folder, chunk).with_suffix(".lease")):
        made = _search(args.folder, config, name, model).run(number, list(chunk.trials))
    count = {status: sum(trial.status == status for trial in made) for status in ("ok", "diverged", "failed")}
    print(f"{model} on {name}: {len(made)} trials, " + ", ".join(f"{n} {status}" for status, n in count.items()))
    for trial in made:
        if trial.status == "failed":
            print(f"  split {trial.split} trial {trial.trial} failed: {trial.message}")
    if count["failed"] and not config.keep_failed:
        print("Failed trials are tried again by the same command; --keep-failed goes on with them as they are.")
        return 1
    write_chunk(made, _table(args.folder, chunk))
    return 0


def evaluate(args: Namespace) -> int:
    """Choose each split's best trial and score it: the first and only reading of the test rows."""
    from benchmarks.study.evaluate import evaluate_model, write
    from benchmarks.study.store import read_chunks

    (name, model), config = _job(args)
    trials = read_chunks(_table(args.folder, chunk) for chunk in plan.chunks(config, name, model))
    search = _search(args.folder, config, name, model)
    if [trial.pair for trial in trials] != search.store.pairs(name, model):
        raise ValueError(
            f"the tables in {search.folder} do not hold the planned trials; delete them and run again: the journals "
            "beside them have every finished trial"
        )
    out = evaluate_model(search, trials)
    scores, chosen = args.folder / "scores" / name / model, args.folder / "chosen" / name / model
    write(out, scores.with_suffix(".parquet"), chosen.with_suffix(".json"))
    print(f"{model} on {name}: scored {len({row.split for row in out.scores})} of {len(out.chosen)} splits")
    return 0


def gather(args: Namespace) -> int:
    """Bring a run together: scores, tests, cells, data sets and trials as tables in R."""
    from benchmarks.study.gather import gather_run

    _, config = _job(args)
    trials = gather_run(args.folder, config)
    searches = trials[["dataset", "model"]].drop_duplicates()
    print(f"{len(trials)} trials, {len(searches)} models on {searches['dataset'].nunique()} data sets")
    bad = trials[trials["status"] != "ok"].groupby(["dataset", "model", "status"]).size()
    for (name, model, status), count in bad.items():
        print(f"  {model} on {name}: {count} trials {status}")
    return 0


def simulate(args: Namespace) -> int:
    """Fit SODEN and DeepHit to one sample in which two survival curves cross (Section 4), REPETITION 1, 2, ..."""
    from baselines.contract import TrialOptions
    from benchmarks.study.search import pin_threads
    from benchmarks.study.simulation import EARLY, LATE, save, simulate_once

    (repetition,), config = _job(args)
    if not repetition.isdigit() or not int(repetition):
        raise ValueError(f"got {repetition!r}; wanted the number of a repetition: 1, 2, ...")
    out = args.folder / "simulation" / f"{repetition}.npz"
    out.parent.mkdir(parents=True, exist_ok=True)  # before the work, not after it
    pin_threads(_threads())
    options = TrialOptions(max_epochs=config.simulation.max_epochs, device="cpu")
    arrays, meta = simulate_once(config.simulation.n, config.seed, int(repetition), options)
    save(out, arrays, meta)
    for name, fit in meta["models"].items():
        errors = " and ".join(f"{error:.4f}" for error in fit["survival_error"])
        hazard = " and ".join(f"{error:.2f}" for error in fit["hazard_error"])
        print(
            f"{name}, repetition {repetition}: mean |error| of S for t <= {LATE:g}: {errors}; of the hazard for "
            f"t <= {EARLY:g}: {hazard}; curves cross at {fit['crossing']:.3f} (truth 1); {fit['epochs']} epochs"
        )
    return 0


def mimic(args: Namespace) -> int:
    """Do one stage of the MIMIC build: synthesise, cohort, events/TABLE or features."""
    from benchmarks.data.mimic3.cohort import build_cohort
    from benchmarks.data.mimic3.events import TABLES, build_events
    from benchmarks.data.mimic3.features import build_features

    stage, _, table = args.key.partition("/")
    stages = ["synthesise", "cohort", "features", *(f"events/{name.lower()}" for name in TABLES)]
    if args.key not in stages:
        raise ValueError(f"got {args.key!r}; choose among {', '.join(stages)}")
    _, config = _job(args, parts=0)
    out, options = args.folder / "mimic3", replace(config.data.mimic.options, progress=True)
    if stage == "synthesise":
        from benchmarks.data.mimic3.synthesise import write

        # Snakemake has deleted the note that they are invented, without which they are not written over.
        shutil.rmtree(out / "raw", ignore_errors=True)
        write(out / "raw", config.data.mimic.synthetic_patients, config.seed, None, True)
        return 0
    raw = plan.raw_tables(config, args.folder)
    if stage == "features":
        build_features(out, options)
    elif raw is None:
        raise ValueError("no raw tables of MIMIC-III: set data.mimic.raw, MIMIC_III or data.mimic.synthetic_patients")
    elif stage == "events":
        build_events(raw, out, table.upper(), options)
    else:
        build_cohort(raw, out, options)
    return 0


def _job(args: Namespace, parts: int | None = None) -> tuple[list[str], Config]:
    """The parts of the key, whose data set and model there are, and the configuration that the workflow expects."""
    key = args.key.split("/") if args.key else []
    if parts is None and len(key) != len(args.form.split("/")) * bool(args.form):
        raise ValueError(f"got {args.key!r}; wanted {args.form}")
    if args.form.startswith("DATASET"):
        data.module(key[0])  # raises for a name that is none
        for model in key[1:2]:
            registry.module_of(model)
    prepare.begin(args.folder)
    config = Config.of_run(args.folder)
    privacy.close(args.folder)
    if args.expect and args.expect != (now := plan.digest(config, args.step, args.key)):
        raise ValueError(
            f"{args.folder / 'config.json'} or the code has changed since the workflow was started (--expect "
            f"{args.expect}, now {now}); give the run's command again"
        )
    return key, config


def _search(folder: Path, config: Config, name: str, model: str) -> Search:
    from benchmarks.study.search import Search, pin_threads
    from benchmarks.study.store import Store

    pin_threads(_threads())
    return Search(Store(folder.absolute(), config), name, model)


def _table(folder: Path, chunk: plan.Chunk) -> Path:
    return folder / "trials" / chunk.dataset / chunk.model / f"{chunk.name}.parquet"


def _threads() -> int:
    """As many as the rule gave this job."""
    return int(os.environ[numerics.THREADS[0]])
