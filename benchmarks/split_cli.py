"""Write the row numbers of train, valid and test: drawn 3:1:1 from the seed, or the authors' released splits."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.data import Dataset
from benchmarks.data.settings import default_folders
from benchmarks.data.splits import HOW, make_split


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which data, which splits, where to."""
    parser.add_argument("--data", type=Path, required=True, metavar="FILE", help="data set written by `data`")
    parser.add_argument("--split", type=int, required=True, nargs="+", metavar="K", help="split numbers, from 1")
    parser.add_argument("--source", choices=HOW, default="drawn", help="auto: released where found, else drawn")
    parser.add_argument(
        "--folder", type=Path, metavar="DIR", help="folder with the released splits; default $SODEN_DATA"
    )
    parser.add_argument("--seed", type=int, default=0, help="root seed of drawn splits")
    parser.add_argument("--into", type=Path, required=True, metavar="DIR", help="write DIR/<K>.npz for each")


def run(args: argparse.Namespace) -> int:
    """Write one file per split and print the sizes."""
    dataset = Dataset.load(args.data)
    folder = args.folder or next((f for f in default_folders() if f.is_dir()), None)
    for number in args.split:
        split = make_split(dataset, args.source, number, seed=args.seed, folder=folder)
        path = args.into / f"{number}.npz"
        split.save(path)
        print(f"{dataset.label} split {number}: train/valid/test {'/'.join(map(str, split.sizes()))} -> {path}")
    return 0
