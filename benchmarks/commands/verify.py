"""Compute published or stored numbers again: Cox cells, one cell, trials, the reference.

`verify cox` needs no training and takes a minute, `verify states` loads the reference's chosen models, `verify cell`
fits those of one cell again, `verify trials` random trials of any finished run, `verify reference` all chosen ones of
the reference, `verify fits` fits every model once, for a look.
"""

from __future__ import annotations

import json
import math
import secrets
import shutil
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pandas as pd

from benchmarks import ROOT
from benchmarks.commands._arguments import add_cell, at_least, natural, positive, processes, run_sub_verb, sub_verbs
from benchmarks.results.files import read_csv, read_json
from benchmarks.results.folder import find_run, kept_runs, read_results
from benchmarks.results.folder import read_trials as trials_of
from benchmarks.results.names import MODELS
from benchmarks.results.tidy import read_table
from benchmarks.results.types import Trial

run = run_sub_verb
SAME_SCORE = 1e-9  # as written with the digits of a float
BATCH = {"support": 256, "metabric": 64}


def add_arguments(parser: ArgumentParser) -> None:
    """What is verified."""
    parts = {
        "cox": (_jobs, cox),
        "cell": (_cell_arguments, cell),
        "trials": (_trial_arguments, trials),
        "states": (_directory, states),
        "reference": (_reference_arguments, reference),
        "fits": (_fit_arguments, fits),
    }
    sub_verbs(parser, parts)


def _jobs(parser: ArgumentParser) -> None:
    parser.add_argument("--jobs", type=processes, default=2, help="processes")


def _directory(parser: ArgumentParser) -> None:
    parser.add_argument("--directory", type=Path, default=ROOT, help="where results/ is")


def _cell_arguments(parser: ArgumentParser) -> None:
    add_cell(parser)
    parser.add_argument("--run", dest="name", default="reference", help="name or folder of a finished run")
    _directory(parser)


def _trial_arguments(parser: ArgumentParser) -> None:
    _jobs(parser)
    _directory(parser)
    parser.add_argument("--n", type=positive, default=5, help="how many random trials")
    parser.add_argument("--seed", type=natural, help="which ones; default: others every time, by a printed seed")
    parser.add_argument("--trial", action="append", default=[], metavar="DATASET/MODEL/SPLIT/TRIAL", help="this one")
    parser.add_argument("--run", dest="name", default="reference", help="name or folder of a run")


def _reference_arguments(parser: ArgumentParser) -> None:
    _jobs(parser)
    _directory(parser)
    parser.add_argument("--data", nargs="+", metavar="DATASET", help="only these data sets of the reference")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--sample", type=natural, default=75, help="trials fitted again of each data set and model")
    size.add_argument("--quick", dest="sample", action="store_const", const=20, help="the same as --sample 20")
    size.add_argument("--all", dest="sample", action="store_const", const=None, help="every trial: three core hours")
    parser.add_argument("--seed", type=natural, help="of the sample; default: others every time, by a printed seed")


def _fit_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--first", type=at_least(1), default=3, metavar="N", help="how many of the ten splits")
    parser.add_argument("--datasets", nargs="+", default=list(BATCH), choices=list(BATCH))
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))  # those of the paper


