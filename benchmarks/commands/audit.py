"""Run trials of a finished run again: each row must come out the same to the bit."""

from __future__ import annotations

import argparse
import math
import secrets
import tempfile
from pathlib import Path

import pandas as pd

from benchmarks.commands._arguments import natural, positive
from benchmarks.results.files import read_json
from benchmarks.results.folder import find_run, read_trials
from benchmarks.study import rows
from benchmarks.study.audit import Again, named, pick
from benchmarks.study.config import ROOT
from benchmarks.study.environment import differences as environment_differences
from benchmarks.study.environment import environment
from benchmarks.study.rows import Row


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--n", type=positive, default=5, help="how many random trials")
    parser.add_argument(
        "--seed", type=natural, help="which ones; default: others every time, by a seed that is printed"
    )
    parser.add_argument("--trial", action="append", default=[], metavar="DATASET/MODEL/SPLIT/TRIAL", help="this one")
    parser.add_argument("--run", dest="name", default="reference", help="name or folder of a run")
    parser.add_argument("--directory", type=Path, default=ROOT, help="where results/ is")


def run(args: argparse.Namespace) -> int:
    """Succeed only if every trial gave the same row."""
    folder = find_run(args.name, args.directory / "results")
    trials = read_trials(folder)
    wanted = [named(trials, text) for text in args.trial]
    with tempfile.TemporaryDirectory() as work:
        again = Again(folder, Path(work))
        wanted = wanted or _picked(again, trials, args.n, args.seed)
        differing = [row for row in wanted if not _same(again, row)]
    if differing:
        _hints(folder, differing)
    same = sum(row["verdict"] == "identical" for row in wanted)
    print(f"{same} of {len(wanted)} trials gave the same row, bit for bit")
    if same + len(differing) < len(wanted):
        others = len(wanted) - same - len(differing)
        print(f"{others} are equivalent: made with other numerics, as close as rounding allows")
    return 1 if differing else 0


def _picked(again: Again, trials: pd.DataFrame, n: int, seed: int | None) -> list[Row]:
    """Random trials among those that can be run here; what is left out is said."""
    for name in dict.fromkeys(trials["dataset"]):
        if why := again.missing(name):
            print(f"left out: the {int((trials['dataset'] == name).sum())} trials of {name}; {why}")
    here = trials[[not again.missing(name) for name in trials["dataset"]]]
    if here.empty:
        raise ValueError(f"no trial of {again.folder.name} can be run here: none of its data sets can be had")
    seed = secrets.randbelow(10**6) if seed is None else seed
    wanted = pick(here, n, seed)
    took = sum(r["seconds"] for r in wanted)
    print(
        f"{len(wanted)} of {len(here)} trials of {again.folder.name}, picked with --seed {seed}; took {took:.0f} s then"
    )
    return wanted


def _same(again: Again, row: Row) -> bool:
    key = f"{row['dataset']}/{row['model']}/{row['split']}/{row['trial']}"
    now = again.row(row)
    spread = rows.spreads(again.folder).get((row["dataset"], row["model"]), math.nan)
    verdict = rows.judge(row, now, spread)
    score = "" if now["score"] != now["score"] else f", score {now['score']:.10f}"
    print(f"  {key}: {verdict}" + (f": {now['status']}{score}" if verdict == "identical" else ""), flush=True)
    row["verdict"], row["changed"] = verdict.split(":")[0], rows.changed(row, {k: now[k] for k in rows.PARTS})
    return not verdict.startswith("different")


def _hints(folder: Path, differing: list[Row]) -> None:
    """What else is not as it was."""
    for what in dict.fromkeys(name for row in differing for name in row["changed"]):
        print(f"  not as it was: {what}")
    recorded = folder / "environment.json"
    if recorded.is_file():
        for text in environment_differences(read_json(recorded), environment()):
            print(f"  the environment has changed: {text}")
