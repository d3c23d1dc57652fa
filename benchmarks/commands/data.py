"""Put one data set into a run's folder, or write down why it cannot be had."""

from __future__ import annotations

import argparse

from benchmarks import data
from benchmarks.commands._arguments import json_map, place
from benchmarks.study.prepare import data_settings, prepare, settings_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("name", help=f"one of {', '.join(data.names())}")
    parser.add_argument("--settings", type=json_map, default={}, help="JSON; default: as the quick tier")
    parser.add_argument("--options", type=json_map, default={}, help="JSON of the data set's own options")
    parser.add_argument("--out", type=place, required=True, help="without suffix: <out>.npz and <out>.json are written")


def run(args: argparse.Namespace) -> int:
    """Load and write; a data set that cannot be had is not a failure of the run."""
    from benchmarks.study.config import resolve

    plain = settings_of(resolve())
    if unknown := [key for key in args.settings if key not in plain]:
        raise ValueError(f"--settings: unknown key {', '.join(map(repr, unknown))}; choose among {', '.join(plain)}")
    plain |= args.settings
    try:
        settings = data_settings(plain, {args.name: args.options})
    except TypeError:
        raise ValueError(
            f"--settings: got {args.settings}; wanted values of the kinds in {settings_of(resolve())}"
        ) from None
    status = prepare(args.name, settings, args.out)
    if status["available"]:
        print(f"{args.name}: {status['summary']['n']} subjects from {status['source']}")
    else:
        print(f"{args.name} is not available, the run goes on without it:\n{status['why']}")
    return 0