def cox(args: Namespace) -> int:
    """Compare the 18 published Cox cells with ours; succeed only if all are within LARGEST."""
    from rich.console import Console
    from rich.table import Table

    from benchmarks.results.published import published_cells
    from benchmarks.results.statistics import summarise
    from benchmarks.study.verify import DATASETS, LARGEST, SPLITS, _dataset, cox_scores

    for name in DATASETS:
        _dataset(name)  # fetched here, once, if it has to be
    wanted = [(name, split) for name in DATASETS for split in SPLITS]
    with ProcessPoolExecutor(args.jobs) as pool:
        rows = [row for rows in pool.map(cox_scores, *zip(*wanted, strict=True)) for row in rows]
    ours = summarise(pd.DataFrame(rows)).query("table == 'main'")
    published = published_cells().query("table == 'main' and model == 'cox'")
    cell = ["dataset", "metric", "g_tau"]
    both = published.merge(ours, on=cell, suffixes=("_paper", ""), validate="one_to_one")
    both["difference"] = both["mean"] - both["mean_paper"]
    table = Table("data set", "P(C>tau)", "metric", "paper", "ours", "difference")
    for r in both.itertuples():
        paper, here = f"{r.mean_paper:.3f}±{r.standard_error_paper:.3f}", f"{r.mean:.4f}±{r.standard_error:.4f}"
        table.add_row(r.dataset, r.g_tau, r.metric, paper, here, f"{r.difference:+.4f}")
    Console().print(table)
    largest = float(both["difference"].abs().max())
    print(f"max |difference| = {largest:.4f} over {len(both)} cells")
    return 0 if largest <= LARGEST and len(both) == 18 else 1


def cell(args: Namespace) -> int:
    """Fit the chosen trials of one cell again: per split validation score and test value, then and now.

    Succeeds only if every trial and every test value came out again.
    """
    from benchmarks.commands.explain import title
    from benchmarks.report.provenance import chain
    from benchmarks.study.verify_cell import refit

    results = read_results(find_run(args.name, args.directory / "results"))
    cell = chain(results, args.dataset, args.metric, args.g_tau, args.model).cell
    print(
        f"{title(cell.dataset, cell.metric, cell.g_tau, cell.model)}: the chosen trials of {results.name}, fitted again"
    )
    print("  split  trial  validation score then            now   test value then       now")
    refits = []
    with tempfile.TemporaryDirectory() as work:
        for one in refit(results, cell, Path(work)):
            refits.append(one)
            valid = f"{one.valid_then:21.10f} {one.valid_now:14.10f}"
            print(
                f"  {one.split:5d} {one.trial:6d} {valid} {one.test_then:17.6f} {one.test_now:9.6f}  {one.verdict}",
                flush=True,
            )
    values = [one.test_now for one in refits]
    error = stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    print(f"cell then  {cell.mean:.6f} ± {cell.standard_error:.6f}\ncell now   {fmean(values):.6f} ± {error:.6f}")
    same = sum(one.same for one in refits)
    print(f"{same} of {len(refits)} splits came out again")
    return 0 if same == len(refits) else 1


def trials(args: Namespace) -> int:
    """Fit random trials of a finished run again; succeed only if every one gives the same row."""
    from benchmarks.study.store import spreads
    from benchmarks.study.verify import fit_again, named

    folder = find_run(args.name, args.directory / "results")
    table = trials_of(folder)
    wanted = [named(table, text) for text in args.trial] or _picked(folder, table, args.n, args.seed)
    spread = spreads(folder)
    words, differing = [], []
    for then, now in zip(wanted, fit_again(folder, wanted, args.jobs), strict=True):
        verdict = then.judge(now, spread.get((then.dataset, then.model), math.nan))
        words.append(verdict.split(":")[0])
        score = "" if math.isnan(now.score) else f", score {now.score:.10f}"
        print(f"  {then.key}: {verdict}" + (f": {now.status}{score}" if verdict == "identical" else ""), flush=True)
        if words[-1] == "different":
            differing.append((then, now))
    if differing:
        _hints(folder, differing)
    print(f"{words.count('identical')} of {len(wanted)} trials gave the same row, bit for bit")
    if near := words.count("equivalent"):
        print(f"{near} are equivalent: made with other numerics, as close as rounding allows")
    return 1 if differing else 0


def _picked(folder: Path, table: pd.DataFrame, n: int, seed: int | None) -> list[Trial]:
    """Random trials among those that can be run here; what is left out is said."""
    from benchmarks.study.verify import Again, pick

    with tempfile.TemporaryDirectory() as work:
        again = Again(folder, Path(work))
        missing = {name: again.missing(name) for name in dict.fromkeys(table["dataset"])}
    for name, why in missing.items():
        if why:
            print(f"left out: the {int((table['dataset'] == name).sum())} trials of {name}; {why}")
    here = table[[not missing[name] for name in table["dataset"]]]
    if here.empty:
        raise ValueError(f"no trial of {folder.name} can be run here: none of its data sets can be had")
    seed = secrets.randbelow(10**6) if seed is None else seed
    wanted = pick(here, n, seed)
    took = sum(trial.seconds for trial in wanted)
    print(f"{len(wanted)} of {len(here)} trials of {folder.name}, picked with --seed {seed}; took {took:.0f} s then")
    return wanted


