"""Say which data sets can be had here, fetch them, or export their splits.

`data list` fetches what can be had into the cache. `data export support --out DIR` writes the splits of a data set as
CSV files, for models in any language; predictions made from them go to `score`.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import Any

from benchmarks import data
from benchmarks.commands._arguments import natural, place, positive, run_sub_verb, sub_verbs
from benchmarks.config import resolve
from benchmarks.data.files import replacing
from benchmarks.data.settings import DataSettings, data_folders, default_cache
from benchmarks.data.splits import HOW, make_split, source_of
from benchmarks.results.privacy import make_folder
from benchmarks.study.export import README, export_split

run = run_sub_verb


def add_arguments(parser: ArgumentParser) -> None:
    """What can be had, and splits for other programs."""
    sub_verbs(parser, {"list": (_add_list, list_all), "export": (_add_export, export)})


def list_all(args: Namespace) -> int:
    """Load each data set and describe it; exit code 1 if one that was named cannot be had."""
    folders, cache = data_folders(args.folder), args.cache or default_cache()
    found, missing = data.gather(
        args.names or data.names(), DataSettings(folders=folders, cache=cache, offline=args.offline)
    )
    for dataset in found.values():
        print(f"{row_text(dataset.summary())}  from {dataset.source}")
    for message in missing.values():
        print(message, file=sys.stderr)
    return 1 if missing and args.names else 0


def export(args: Namespace) -> int:
    """Write the splits of a data set as CSV files, a folder per split, and a README.txt that says what is what."""
    dataset = data.load(args.name)
    if data.credentialed(dataset.name, dataset.mark):
        raise ValueError(f"{dataset.label} is credentialed: its rows are not written out for other programs")
    if dataset.seq is not None:
        raise ValueError(f"{dataset.label} has series, which a CSV does not hold; choose a data set without")
    if not args.out.exists():
        make_folder(args.out)
    numbers = range(1, (args.n or data.module(args.name).N_SPLITS) + 1)
    splits = {number: make_split(dataset, args.source, number, seed=args.seed) for number in numbers}
    for number, split in splits.items():
        export_split(dataset, split, args.out / str(number))
        print(f"{dataset.label} split {number}: {' / '.join(map(str, split.sizes()))} train / valid / test")
    kinds = {source_of(dataset.name, args.source, number) for number in numbers}
    source = " and ".join("the authors'" if kind == "released" else f"drawn 3:1:1, seed {args.seed}" for kind in kinds)
    with replacing(args.out / "README.txt") as file:
        file.write_text(README.format(label=dataset.label, name=dataset.name, n=len(numbers), source=source))
    print(f"{len(numbers)} splits in {args.out}; README.txt there says what is what, and how predictions come back")
    return 0


def row_text(row: dict[str, Any]) -> str:
    """Label, N, p, censoring rate, mean and median of censored and of observed times."""
    p = str(row["p"]) + (f"+{row['seq_channels']}x{row['seq_steps']}" if row["seq_steps"] else "")
    times = " ".join(f"{row[f'{k}_{s}']:6.2f}" for k in ("censored", "observed") for s in ("mean", "median"))
    mark = f" ({row['mark']})" if row["mark"] else ""
    return f"{row['label'] + mark:12s} N {row['n']:6,d}  p {p:8s} censored {row['censoring_rate']:4.0%}  years {times}"


def _name(name: str) -> str:
    if name not in data.names():
        raise ArgumentTypeError(f"unknown data set {name!r}; choose among {', '.join(data.names())}")
    return name


def _add_list(parser: ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", type=_name, metavar="NAME", help="data sets; default: all")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where to look first; default $SODEN_DATA")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="where downloads are kept; default the user's cache")
    parser.add_argument("--offline", action="store_true", help="open no connection")


def _add_export(parser: ArgumentParser) -> None:
    parser.add_argument("name", type=_name, metavar="NAME", help="a data set")
    parser.add_argument("--out", type=place, required=True, help="folder for 1/, 2/, ... and README.txt")
    parser.add_argument("--n", type=positive, help="how many splits; default: as many as the paper or the data set has")
    parser.add_argument("--source", choices=HOW, default="auto", help="the authors' where they exist, or drawn")
    parser.add_argument("--seed", type=natural, default=resolve().seed, help="of drawn splits; default: the study's")
