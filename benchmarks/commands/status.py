"""Show how far a running or stopped run is: trials per model, time left, best score so far."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks import ROOT
from benchmarks.commands._arguments import positive
from benchmarks.config import Config
from benchmarks.results.folder import find_run
from benchmarks.study.status import Watch, headline, of_finished, table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("run", nargs="?", help="name or folder of the run; default: the newest in results/")
    parser.add_argument("--cores", type=positive, default=1, help="for the time left")
    parser.add_argument("--directory", type=Path, default=ROOT, help="where results/ is")


def run(args: argparse.Namespace) -> int:
    """Print the table and the headline."""
    from rich.console import Console

    from benchmarks.study.cost import expected_seconds

    console = Console()
    results = find_run(args.run, args.directory / "results", finished=False)
    if (results / "trials.parquet").is_file() and not (results / "trials").is_dir():
        entries = of_finished(results)
    else:
        config = Config.of_run(results)
        entries = Watch(results, config, expected_seconds(config)).entries()
    console.print(table(entries, args.cores))
    console.print(f"run {results.name}: {headline(entries, args.cores)}")
    return 0
