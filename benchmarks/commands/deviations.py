"""Measure what single differences between text, numbers and code do to IBS and IBLL."""

from __future__ import annotations

import argparse

from benchmarks.commands._arguments import place
from benchmarks.data.files import replacing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--out", type=place, required=True, help="CSV to write; reports read that of the reference")


def run(args: argparse.Namespace) -> int:
    """Fit Cox and SODEN on the authors' splits, score them under every change, write and print the effects."""
    from benchmarks.study.deviations import measure

    with replacing(args.out) as part:  # first: a place that cannot be written is said before the work
        found = measure()
        found.to_csv(part, index=False)
    print(found.to_string(index=False))
    return 0
