"""Write LaTeX and CSV tables of a run, of any tidy scores or of the published cells."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.commands._arguments import place
from benchmarks.report.counting_table import write_counting
from benchmarks.report.pdf import compile_pdf
from benchmarks.report.tables import TEX, Source, write_all
from benchmarks.results.folder import read_results
from benchmarks.results.published import published_cells, published_datasets
from benchmarks.results.statistics import compare, summarise
from benchmarks.results.tidy import read_table
from benchmarks.study.spaces import search_spaces


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--run", dest="folder", type=Path, help="the results folder of a run")
    source.add_argument(
        "--scores", type=Path, help="tidy scores (CSV or Parquet): dataset, model, split, metric, g_tau, value"
    )
    source.add_argument("--published", action="store_true", help="the paper's own cells")
    parser.add_argument("--out", type=place, required=True, help="folder for the tables")
    parser.add_argument("--trials", type=Path, help="with --scores: a row per trial, for how many a cell rests on")
    parser.add_argument("--datasets", type=Path, help="with --scores: summaries of the data sets, a row each")
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
    """Write NAME.tex and NAME.csv per table and tables.tex; from scores also tests.csv and cells.csv; perhaps a PDF."""
    args.out.mkdir(parents=True, exist_ok=True)
    title = "The published tables" if args.published else "Tables"
    if args.folder:
        write_counting(read_results(args.folder).scores, args.out)
    names = write_all(_source(args), args.out, args.coverage, title, ["counting"] if args.folder else [])
    print(f"{len(names)} tables (.tex and .csv) in {args.out}: {', '.join(names)}")
    if args.pdf:
        print(compile_pdf(args.out / TEX))
    return 0


def _source(args: argparse.Namespace) -> Source:
    spaces, marks = search_spaces(), dict(_mark(text) for text in args.mark)
    if args.published:
        return Source(published_cells(), published_datasets().fillna({"mark": ""}), spaces, marks)
    if args.folder:
        run = read_results(args.folder)
        return Source(run.cells, run.datasets, spaces, marks)
    scores = read_table(args.scores)
    compare(scores).to_csv(args.out / "tests.csv", index=False)
    cells = summarise(scores, read_table(args.trials) if args.trials else None)
    cells.to_csv(args.out / "cells.csv", index=False)
    if args.datasets is None:
        print("no table of data sets: give their summaries with --datasets")
    datasets = read_table(args.datasets).fillna({"mark": ""}) if args.datasets else None
    return Source(cells, datasets, spaces, marks)


def _mark(text: str) -> tuple[str, str]:
    name, equals, mark = text.partition("=")
    if not (name and equals and mark):
        raise ValueError(f"--mark wants DATASET=TEXT, e.g. mimic=synthetic; got {text!r}")
    return name, mark
