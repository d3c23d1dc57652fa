"""Run some trials of a finished run again and show that they give the same rows, bit for bit."""

from __future__ import annotations

import argparse
import json
import secrets
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks import data, numerics
from benchmarks.data.splits import make_split
from benchmarks.report.results import find_run, split_sources
from benchmarks.seeds import rng_for
from benchmarks.study import prepare, rows
from benchmarks.study.config import ROOT
from benchmarks.study.environment import differences as environment_differences
from benchmarks.study.environment import environment
from benchmarks.study.rows import Row
from benchmarks.study.tune import Settings, Tuner, pin_threads


class Again:
    """Runs a finished run's trials again: data and splits rebuilt from its config, once each."""

    def __init__(self, folder: Path, work: Path) -> None:
        self.folder, self.work = folder, work
        self.config: Mapping[str, Any] = json.loads((folder / "config.json").read_text())
        self.sources = split_sources(pd.read_csv(folder / "datasets.csv"), self.config)
        self._datasets: dict[str, data.Dataset] = {}
        _check_numerics(folder, self.config)
        pin_threads(self.config["threads"])

    def row(self, row: Mapping[str, Any]) -> Row:
        """The row of the same key, computed now."""
        return self.tuner(row["dataset"], row["model"], row["split"]).run("again", [(row["split"], row["trial"])])[0]

    def tuner(self, name: str, model: str, split: int) -> Tuner:
        """What runs this model's trials of one split."""
        splits = self.work / "splits" / name
        if not (path := splits / f"{split}.npz").exists():
            make_split(self.dataset(name), self.sources[name], split, seed=self.config["seed"]).save(path)
        c = self.config
        settings = Settings(c["seed"], c["training"], c["width_rounding"], c["device"])
        return Tuner(self.work / "trials" / name / model, self.dataset(name), splits, model, settings)

    def dataset(self, name: str) -> data.Dataset:
        """The run's own file if it kept one (MIMIC is not built twice), else from its source."""
        if name not in self._datasets:
            kept = self.folder / "data" / f"{name}.npz"
            if kept.is_file():
                self._datasets[name] = data.Dataset.load(kept)
            else:
                self._datasets[name] = data.load(name, prepare.data_settings(prepare.settings_of(self.config)))
        return self._datasets[name]

    @cache  # noqa: B019
    def missing(self, name: str) -> str:
        """Why the trials of a data set cannot be run here; empty if they can."""
        try:
            self.dataset(name)
        except data.DataUnavailable as error:
            return str(error).splitlines()[0]
        return ""


def _check_numerics(folder: Path, config: Mapping[str, Any]) -> None:
    wanted = config.get("numerics", "native")  # runs before there was a choice
    if wanted != numerics.mode():
        raise ValueError(
            f"{folder.name} was computed with numerics: {wanted}, this process computes {numerics.mode()} ones; "
            f"set {numerics.VARIABLE}={wanted} and call again"
        )
    if note := numerics.note():
        print(note)


def pick(trials: pd.DataFrame, n: int, seed: int) -> list[Row]:
    """n different rows, each as likely as any other."""
    chosen = rng_for(seed, "audit").permutation(len(trials))[:n]
    return list(rows.plain_rows(trials.iloc[sorted(chosen)]))


def named(trials: pd.DataFrame, text: str) -> Row:
    """The row of DATASET/MODEL/SPLIT/TRIAL."""
    parts = text.split("/")
    if len(parts) != 4 or not all(part.isdigit() for part in parts[2:]):
        raise ValueError(f"--trial wants DATASET/MODEL/SPLIT/TRIAL, e.g. support/soden/1/0; got {text!r}")
    wanted = dict(zip(("dataset", "model", "split", "trial"), (*parts[:2], int(parts[2]), int(parts[3])), strict=True))
    found = trials
    for name, value in wanted.items():
        known = list(dict.fromkeys(found[name]))
        found = found[found[name] == value]
        if found.empty:
            raise ValueError(f"the run has no trial with {name} {value!r}; choose among {', '.join(map(str, known))}")
    return next(rows.plain_rows(found.iloc[:1]))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--n", type=int, default=5, help="how many random trials")
    parser.add_argument("--seed", type=int, help="which ones; default: other ones every time, and the seed is printed")
    parser.add_argument("--trial", action="append", default=[], metavar="DATASET/MODEL/SPLIT/TRIAL", help="this one")
    parser.add_argument("--run", dest="name", default="reference", help="name or folder of a run")
    parser.add_argument("--directory", type=Path, default=ROOT, help="where results/ is")


def run(args: argparse.Namespace) -> int:
    """Succeed only if every trial gave the same row."""
    folder = find_run(args.name, args.directory / "results")
    trials = pd.read_parquet(folder / "trials.parquet")
    with tempfile.TemporaryDirectory() as work:
        again = Again(folder, Path(work))
        if args.trial:
            wanted = [named(trials, text) for text in args.trial]
        else:
            wanted = _picked(again, trials, args.n, args.seed)
        differing = [row for row in wanted if not _same(again, row)]
    if differing:
        _hints(folder, differing)
    print(f"{len(wanted) - len(differing)} of {len(wanted)} trials gave the same row, bit for bit")
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
    found = rows.differences(row, now)
    score = "" if now["score"] != now["score"] else f", score {now['score']:.10f}"
    print(f"  {key}: {'DIFFERENT: ' + '; '.join(found) if found else 'same: ' + now['status'] + score}", flush=True)
    row["changed"] = rows.changed(row, {k: now[k] for k in rows.PARTS})
    return not found


def _hints(folder: Path, differing: list[Row]) -> None:
    """What else is not as it was."""
    for what in dict.fromkeys(name for row in differing for name in row["changed"]):
        print(f"  not as it was: {what}")
    recorded = folder / "environment.json"
    if recorded.is_file():
        for text in environment_differences(json.loads(recorded.read_text()), environment()):
            print(f"  the environment has changed: {text}")
