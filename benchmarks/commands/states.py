"""The reference's chosen models as files: load them all, compare what they predict (`check`)."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.study.config import ROOT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("what", choices=["check", "pack"])
    parser.add_argument("--run", dest="name", help="pack: name or folder of a run that has the states, e.g. verify")
    parser.add_argument("--directory", type=Path, default=ROOT, help="where results/ is")


def run(args: argparse.Namespace) -> int:
    """Check succeeds only if every model predicts on its test part, to the bit, what it did when it was packed."""
    from benchmarks.results.folder import find_run
    from benchmarks.study import states

    kept = find_run("reference", args.directory / "results")
    if args.what == "pack":
        if args.name is None:
            raise ValueError("pack: name with --run a run that has the states; `make verify` makes one, verify")
        table = states.pack(find_run(args.name, args.directory / "results"), kept)
        size = (kept / states.FILE).stat().st_size / 1e6
        print(f"{len(table)} models in {kept / states.FILE}, {size:.1f} MB")
        return 0
    if not (kept / states.FILE).is_file():
        raise FileNotFoundError(f"{kept} holds no {states.FILE}; `make verify` fits its chosen models again")
    found = list(states.check(kept))
    for row, same in found:
        if not same:
            print(f"  {row['dataset']}/{row['model']}/{row['split']} predicts otherwise")
    print(f"{sum(same for _, same in found)} of {len(found)} chosen models predict what they predicted, bit for bit")
    return 0 if all(same for _, same in found) else 1
