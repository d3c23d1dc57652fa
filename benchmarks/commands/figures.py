"""Draw every figure of a run as PDF and PNG, with captions and alternative texts."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.commands._arguments import place
from benchmarks.report.figures import draw_all
from benchmarks.results.folder import read_results
from benchmarks.results.published import published_cells


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--run", dest="folder", type=Path, required=True, help="the run's results folder")
    parser.add_argument("--out", type=place, required=True, help="folder to write to")


def run(args: argparse.Namespace) -> int:
    """Draw; a figure the run has no numbers for is named, not a failure."""
    paths, absent = draw_all(read_results(args.folder), published_cells(), args.out)
    for path in paths:
        print(path)
    for name, why in absent.items():
        print(f"not drawn: {name}: {why}")
    return 0
