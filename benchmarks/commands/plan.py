"""Say what a run will need: jobs, hours, memory and disk, from measured trials."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from benchmarks import data
from benchmarks.commands._arguments import positive
from benchmarks.config import read, resolve, tiers, with_tier
from benchmarks.results import screen
from benchmarks.results.names import dataset_label, model_label
from benchmarks.study import cost
from benchmarks.study.plan import plan as all_chunks


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("tier", nargs="?", help=f"{', '.join(tiers())}; default: that of --configfile, else paper")
    parser.add_argument("--configfile", type=Path, help="your own overlay on top of the tier, as for `run`")
    parser.add_argument("--cores", type=positive, default=os.cpu_count() or 1)


def run(args: argparse.Namespace) -> int:
    """Print the expectation."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    config = resolve(with_tier(read(args.configfile) if args.configfile else {}, args.tier))
    costs = cost.expected(config, cost.MEASURED)
    shown = screen.table("data set", "model", "jobs", "trials", "CPU s each", "CPU time", "MB", "from")
    for c in costs.itertuples():
        known = c.seconds == c.seconds  # nan where the model was never measured
        each, total, most = (
            (f"{c.seconds:.1f}", cost.duration(c.trials * c.seconds), f"{c.peak_mb:.0f}") if known else "???"
        )
        where, who = dataset_label(c.dataset), model_label(c.model)
        source = dataset_label(c.scaled_from) if c.scaled_from in data.names() else c.scaled_from
        cells = (where, who, c.jobs, c.trials, each, total, most, source)
        shown.add_row(*map(str, cells))
    console.print(shown)
    if costs["scaled_from"].isin(data.names()).any():
        console.print("from: not measured on this data set, but on that one, and scaled by their sizes.")
    seconds, jobs, trials = (costs["trials"] * costs["seconds"]).sum(), costs["jobs"].sum(), costs["trials"].sum()
    chunks = [cost.of_chunk(config, chunk, cost.MEASURED) for chunk in all_chunks(config)]
    clock = cost.by_the_clock(chunks, args.cores)
    memory = costs["peak_mb"].fillna(0).max() * args.cores
    disk = jobs * cost.STATE_MB + trials * cost.ROW_MB + 5 * len(data.names())
    built, scored = cost.around_trials(config, config.datasets)
    disk += cost.BUILD_DISK_MB * cost.part_of_mimic(config) if built else 0
    console.print(
        f"{config.run}: {jobs} tuning jobs, {trials} trials, {cost.duration(seconds)} of CPU time: about "
        f"{cost.duration(clock)} by the clock on {args.cores} cores, start-ups included, the longest job "
        f"{cost.duration(max(chunks))}; memory up to {memory:.0f} MB, "
        f"disk {disk:.0f} MB."
    )
    if unknown := costs.loc[costs["seconds"].isna(), "trials"].sum():
        console.print(f"Without {unknown} trials of models that were never measured: these hours are a lower bound.")
    if built:
        console.print(
            f"MIMIC besides: {cost.duration(built)} of CPU time and {cost.BUILD_MB} MB to build it, "
            f"{cost.duration(scored)} and {cost.SCORE_MB} MB to score the chosen models."
        )
    return 0
