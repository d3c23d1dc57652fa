"""Build MIMIC and MIMIC-SEQ from the raw tables of MIMIC-III v1.4.

What is built from the real tables is credentialed data: keep it where the tables may be kept. docs/mimic.rst walks
through it, from the download to the first run.
"""

import csv
import os
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path

from benchmarks.commands._arguments import natural, place, positive, run_sub_verb, sub_verbs
from benchmarks.config import read, resolve, with_tier
from benchmarks.data.mimic3 import build
from benchmarks.data.mimic3.checks import table_of
from benchmarks.data.mimic3.load import VARIABLE

run = run_sub_verb


def add_arguments(parser: ArgumentParser) -> None:
    """Build, check, or invent tables."""
    parts = {"build": (_add_build, build_all), "check": (_add_check, check), "synthesise": (_add_sizes, synthesise)}
    sub_verbs(parser, parts)


def build_all(args: Namespace) -> int:
    """Build both data sets; nothing is written unless all succeeds.

    The choices are data.mimic.options of the configuration; see benchmarks/data/mimic3/options.py.
    """
    config = resolve(with_tier(read(args.configfile) if args.configfile else {}, None))
    build(args.raw, args.out, replace(config.data.mimic.options, progress=not args.quiet))
    with (args.out / "flow.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            print(f"{row['step']}  {row['left']:>10}  {row['published'] or '-':>7}  {row['rule']}")
    return 0


def check(args: Namespace) -> int:
    """Print a build beside public figures, or beside the original's values.

    With --against FILE: exit code 1 if a value differs from what the original code gave for the same tables; the
    arrays of FILE are described in tests/data/mimic/README.md.
    """
    if args.against is None:
        print(*table_of(args.built), sep="\n")
        return 0
    from benchmarks.data.mimic3.original import compare, comparison_of

    compared = compare(args.built, args.against)
    print(*comparison_of(args.built, compared), sep="\n")
    return int(any(row.differ for row in compared))


def synthesise(args: Namespace) -> int:
    """Write invented tables that have the schema of MIMIC-III v1.4."""
    from benchmarks.data.mimic3.synthesise import ROWS_PER_PATIENT, write

    rows = round(args.patients * ROWS_PER_PATIENT) if args.real_density else None
    write(args.out, args.patients, args.seed, rows, not args.no_compress)
    return 0


def _add_build(parser: ArgumentParser) -> None:
    given = os.environ.get(VARIABLE)
    parser.add_argument("--raw", type=Path, default=given, required=not given, help=f"raw tables; ${VARIABLE}")
    parser.add_argument("--out", type=place, required=True, help="new folder to write to")
    parser.add_argument("--configfile", type=Path, help="your choices, as data: {mimic: {options: {...}}}")
    parser.add_argument("--quiet", action="store_true", help="print no progress")


def _add_check(parser: ArgumentParser) -> None:
    parser.add_argument("--built", type=Path, required=True, help="folder of a finished build")
    parser.add_argument("--against", type=Path, metavar="FILE", help="npz file with the values of the original code")


def _add_sizes(parser: ArgumentParser) -> None:
    parser.add_argument("--out", type=place, required=True, help="new folder to write to")
    parser.add_argument("--patients", type=positive, required=True)
    parser.add_argument("--seed", type=natural, default=0)
    parser.add_argument("--real-density", action="store_true", help="as many rows per patient as v1.4: 7,109")
    parser.add_argument("--no-compress", action="store_true", help="plain .csv instead of .csv.gz")
