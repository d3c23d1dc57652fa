"""Make a finished run one of those that are kept in the repository: the reference, or beyond."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.results import KEPT_RUNS
from benchmarks.study.config import ROOT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--run", dest="name", required=True, help="name or folder of a finished run")
    parser.add_argument("--as", dest="kept", choices=KEPT_RUNS, default="reference", help="which one it replaces")
    parser.add_argument("--directory", type=Path, default=ROOT, help="where results/ and figures/ are")


def run(args: argparse.Namespace) -> int:
    """The only verb that writes into results/ and figures/ of a kept run."""
    from benchmarks.results.folder import find_run
    from benchmarks.study.renew import renew, renew_figures

    folder, target = find_run(args.name, args.directory / "results").resolve(), ROOT / "results" / args.kept
    if folder == target:
        raise ValueError(f"{args.kept} cannot be renewed from itself; name another run")
    written = renew(folder, target)
    drawn = renew_figures(folder.parents[1] / "figures" / folder.name, ROOT / "figures" / args.kept)
    size = sum(path.stat().st_size for path in [*written, *drawn]) / 2**20
    print(f"{args.kept} is now {folder.name}: {len(written)} files and {len(drawn)} of figures, {size:.1f} MB")
    return 0
