"""Choose each split's best trial and score it: the first and only reading of the test rows."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks import data
from benchmarks.commands._arguments import place
from benchmarks.commands.tune import add_setting_arguments, settings_from
from benchmarks.study.evaluate import evaluate_model, write
from benchmarks.study.rows import read_tables
from benchmarks.study.tune import Tuner, pin_threads


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--data", type=Path, required=True, help="the data set's npz")
    parser.add_argument("--splits", type=Path, required=True, help="folder with <split>.npz")
    parser.add_argument("--model", required=True)
    parser.add_argument("--trials", type=Path, nargs="+", required=True, help="parquet files of trial rows")
    add_setting_arguments(parser)
    parser.add_argument("--out", type=place, required=True, help="scores parquet; curves are written beside it")
    parser.add_argument("--chosen", type=place, required=True, help="JSON of the chosen trials")


def run(args: argparse.Namespace) -> int:
    """Choose, score, write."""
    pin_threads(args.threads)
    dataset = data.Dataset.load(args.data)
    tuner = Tuner(args.trials[0].absolute().parent, dataset, args.splits, args.model, settings_from(args))
    out = evaluate_model(tuner, read_tables(args.trials))
    write(out, args.out, args.chosen)
    scored = {r["split"] for r in out["scores"]}
    print(f"{args.model} on {dataset.name}: scored {len(scored)} of {len(out['chosen'])} splits")
    return 0
