"""Run one chunk of random-search trials and write their rows; resumes where it stopped."""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path

from baselines.contract import TrialOptions
from benchmarks import data
from benchmarks.commands._arguments import device, json_map, natural, pairs, place, positive
from benchmarks.study import rows
from benchmarks.study.tune import Settings, Tuner, pin_threads


def add_setting_arguments(parser: argparse.ArgumentParser) -> None:
    """What a trial depends on, on the command line."""
    parser.add_argument("--seed", type=natural, required=True)
    parser.add_argument("--training", type=json_map, default={}, help="JSON of the config's training section")
    parser.add_argument("--rounding", choices=("truncate", "nearest"), default="truncate")
    parser.add_argument("--device", type=device, default="auto")
    parser.add_argument("--threads", type=positive, default=1)
    parser.add_argument("--known", type=Path, help="folder of a run whose rows may be taken over")
    parser.add_argument("--any-numerics", action="store_true", help="also rows made with other numerics")


def settings_from(args: argparse.Namespace) -> Settings:
    """The settings that `add_setting_arguments` asked for."""
    names = [field.name for field in fields(TrialOptions) if field.name != "device"]
    if unknown := [key for key in args.training if key not in names]:
        raise ValueError(f"--training: unknown key {', '.join(map(repr, unknown))}; choose among {', '.join(names)}")
    return Settings(args.seed, args.training, args.rounding, args.device, args.known, args.any_numerics)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--data", type=Path, required=True, help="the data set's npz")
    parser.add_argument("--splits", type=Path, required=True, help="folder with <split>.npz")
    parser.add_argument("--model", required=True)
    parser.add_argument("--pairs", type=pairs, required=True, help="split:trial pairs, e.g. 1:0,1:1")
    add_setting_arguments(parser)
    parser.add_argument("--keep-failed", action="store_true", help="go on with failed trials as rows")
    parser.add_argument("--out", type=place, required=True, help="parquet of trial rows; the journal is beside it")


def run(args: argparse.Namespace) -> int:
    """Run the chunk; trials that failed are rows of the journal alone, unless they are to be kept."""
    pin_threads(args.threads)
    dataset = data.Dataset.load(args.data)
    out = args.out.absolute()
    if len(out.parents) < 4:
        raise ValueError(f"--out: got {args.out}; wanted results/RUN/trials/DATASET/MODEL/CHUNK.parquet")
    tuner = Tuner(out.parent, dataset, args.splits, args.model, settings_from(args))
    found = tuner.run(args.out.stem, args.pairs)
    count = {status: sum(r["status"] == status for r in found) for status in ("ok", "diverged", "failed")}
    print(f"{args.model} on {dataset.name}: {len(found)} trials, " + ", ".join(f"{n} {s}" for s, n in count.items()))
    for row in found:
        if row["status"] == "failed":
            print(f"  split {row['split']} trial {row['trial']} failed: {row['message']}")
    if count["failed"] and not args.keep_failed:
        print("Failed trials are tried again by the same command; --keep-failed goes on with them as they are.")
        return 1
    rows.write_table(found, args.out)
    return 0
