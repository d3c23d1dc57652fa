"""Split a data set: row numbers of train, valid and test, drawn 3:1:1 or the authors' own."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks import data
from benchmarks.commands._arguments import natural, place, positive
from benchmarks.data.files import replacing
from benchmarks.data.splits import HOW, make_split, source_of

SOURCE = "source.txt"  # beside the splits: released or drawn, which `auto` does not say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--data", type=Path, required=True, help="the data set's npz")
    parser.add_argument("--source", choices=HOW, default="auto")
    parser.add_argument("--n", type=positive, required=True, help="how many")
    parser.add_argument("--seed", type=natural, required=True)
    parser.add_argument("--out", type=place, required=True, help="folder for 1.npz, 2.npz, ...")


def run(args: argparse.Namespace) -> int:
    """Make and write them."""
    dataset = data.Dataset.load(args.data)
    for number in range(1, args.n + 1):
        split = make_split(dataset, args.source, number, seed=args.seed)
        split.save(args.out / f"{number}.npz")
        print(f"{dataset.name} split {number}: {' / '.join(map(str, split.sizes()))} train / valid / test")
    sources = sorted({source_of(dataset.name, args.source, number) for number in range(1, args.n + 1)})
    with replacing(args.out / SOURCE) as part:
        part.write_text("+".join(sources))
    return 0
