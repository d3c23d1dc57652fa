"""Export the splits of a data set as CSV files, for models in any language.

`splits export --data support --out DIR` makes a folder per split. Predictions made from it go to `score`.
"""

from __future__ import annotations

import argparse

from benchmarks import data
from benchmarks.commands._arguments import natural, place, positive
from benchmarks.data.files import replacing
from benchmarks.data.splits import HOW, make_split, source_of
from benchmarks.study.config import resolve
from benchmarks.study.export import README, export_split


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("what", choices=["export"])
    parser.add_argument("--data", required=True, choices=data.names(), metavar="NAME", help="a data set's name")
    parser.add_argument("--out", type=place, required=True, help="folder for 1/, 2/, ... and README.txt")
    parser.add_argument("--n", type=positive, help="how many splits; default: as many as the paper or the data set has")
    parser.add_argument("--source", choices=HOW, default="auto", help="the authors' where they exist, or drawn")
    parser.add_argument("--seed", type=natural, default=resolve()["seed"], help="of drawn splits; default: the study's")


def run(args: argparse.Namespace) -> int:
    """Export them all."""
    dataset = data.load(args.data)
    if dataset.seq is not None:
        raise ValueError(f"{dataset.label} has series, which a CSV does not hold; choose a data set without")
    n = args.n or data.module(args.data).N_SPLITS
    for number in range(1, n + 1):
        split = make_split(dataset, args.source, number, seed=args.seed)
        export_split(dataset, split, args.out / str(number))
        print(f"{dataset.label} split {number}: {' / '.join(map(str, split.sizes()))} train / valid / test")
    kinds = {source_of(dataset.name, args.source, number) for number in range(1, n + 1)}
    said = " and ".join("the authors'" if kind == "released" else f"drawn 3:1:1, seed {args.seed}" for kind in kinds)
    with replacing(args.out / "README.txt") as file:
        file.write_text(README.format(label=dataset.label, name=dataset.name, n=n, source=said))
    print(f"{n} splits in {args.out}; README.txt there says what is what, and how predictions come back")
    return 0
