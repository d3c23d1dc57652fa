"""LaTeX and CSV tables from scores, or from the published cells; optionally as one PDF."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pandas as pd

from benchmarks.report.latex import Style
from benchmarks.report.other_tables import DATASET_COLUMNS
from benchmarks.report.pdf import compile_pdf, document
from benchmarks.report.published import published_cells, published_datasets, related_work
from benchmarks.report.tables import contents, write_tables
from benchmarks.study.spaces import model_labels, search_spaces
from benchmarks.study.statistics import compare, summarise
from benchmarks.study.tidy import read_table, require


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `python -m benchmarks tables`."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--scores", type=Path, help="tidy scores (CSV or Parquet): dataset, model, split, metric, g_tau, value"
    )
    source.add_argument("--published", action="store_true", help="the paper's own cells")
    parser.add_argument("--out", type=Path, required=True, help="folder for the tables")
    parser.add_argument("--trials", type=Path, help="one row per trial: gives the number of trials a cell rests on")
    parser.add_argument("--planned", type=Path, help="dataset, model, n_splits: what was to be run, so that gaps show")
    parser.add_argument(
        "--datasets", type=Path, help="summaries of the data sets, a row each (default with --published: the paper's)"
    )
    parser.add_argument(
        "--mark",
        action="append",
        default=[],
        metavar="DATASET=TEXT",
        help='say in every table that data are "synthetic" or "demo"',
    )
    parser.add_argument(
        "--coverage",
        choices=("caption", "cells"),
        default="caption",
        help="where fewer splits or trials than the paper's are said",
    )
    parser.add_argument("--pdf", action="store_true", help="also compile tables.pdf (needs LaTeX)")


def run(args: argparse.Namespace) -> int:
    """Write tests.csv and cells.csv (from scores), NAME.tex and NAME.csv per table, tables.tex and tables.pdf."""
    try:
        args.out.mkdir(parents=True, exist_ok=True)
        _write(args)
    except (ValueError, OSError, RuntimeError) as error:
        print(f"tables: {error}", file=sys.stderr)
        return 1
    return 0


def _write(args: argparse.Namespace) -> None:
    cells = published_cells() if args.published else _cells(args)
    datasets = _datasets(args)
    related = related_work()
    tables = contents(cells, datasets, related, search_spaces())
    labels, marks = model_labels(), {}
    if datasets is not None:
        labels |= dict(zip(datasets["dataset"], datasets["label"], strict=True))
        marks = {row.dataset: row.mark for row in datasets.itertuples() if row.mark}
    marks |= dict(_mark(text) for text in args.mark)
    # The first result table explains the notation to the others, as MIMIC-SEQ's does in the paper.
    first = next((name for name in tables if tables[name] is cells), "mimic_seq")
    written = write_tables(args.out, tables, Style(marks, args.coverage, first, labels))
    names = [path.stem for path in written]
    source = args.out / "tables.tex"
    source.write_text(document(names, related, "The published tables" if args.published else "Tables"))
    print(f"{len(names)} tables (.tex and .csv) in {args.out}: {', '.join(names)}")
    if args.pdf:
        print(compile_pdf(source))


def _datasets(args: argparse.Namespace) -> pd.DataFrame | None:
    if args.datasets is None and not args.published:
        print("no table of data sets: give their summaries with --datasets")
        return None
    datasets = read_table(args.datasets) if args.datasets else published_datasets()
    require(datasets, DATASET_COLUMNS, "data set summaries")
    return datasets.fillna({"mark": ""})


def _cells(args: argparse.Namespace) -> pd.DataFrame:
    scores = read_table(args.scores)
    trials, planned = (read_table(path) if path else None for path in (args.trials, args.planned))
    compare(scores).to_csv(args.out / "tests.csv", index=False)
    cells = summarise(scores, trials, planned=planned)
    cells.to_csv(args.out / "cells.csv", index=False)
    return cells


def _mark(text: str) -> tuple[str, str]:
    name, equals, mark = text.partition("=")
    if not (name and equals and mark):
        raise ValueError(f"--mark wants DATASET=TEXT, e.g. mimic=synthetic; got {text!r}")
    return name, mark
