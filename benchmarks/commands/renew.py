"""Make a finished run the reference that is kept in the repository."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.study.config import ROOT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--run", dest="name", required=True, help="name or folder of a finished run")
    parser.add_argument("--directory", type=Path, default=ROOT, help="where results/ and figures/ are")


def run(args: argparse.Namespace) -> int:
    """The only verb that writes into results/reference and figures/reference."""
    from benchmarks.results.folder import find_run
    from benchmarks.study.reference import FOLDER
    from benchmarks.study.renew import renew, renew_figures

    folder = find_run(args.name, args.directory / "results").resolve()
    if folder == FOLDER:
        raise ValueError("the reference cannot be renewed from itself; name another run")
    written = renew(folder, FOLDER)
    drawn = renew_figures(folder.parents[1] / "figures" / folder.name, ROOT / "figures" / "reference")
    size = sum(path.stat().st_size for path in [*written, *drawn]) / 2**20
    print(f"{FOLDER.name} is now {folder.name}: {len(written)} files and {len(drawn)} of figures, {size:.1f} MB")
    return 0
