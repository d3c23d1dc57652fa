"""Say what a run will need: jobs, hours, memory and disk, from measured trials."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import pandas as pd

from benchmarks import data
from benchmarks.commands._arguments import a_model, natural, place, positive
from benchmarks.data.files import replacing
from benchmarks.results import screen
from benchmarks.results.names import dataset_label, model_label
from benchmarks.study.config import read, resolve, tiers, with_tier
from benchmarks.study.cost import (
    BUILD_DISK_MB,
    BUILD_MB,
    MEASURED,
    ROW_MB,
    STATE_MB,
    around_trials,
    expected,
    measure,
    part_of_mimic,
)
from benchmarks.study.status import duration


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("tier", nargs="?", help=f"{', '.join(tiers())}; default: paper, or what `run` would take")
    parser.add_argument("--configfile", type=Path, help="your own overlay on top of the tier, as for `run`")
    parser.add_argument("--cores", type=positive, default=os.cpu_count() or 1)
    parser.add_argument("--measure", type=Path, metavar="RUN", help="print a run's own costs as CSV, or write them")
    parser.add_argument(
        "--measure-mimic", type=Path, metavar="RUN", help="measure configurations on the MIMIC data of a run's folder"
    )
    parser.add_argument("--out", type=place, help="of what is measured: CSV file; with --measure-mimic a folder")
    text = "how many of each model (and its largest); 0: only what the run's whole trials show"
    parser.add_argument("--configurations", type=natural, default=8, help=text)
    parser.add_argument("--models", nargs="+", type=a_model, default=[], help="measure these only")


def run(args: argparse.Namespace) -> int:
    """Print the expectation."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    if args.measure or args.measure_mimic:
        return _measure(args)
    overlay = with_tier(read(args.configfile), args.tier) if args.configfile else with_tier({}, args.tier, "paper")
    config = resolve(overlay)
    costs = expected(config, pd.read_csv(MEASURED))
    shown = screen.table("data set", "model", "jobs", "trials", "s/trial", "core time", "MB", "from")
    for c in costs:
        known = c.seconds == c.seconds  # nan where the model was never measured
        each, total, most = (f"{c.seconds:.1f}", duration(c.trials * c.seconds), f"{c.peak_mb:.0f}") if known else "???"
        where, who = dataset_label(c.dataset), model_label(c.model)
        cells = (where, who, c.jobs, c.trials, each, total, most, _source(c.scaled_from))
        shown.add_row(*map(str, cells))
    console.print(shown)
    if any(c.scaled_from in data.names() for c in costs):
        console.print("from: not measured on this data set, but on that one, and scaled by their sizes.")
    seconds = sum(c.trials * c.seconds for c in costs if c.seconds == c.seconds)
    jobs, trials = sum(c.jobs for c in costs), sum(c.trials for c in costs)
    memory = max((c.peak_mb for c in costs if c.peak_mb == c.peak_mb), default=0) * args.cores
    disk = jobs * STATE_MB + trials * ROW_MB + 5 * len(data.names())
    built, scored, peak = around_trials(config, costs)
    disk += BUILD_DISK_MB * part_of_mimic(config) if built else 0
    console.print(
        f"{config['run']}: {jobs} tuning jobs, {trials} trials, {duration(seconds)} of one core: about "
        f"{duration(seconds / args.cores)} on {args.cores} cores; memory up to {memory:.0f} MB, disk {disk:.0f} MB."
    )
    if unknown := sum(c.trials for c in costs if c.seconds != c.seconds):
        console.print(f"Without {unknown} trials of models that were never measured: these hours are a lower bound.")
    if built:
        judged = f", {duration(scored)} and {peak:.0f} MB to score the chosen models" if scored else ""
        console.print(f"MIMIC besides: {duration(built)} of one core and {BUILD_MB} MB to build it{judged}.")
    return 0


def _source(scaled_from: str) -> str:
    return dataset_label(scaled_from) if scaled_from in data.names() else scaled_from


def _measure(args: argparse.Namespace) -> int:
    """What `plan` is made from, measured again; the tables it reads are sources, and put in place by hand."""
    if args.measure:
        text = measure(args.measure).to_csv(index=False)
        if args.out is None:
            print(text, end="")
            return 0
        with replacing(args.out) as part:
            part.write_text(text)
        print(f"costs of {args.measure} are in {args.out}; `plan` reads benchmarks/study/{MEASURED.name}")
        return 0
    from benchmarks.study.measure_costs import measure_run

    if args.out is None:
        raise ValueError("--measure-mimic: its two tables need a place; name a folder with --out DIR")
    for path in measure_run(args.measure_mimic, args.configurations, args.models, args.out):
        print(f"wrote {path}; `plan` reads benchmarks/study/{path.name}")
    return 0
