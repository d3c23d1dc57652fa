"""Build MIMIC and MIMIC-SEQ from the raw MIMIC-III v1.4 tables, or invent such tables.

The outputs of a build from the real tables are credentialed data: keep them where the tables may be kept.
"""

from __future__ import annotations

import argparse
import csv
import os
from dataclasses import fields
from pathlib import Path
from typing import get_args, get_type_hints

from benchmarks.commands._arguments import json_map, natural, place, positive
from benchmarks.data.mimic3 import MimicOptions, build
from benchmarks.data.mimic3.checks import table_of
from benchmarks.data.mimic3.cohort import build_cohort
from benchmarks.data.mimic3.events import TABLES, build_events
from benchmarks.data.mimic3.features import build_features
from benchmarks.data.mimic3.load import VARIABLE
from benchmarks.data.mimic3.tables import refuse_same

STAGES = {
    "build": "all stages; writes nothing unless all succeed",
    "cohort": "stage 1: who is in, from the small tables",
    "events": "stage 2: one pass over one event table",
    "features": "stage 3: both data sets, flow.csv and checks.csv",
    "check": "print what was built beside public figures, as a table to paste",
    "effects": "build with every choice made otherwise, and append what that changes to a CSV file",
    "synthesise": "write invented tables with MIMIC-III's schema",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One sub-command per stage."""
    stages = parser.add_subparsers(dest="stage", required=True, metavar="STAGE")
    for name, text in STAGES.items():
        stage = stages.add_parser(name, help=text, description=text)
        if name == "check":
            stage.add_argument("--built", type=place, required=True, help="folder of a finished build")
        else:
            where = "CSV file to append to" if name == "effects" else "folder to write to"
            stage.add_argument("--out", type=place, required=True, help=where)
        if name in ("build", "cohort", "events", "effects"):
            given = os.environ.get(VARIABLE)
            stage.add_argument("--raw", type=Path, default=given, required=not given, help=f"raw tables; ${VARIABLE}")
        if name == "events":
            stage.add_argument("--table", type=str.upper, choices=TABLES, required=True)
        if name in ("build", "cohort", "events", "features"):
            _add_options(stage)
        if name == "synthesise":
            _add_sizes(stage)


def run(args: argparse.Namespace) -> int:
    """Run the stage; what is wrong with the tables is said in one line, without quoting a record."""
    _run_stage(args)
    return 0


def _run_stage(args: argparse.Namespace) -> None:
    if args.stage == "events":
        refuse_same(args.raw, args.out)
    if args.stage in ("events", "features") and not (args.out / "cohort.json").is_file():
        raise ValueError(f"{args.out} holds no cohort.json; `python -m benchmarks mimic cohort --out {args.out}` first")
    match args.stage:
        case "build":
            build(args.raw, args.out, _options(args))
            _print_flow(args.out / "flow.csv")
        case "cohort":
            build_cohort(args.raw, args.out, _options(args))
        case "events":
            build_events(args.raw, args.out, args.table, _options(args))
        case "features":
            build_features(args.out, _options(args))
            _print_flow(args.out / "flow.csv")
        case "check":
            print(*table_of(args.built), sep="\n")
        case "effects":
            from benchmarks.study import mimic_effects

            mimic_effects.write(args.raw, args.out)
        case "synthesise":
            from benchmarks.data.mimic3.synthesise import ROWS_PER_PATIENT, write

            rows = round(args.patients * ROWS_PER_PATIENT) if args.real_density else args.rows_chartevents
            write(args.out, args.patients, args.seed, rows, not args.no_compress)


def _add_sizes(stage: argparse.ArgumentParser) -> None:
    stage.add_argument("--patients", type=positive, required=True)
    stage.add_argument("--seed", type=natural, default=0)
    rows = stage.add_mutually_exclusive_group()
    rows.add_argument("--rows-chartevents", type=positive, help="lengthen CHARTEVENTS to so many rows")
    rows.add_argument("--real-density", action="store_true", help="as many rows per patient as v1.4: 7,109")
    stage.add_argument("--no-compress", action="store_true", help="plain .csv instead of .csv.gz")


def _add_options(stage: argparse.ArgumentParser) -> None:
    """A flag for each field of MimicOptions; --options takes the same as JSON, which is how the config passes them."""
    group = stage.add_argument_group("choices (see benchmarks/data/mimic3/options.py)")
    group.add_argument("--options", type=json_map, default={}, metavar="JSON", help="e.g. '{\"min_age\": 18}'")
    hints = get_type_hints(MimicOptions)
    for field in fields(MimicOptions):
        flag, kind = f"--{field.name.replace('_', '-')}", hints[field.name]
        if kind is bool:
            default = True if field.name == "progress" else None
            group.add_argument(flag, action=argparse.BooleanOptionalAction, default=default)
        elif allowed := get_args(kind):
            group.add_argument(flag, choices=allowed)
        else:
            group.add_argument(flag, type=kind)


def _options(args: argparse.Namespace) -> MimicOptions:
    names = [field.name for field in fields(MimicOptions)]
    flags = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    return MimicOptions.of({**args.options, **flags})


def _print_flow(path: Path) -> None:
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            print(f"{row['step']}  {int(row['left']):>7,}  {row['published'] or '-':>7}  {row['rule']}")