def _hints(folder: Path, differing: list[tuple[Trial, Trial]]) -> None:
    """What else is not as it was."""
    from benchmarks.study.environment import differences, environment

    for what in dict.fromkeys(name for then, now in differing for name in then.parts.changed(now.parts)):
        print(f"  not as it was: {what}")
    recorded = folder / "environment.json"
    if recorded.is_file():
        for text in differences(read_json(recorded), environment()):
            print(f"  the environment has changed: {text}")


def states(args: Namespace) -> int:
    """Load the reference's chosen models; each must predict what it did, to the bit, and give its scores.

    Scores are computed on the test part and compared with conventions.csv, which all cells follow from.
    """
    from benchmarks.study.verify import FILE, check_states

    kept = find_run("reference", args.directory / "results")
    if not (kept / FILE).is_file():
        raise FileNotFoundError(f"{kept} holds no {FILE}; `make verify` fits its chosen models again")
    checks = list(check_states(kept))
    for state in checks:
        if not state.same_bits or not state.largest <= SAME_SCORE:
            said = "predicts what it predicted" if state.same_bits else "predicts otherwise"
            print(f"  {state.name.removesuffix('.pt')} {said}; its scores are up to {state.largest:.1g} off")
    bits = sum(state.same_bits for state in checks)
    scored = sum(state.largest <= SAME_SCORE for state in checks)
    print(
        f"{bits} of {len(checks)} chosen models predict what they predicted, bit for bit; {scored} of {len(checks)} "
        "give the scores of conventions.csv"
    )
    return 0 if bits == scored == len(checks) > 0 else 1


def reference(args: Namespace) -> int:
    """Check what the kept runs store, fit all chosen and some other trials again, make all tables, and compare.

    What the tables rest on is computed anew: the chosen trials and their scores. That no better trial was left out is
    shown by a random sample of the others, drawn by whoever verifies; the last line says what that shows.
    """
    from benchmarks.study.reference import FOLDER
    from benchmarks.study.verify import check, power, sample

    started = time.monotonic()
    theirs = read_results(FOLDER)
    known = list(dict.fromkeys(theirs.cells["dataset"]))
    if wrong := [name for name in args.data or () if name not in known]:
        raise ValueError(f"--data {' '.join(wrong)}: not in the reference; choose among {', '.join(known)}")
    names = args.data or known
    stored = _stored(args)
    if code := _fresh_run(args, theirs.config, names):
        return code
    outcome = check(read_results(args.directory / "results" / "verify"), theirs)
    for text in outcome.different:
        print(text)
    seed = secrets.randbelow(10**6) if args.seed is None else args.seed
    table = theirs.trials[theirs.trials["dataset"].isin(names)]
    picked = sample(table, theirs, args.sample, seed)
    differing = _fit_sample(FOLDER, picked, args.jobs, seed) if picked else 0
    near = f", {outcome.refits['equivalent']} equivalent" if outcome.refits["equivalent"] else ""
    print(
        f"verify: {outcome.refits['identical']} of {outcome.chosen} refits identical{near}, {outcome.same_cells} of "
        f"{outcome.cells} cells as in the reference, {len(picked) - differing} of {len(picked)} other trials came out "
        f"again ({(time.monotonic() - started) / 60:.0f} min)"
    )
    if picked:
        print(power(table, picked, outcome.chosen))
    return 0 if outcome.holds and stored and not differing else 1


