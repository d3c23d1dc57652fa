"""Mean seconds and peak memory of a run's trials, per model and data set: what `plan` forecasts from."""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from benchmarks.commands._arguments import place
from benchmarks.data.files import replacing
from benchmarks.results.files import read_parquet
from benchmarks.study.cost import MEASURED


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--run", dest="folder", type=Path, required=True, help="folder of a finished run")
    parser.add_argument("--out", type=place, help="CSV file to write; otherwise it is printed")


def run(args: argparse.Namespace) -> int:
    """Print or write the table; `plan` reads a source, which is put in place by hand."""
    text = measure(args.folder).to_csv(index=False)
    if args.out is None:
        print(text, end="")
        return 0
    with replacing(args.out) as part:
        part.write_text(text)
    print(f"costs of {args.folder} are in {args.out}; `plan` reads benchmarks/study/{MEASURED.name}")
    return 0


def measure(run: Path) -> pd.DataFrame:
    """Mean cost per model and data set from a run's trials; CPU seconds, which a busy machine does not stretch."""
    if not (path := run / "trials.parquet").is_file():
        raise FileNotFoundError(f"{run} holds no trials.parquet; name the folder of a finished run, e.g. results/small")
    trials = read_parquet(path)
    groups = trials[trials["status"] == "ok"].groupby(["dataset", "model"])
    means = groups.agg(
        seconds=("cpu_seconds", "mean"), peak_mb=("peak_mb", "max"), trials=("trial", "size")
    ).reset_index()
    return means.round({"seconds": 2})
