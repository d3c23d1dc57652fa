"""Run some trials of a finished run again and show that they give the same rows, bit for bit."""

from __future__ import annotations

import argparse
import json
import math
import secrets
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks import data
from benchmarks.data.splits import make_split
from benchmarks.report.results import find_run, split_sources
from benchmarks.seeds import rng_for
from benchmarks.study import prepare
from benchmarks.study.config import ROOT
from benchmarks.study.environment import differences, environment
from benchmarks.study.trial import Key, code_version
from benchmarks.study.tune import Tuner, pin_threads

Row = dict[str, Any]
# All of a row but what a clock or the machine decides.
SAME = ("identity", "data", "seed", "status", "epochs", "best_epoch", "stopped_by", "valid_loss", "score")


def pick(trials: pd.DataFrame, n: int, seed: int) -> list[Row]:
    """n different rows, each as likely as any other."""
    rows = rng_for(seed, "audit").permutation(len(trials))[:n]
    return [_plain(trials.iloc[int(k)]) for k in sorted(rows)]


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
    return _plain(found.iloc[0])


def _plain(row: pd.Series) -> Row:
    """Python's own numbers, so that a difference is printed to the last digit and without decoration."""
    return {name: value.item() if hasattr(value, "item") else value for name, value in row.items()}


class Audit:
    """Rebuilds data and splits from a run's config, once each, and its trials one by one."""

    def __init__(self, folder: Path, config: Mapping[str, Any], work: Path) -> None:
        self.folder, self.config, self.work = folder, config, work
        self.sources = split_sources(pd.read_csv(folder / "datasets.csv"), config)
        self._datasets: dict[str, data.Dataset] = {}

    def again(self, row: Mapping[str, Any]) -> Row:
        """The row of the same key, computed now."""
        key = Key(row["dataset"], row["model"], int(row["split"]), int(row["trial"]))
        dataset = self._dataset(key.dataset)
        splits = self.work / "splits" / key.dataset
        if not (path := splits / f"{key.split}.npz").exists():
            folder, how = prepare.folder_of(self.config), self.sources[key.dataset]
            make_split(dataset, how, key.split, seed=self.config["seed"], folder=folder).save(path)
        tuner = Tuner(
            self.work / "trials" / key.dataset / key.model,
            dataset,
            splits,
            key.model,
            self.config["seed"],
            self.config["training"],
            self.config["width_rounding"],
            self.config["device"],
        )
        return tuner.run("audit", [(key.split, key.trial)])[0]

    def _dataset(self, name: str) -> data.Dataset:
        """The run's own file if it kept one (MIMIC is not built twice), else from its source."""
        if name not in self._datasets:
            kept = self.folder / "data" / f"{name}.npz"
            if kept.is_file():
                self._datasets[name] = data.Dataset.load(kept)
            else:
                self._datasets[name] = data.load(name, prepare.data_settings(prepare.settings_of(self.config)))
        return self._datasets[name]


def compare(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What is not the same, in words; empty if the trial gave the same row."""
    found = [f"{name} {then[name]!r} then, {now[name]!r} now" for name in SAME if not _equal(then[name], now[name])]
    old = {k[3:]: v for k, v in then.items() if k.startswith("hp_") and not _missing(v)}
    new = {k: v for k, v in now["hyper"].items() if v is not None}
    changed = [k for k in sorted({*old, *new}) if k not in old or k not in new or not _equal(old[k], new[k])]
    return found + [f"{k} {old.get(k, 'absent')} then, {new.get(k, 'absent')} now" for k in changed]


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _equal(one: Any, two: Any) -> bool:
    """Equal to the last bit; nan is equal to nan."""
    return (_missing(one) and _missing(two)) or bool(one == two)


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

    config = json.loads((folder / "config.json").read_text())
    trials = pd.read_parquet(folder / "trials.parquet")
    if args.trial:
        rows = [named(trials, text) for text in args.trial]
    else:
        seed = secrets.randbelow(10**6) if args.seed is None else args.seed
        rows = pick(trials, args.n, seed)
        print(f"{len(rows)} of the {len(trials)} trials of {folder.name}, picked with --seed {seed}; ", end="")
        print(f"they took {sum(r['seconds'] for r in rows):.0f} s then")
    pin_threads(config["threads"])
    with tempfile.TemporaryDirectory() as work:
        audit = Audit(folder, config, Path(work))
        differing = [row for row in rows if not _same(audit, row)]
    if differing:
        _hints(folder, differing)
    print(f"{len(rows) - len(differing)} of {len(rows)} trials gave the same row, bit for bit")
    return 1 if differing else 0


def _same(audit: Audit, row: Row) -> bool:
    key = f"{row['dataset']}/{row['model']}/{row['split']}/{row['trial']}"
    try:
        now = audit.again(row)
    except (data.DataUnavailable, FileNotFoundError) as error:
        print(f"  {key}: cannot be run here; {error}")
        return False
    found = compare(row, now)
    score = "" if _missing(now["score"]) else f", score {now['score']:.10f}"
    print(f"  {key}: {'DIFFERENT: ' + '; '.join(found) if found else 'same: ' + now['status'] + score}", flush=True)
    return not found


def _hints(folder: Path, differing: list[Row]) -> None:
    """What else is not as it was."""

    codes = sorted({str(row["code"]) for row in differing} - {code_version()})
    if codes:
        print(f"  the code has changed: {', '.join(codes)} then, {code_version()} now")
    recorded = folder / "environment.json"
    for text in differences(json.loads(recorded.read_text()), environment()) if recorded.is_file() else ():
        print(f"  the environment has changed: {text}")
