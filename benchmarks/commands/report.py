"""Write a run's report.html, and the agreement, claims and rankings behind it as CSV."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.commands._arguments import place
from benchmarks.data.files import replacing
from benchmarks.report.agreement import VERDICTS, counts
from benchmarks.report.html import build
from benchmarks.results import KEPT_RUNS
from benchmarks.results.files import read_csv
from benchmarks.results.folder import read_results
from benchmarks.results.published import published_cells
from benchmarks.study.config import ROOT
from benchmarks.study.cost import MEASURED, expected


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--run", dest="folder", type=Path, required=True, help="the run's results folder")
    parser.add_argument("--figures", type=Path, help="folder with its figures; default: figures/<run> beside results/")
    parser.add_argument("--out", type=place, help="default: report.html in the run's folder, where its tables go")


def run(args: argparse.Namespace) -> int:
    """Build, write, and say what was found."""
    if args.figures and not args.figures.is_dir():
        raise FileNotFoundError(f"no folder of figures {args.figures}; `python -m benchmarks figures` makes one")
    results = read_results(args.folder)
    kept = results.path in [ROOT / "results" / name for name in KEPT_RUNS]  # has its tables: `renew` brought them
    out = args.out or args.folder / "report.html"
    if kept and args.out is None:
        raise ValueError(f"results/{results.name} belongs to the project: say with --out where the page goes")
    figures = args.figures or results.path.parents[1] / "figures" / results.name
    # What was known when the run started; a run may since have become what expectations are made from.
    known = args.folder / MEASURED.name
    measured = read_csv(known if known.is_file() else MEASURED)
    names = list(dict.fromkeys(results.trials["dataset"]))
    report = build(results, figures, published_cells(), expected(results.config, measured, names))
    with replacing(out) as part:
        part.write_text(report.page, encoding="utf-8")
    for name in () if kept else ("agreement", "claims", "rankings"):
        with replacing(args.folder / f"{name}.csv") as part:
            getattr(report, name).to_csv(part, index=False)
    for row in counts(report.agreement).to_dict("records"):
        said = ", ".join(f"{row[verdict]} {verdict}" for verdict in VERDICTS if row[verdict])
        print(f"{row['table']}: {row['cells']} published cells: {said}")
    verdicts = report.claims["verdict"].value_counts()
    print("statements: " + ", ".join(f"{n} {verdict}" for verdict, n in sorted(verdicts.items())))
    print(out)
    return 0
