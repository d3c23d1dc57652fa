"""Get data sets, check them and write each to an npz file; without --out or --into, only say what can be had."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import data
from benchmarks.data.files import replacing
from benchmarks.data.settings import DataSettings, default_cache, default_folders


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to get, where to look and where to write."""
    parser.add_argument("names", nargs="*", type=known, metavar="NAME", help="data sets; default: all")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--out", type=Path, metavar="FILE", help="npz file to write; one NAME only")
    where.add_argument("--into", type=Path, metavar="DIR", help="write DIR/<name>.npz for each")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write what was found and what is missing, as JSON")
    parser.add_argument("--keep-going", action="store_true", help="exit 0 although some data sets cannot be had")
    parser.add_argument(
        "--folder", type=Path, action="append", metavar="DIR", help="where to look first; default $SODEN_DATA"
    )
    parser.add_argument("--cache", type=Path, metavar="DIR", help="where downloads are kept; default the user's cache")
    parser.add_argument("--offline", action="store_true", help="open no connection")
    parser.add_argument("--simulated-n", type=int, default=10_000, metavar="N", help="subjects of the simulation")
    parser.add_argument("--seed", type=int, default=0, help="root seed of the simulation")
    parser.add_argument(
        "--options", type=json.loads, default={}, metavar="JSON", help='per data set, e.g. {"mimic": {"raw": "DIR"}}'
    )


def run(args: argparse.Namespace) -> int:
    """Load each data set, write what was asked for, and print one row of the table of data sets for each."""
    names = tuple(args.names) or data.names()
    if args.out and len(names) != 1:
        raise SystemExit(f"--out takes one data set, got {len(names)}; use --into DIR for several")
    found, missing = data.gather(names, settings_of(args))
    for name, dataset in found.items():
        path = args.out or (args.into and args.into / f"{name}.npz")
        if path:
            dataset.save(path)
        print(row_text(dataset.summary()), f"[{dataset.source}]", f"-> {path}" if path else "")
    for message in missing.values():
        print(message, file=sys.stderr)
    if args.report:
        rows = {n: d.summary() | {"source": d.source, "sha256": d.sha256()} for n, d in found.items()}
        with replacing(args.report) as part:
            part.write_text(json.dumps({"found": rows, "missing": missing}, indent=1))
    return 1 if missing and not args.keep_going else 0


def known(name: str) -> str:
    """A name that the registry knows; a wrong one is an error before any download starts."""
    if name not in data.names():
        raise argparse.ArgumentTypeError(f"unknown data set {name!r}; choose among {', '.join(data.names())}")
    return name


def settings_of(args: argparse.Namespace) -> DataSettings:
    """The settings that the command line asks for."""
    return DataSettings(
        folders=tuple(args.folder or default_folders()),
        cache=args.cache or default_cache(),
        offline=args.offline,
        simulated_n=args.simulated_n,
        seed=args.seed,
        options=args.options,
    )


def row_text(row: dict[str, Any]) -> str:
    """Label, N, p, censoring rate, mean and median of censored and of observed times, as in the paper's table."""
    p = str(row["p"]) + (f"+{row['seq_channels']}x{row['seq_steps']}" if row["seq_steps"] else "")
    times = " ".join(f"{row[f'{k}_{s}']:6.2f}" for k in ("censored", "observed") for s in ("mean", "median"))
    mark = f" ({row['mark']})" if row["mark"] else ""
    return f"{row['label'] + mark:12s} N {row['n']:6,d}  p {p:8s} censored {row['censoring_rate']:4.0%}  years {times}"