def _stored(args: Namespace) -> bool:
    """Whether all files of the kept runs agree with each other."""
    from benchmarks.study.stored import wrong

    good = True
    for folder in kept_runs():
        texts = [*wrong(folder), *_verdicts(folder)]
        for text in texts[:10]:
            print(f"  {folder.name}: {text}")
        more = f", {len(texts)} contradictions" if texts else ""
        print(f"{folder.name}: seeds, hyper-parameters, choices, cells and tests recomputed{more}", flush=True)
        good = good and not texts
    return good


def _verdicts(folder: Path) -> Iterator[str]:
    """What a kept run's verdicts on the paper's cells and statements do not have from its cells."""
    from benchmarks.report.agreement import judge
    from benchmarks.report.claims.check import check_claims, kept_replications
    from benchmarks.results.published import published_cells
    from benchmarks.study.stored import CELL, ROUNDED, differing

    if not (folder / "cells.csv").is_file():
        return
    run, published = read_results(folder), published_cells()
    claims = check_claims(run, published, kept_replications())
    kept = read_table(folder / "agreement.csv")
    yield from differing("agreement.csv", kept, judge(run, published), CELL, ROUNDED)
    yield from differing("claims.csv", read_csv(folder / "claims.csv"), claims, ["claim", "dataset"], ROUNDED)


def _fresh_run(args: Namespace, config: Mapping[str, Any], names: list[str]) -> int:
    """Fit the chosen trials and make all tables in an empty results/verify."""
    import yaml

    from benchmarks.commands import run as tier
    from benchmarks.study.reference import FOLDER
    from benchmarks.study.verify import RUN, overlay

    results = args.directory.resolve() / "results" / RUN
    with tier._lock(results):  # nobody is at work there
        for folder in (results, results.parents[1] / "figures" / RUN):
            shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "verify.yaml"
        path.write_text(yaml.safe_dump(json.loads(json.dumps(overlay(config, names, FOLDER)))))
        parser = ArgumentParser()
        tier.add_arguments(parser)
        words = ["paper", "--configfile", str(path), "--cores", str(args.jobs), "--directory", str(args.directory)]
        return tier.run(parser.parse_args(words))


def _fit_sample(folder: Path, picked: list[Trial], jobs: int, seed: int) -> int:
    """Fit trials again and print those that differ: how many."""
    from benchmarks.study.store import spreads
    from benchmarks.study.verify import fit_again

    seconds = sum(trial.seconds for trial in picked) / jobs
    print(
        f"fitting {len(picked)} trials that were not chosen, --seed {seed}; took {seconds / 60:.0f} min then",
        flush=True,
    )
    spread, differing = spreads(folder), 0
    for then, now in zip(picked, fit_again(folder, picked, jobs), strict=True):
        verdict = then.judge(now, spread.get((then.dataset, then.model), math.nan))
        if verdict.startswith("different"):
            differing += 1
            print(f"  {then.key} {verdict}", flush=True)
    return differing


def fits(args: Namespace) -> int:
    """Fit each model once, with usual hyper-parameters, on the authors' splits: means beside the published ones."""
    from rich.console import Console
    from rich.table import Table

    from benchmarks import registry
    from benchmarks.results.published import published_cells
    from benchmarks.study.verify import METRICS, fit_and_score

    # SODEN stands in two tables with the same number.
    published = published_cells().query("g_tau == '1e-8'").groupby(["dataset", "model", "metric"])["mean"].first()
    table = Table(title=f"means over splits 1 to {args.first}, paper's means over ten in brackets")
    for column in ("data", "model", *METRICS, "epochs", "s per fit"):
        table.add_column(column, justify="left" if column in ("data", "model") else "right")
    for dataset in args.datasets:
        for name in args.models:
            rows = [fit_and_score(dataset, name, split, BATCH[dataset]) for split in range(1, args.first + 1)]
            mean = pd.DataFrame(rows).mean()
            scores = [f"{mean[m]:.3f} ({published[dataset, name, m]:.3f})" for m in METRICS]
            label = registry.model(name).label
            table.add_row(dataset, label, *scores, f"{mean['epochs']:.0f}", f"{mean['seconds']:.1f}")
    Console(width=110).print(table)
    return 0
