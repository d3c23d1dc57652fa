"""What a running or stopped run has done: trials per model, time left, best validation score so far."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.study.config import ROOT

if TYPE_CHECKING:
    pass
from benchmarks.study.status import Watch, headline, of_finished, table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("run", nargs="?", help="name of the run; default: the newest in results/")
    parser.add_argument("--cores", type=int, default=1, help="for the time left")
    parser.add_argument("--directory", type=Path, default=ROOT, help="where results/ is")


def run(args: argparse.Namespace) -> int:
    """Print the table and the headline."""
    from rich.console import Console

    from benchmarks.study.cost import expected_seconds

    console = Console()
    folder = args.directory / "results"
    runs = sorted(folder.glob("*/config.json"), key=lambda p: p.stat().st_mtime)
    path = folder / args.run / "config.json" if args.run else (runs[-1] if runs else None)
    if path is None or not path.exists():
        names = ", ".join(p.parent.name for p in runs) or "none yet; start one with `make quick`"
        console.print(f"no run {args.run or ''} in results/; runs: {names}")
        return 2
    results, config = path.parent, json.loads(path.read_text())
    if (results / "trials.parquet").is_file() and not (results / "trials").is_dir():
        entries = of_finished(results)
    else:
        entries = Watch(results, config, expected_seconds(config)).entries()
    console.print(table(entries, args.cores))
    console.print(f"run {results.name}: {headline(entries, args.cores)}")
    return 0
