"""Say which data sets can be had here and from where, and fetch them into the cache."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from benchmarks import data
from benchmarks.data.settings import DataSettings, data_folders, default_cache


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to get and where to look."""
    parser.add_argument("names", nargs="*", type=known, metavar="NAME", help="data sets; default: all")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where to look first; default $SODEN_DATA")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="where downloads are kept; default the user's cache")
    parser.add_argument("--offline", action="store_true", help="open no connection")


def run(args: argparse.Namespace) -> int:
    """Load each data set and describe it; 1 if one that was named cannot be had."""
    settings = DataSettings(
        folders=data_folders(args.folder),
        cache=args.cache or default_cache(),
        offline=args.offline,
    )
    found, missing = data.gather(args.names or data.names(), settings)
    for dataset in found.values():
        print(f"{row_text(dataset.summary())}  from {dataset.source}")
    for message in missing.values():
        print(message, file=sys.stderr)
    return 1 if missing and args.names else 0


def known(name: str) -> str:
    """A name that the registry knows; a wrong one is an error before any download starts."""
    if name not in data.names():
        raise argparse.ArgumentTypeError(f"unknown data set {name!r}; choose among {', '.join(data.names())}")
    return name


def row_text(row: dict[str, Any]) -> str:
    """Label, N, p, censoring rate, mean and median of censored and of observed times."""
    p = str(row["p"]) + (f"+{row['seq_channels']}x{row['seq_steps']}" if row["seq_steps"] else "")
    times = " ".join(f"{row[f'{k}_{s}']:6.2f}" for k in ("censored", "observed") for s in ("mean", "median"))
    mark = f" ({row['mark']})" if row["mark"] else ""
    return f"{row['label'] + mark:12s} N {row['n']:6,d}  p {p:8s} censored {row['censoring_rate']:4.0%}  years {times}"
