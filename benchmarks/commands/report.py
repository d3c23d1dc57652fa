"""Make the tables, figures and page of a run, or the tables of scores or of the paper.

`report small` makes all three, `report small tables` one of them: results/small/tables, figures/small and
results/small/report.html with agreement.csv, claims.csv and rankings.csv; with --out they go to DIR/tables, DIR/figures
and DIR/report.html. `report small --so-far` makes the tables of the trials that are finished; `report small --crate`
packs the run as a Workflow Run RO-Crate, results/small/crate.zip.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from baselines.space import Distribution
from benchmarks import ROOT, registry
from benchmarks.commands._arguments import place
from benchmarks.config import Config
from benchmarks.data.files import replacing
from benchmarks.report import crate
from benchmarks.report.agreement import VERDICTS, counts
from benchmarks.report.figures import draw_all
from benchmarks.report.html import build
from benchmarks.report.pdf import compile_pdf
from benchmarks.report.tables import TEX, write_all
from benchmarks.report.wording import uneven
from benchmarks.results import KEPT_RUNS, privacy
from benchmarks.results.folder import Results, find_run, read_results
from benchmarks.results.names import MODELS
from benchmarks.results.published import published_cells, published_datasets
from benchmarks.results.statistics import compare, summarise
from benchmarks.results.tidy import read_table
from benchmarks.study.anytime import gather_so_far
from benchmarks.study.cost import MEASURED, expected
from benchmarks.study.stored import MANIFEST, manifest_differences


def search_spaces() -> dict[str, Mapping[str, Distribution]]:
    """Of the paper's models, which alone are in its table: the search space of the class; empty for Cox."""
    return {name: registry.model(name).space for name in MODELS}


def tables(run: Results, folder: Path, pdf: bool = False) -> None:
    """LaTeX and CSV of every table, and tables.tex that shows them all."""
    names = write_all(
        folder, run.cells, run.datasets, search_spaces(), run.scores, uneven=uneven(run), reference=run.reference
    )
    _tables_written(names, folder, pdf)


def figures(run: Results, folder: Path) -> None:
    """PDF and PNG of every figure the run has the numbers for, and index.json with captions and alternative texts."""
    paths, absent = draw_all(run, published_cells(), folder)
    print(f"{len(paths)} files in {folder}")
    for name, why in absent.items():
        print(f"not drawn: {name}: {why}")


def page(run: Results, folder: Path, drawn: Path) -> None:
    """report.html, with agreement.csv, claims.csv and rankings.csv beside it."""
    # What was known when the run started; a run may since have become what expectations are made from.
    copied = run.path / MEASURED.name
    measured = copied if copied.is_file() else MEASURED
    costs = expected(Config.of(run.config), measured, list(dict.fromkeys(run.trials["dataset"])))
    report = build(run, drawn, published_cells(), costs)
    with replacing(folder / "report.html") as part:
        part.write_text(report.page, encoding="utf-8")
    for name in ("agreement", "claims", "rankings"):
        with replacing(folder / f"{name}.csv") as part:
            getattr(report, name).to_csv(part, index=False)
    for row in counts(report.agreement).to_dict("records"):
        verdicts = ", ".join(f"{row[verdict]} {verdict}" for verdict in VERDICTS if row[verdict])
        print(f"{row['table']}: {row['cells']} published cells: {verdicts}")
    statements = report.claims["verdict"].value_counts()
    print("statements: " + ", ".join(f"{n} {verdict}" for verdict, n in sorted(statements.items())))
    print(folder / "report.html")


PARTS = {"tables": tables, "figures": figures, "page": page}


def _part(name: str) -> str:
    if name not in PARTS:
        raise argparse.ArgumentTypeError(f"got {name!r}; wanted {', '.join(PARTS)}, or none of them for all")
    return name


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("run", nargs="?", metavar="RUN", help="name or folder of the run")
    parser.add_argument("parts", nargs="*", type=_part, metavar="PART", help=f"{', '.join(PARTS)}; default: all")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--so-far", action="store_true", help="tables of an unfinished run: each cell says what it has")
    source.add_argument("--published", action="store_true", help="the paper's own tables")
    source.add_argument(
        "--scores",
        type=Path,
        help="tables of these scores (CSV or Parquet): dataset, model, split, metric, g_tau, value",
    )
    parser.add_argument("--out", type=place, help="folder to write to; default: where the run is")
    parser.add_argument("--pdf", action="store_true", help="also make tables.pdf (needs LaTeX)")
    parser.add_argument("--crate", action="store_true", help="pack the run, and no part unless named, as crate.zip")
    parser.add_argument("--directory", type=Path, default=ROOT, help="where results/ is")


def run(args: argparse.Namespace) -> int:
    """Make what was asked for, and say what was found."""
    if args.published or args.scores:
        _tables_without_run(args)
        return 0
    if args.run is None:
        raise ValueError("no RUN given: name a run, e.g. `report small`, or say --published or --scores FILE")
    if args.so_far:
        _so_far(find_run(args.run, args.directory / "results", finished=False), args.pdf)
        return 0
    results = read_results(find_run(args.run, args.directory / "results"))
    if (results.path / MANIFEST).is_file() and (changed := list(manifest_differences(results.path))):
        raise ValueError(f"{results.name} is not as it was kept: {changed[0]}; `reference seal` if that was on purpose")
    drawn = results.path.parents[1] / "figures" / results.name
    kept = results.path in [ROOT / "results" / name for name in KEPT_RUNS]
    if kept and args.out is None:
        raise ValueError(f"results/{results.name} belongs to the project: say with --out where the report goes")
    privacy.close(results.path)
    parts = args.parts or ([] if args.crate else list(PARTS))
    folder = args.out or results.path
    if args.out and (kept or "figures" in parts or (args.out / "figures").is_dir()):
        drawn = args.out / "figures"
        if "page" in parts and not drawn.is_dir():  # of kept runs the repository has no pictures, but PDFs
            parts = [*parts, "figures"]
    if "tables" in parts:
        tables(results, folder / "tables", args.pdf)
    if "figures" in parts:
        if args.out is None:
            privacy.make_folder(drawn)
        figures(results, drawn)
    if "page" in parts:
        page(results, folder, drawn)
    if args.crate:
        print(crate.write(results, folder / "crate.zip"))
    return 0


def _tables_without_run(args: argparse.Namespace) -> None:
    """The paper's tables, or those of a file of scores (then also tests.csv and cells.csv), straight into --out."""
    if args.run is not None or args.out is None:
        raise ValueError(
            f"--{'published' if args.published else 'scores'} takes no RUN, and --out says where tables go"
        )
    if args.published:
        summaries = published_datasets().fillna({"mark": ""})
        names = write_all(args.out, published_cells(), summaries, search_spaces(), title="The published tables")
    else:
        scores = read_table(args.scores)
        tests, cells = compare(scores), summarise(scores)
        names = write_all(args.out, cells, None, search_spaces())
        tests.to_csv(args.out / "tests.csv", index=False)
        cells.to_csv(args.out / "cells.csv", index=False)
    _tables_written(names, args.out, args.pdf)


def _so_far(results: Path, pdf: bool) -> None:
    """Tables of the finished trials of an unfinished run, in its folder anytime/."""
    if (results / "trials.parquet").is_file() and not (results / "trials").is_dir():
        raise ValueError(
            f"of {results.name} only the tables were kept, not the trials' models; "
            f"`python -m benchmarks report {results} tables --out DIR` makes its tables from them"
        )
    privacy.close(results)
    folder, summaries = gather_so_far(results)
    cells = read_table(folder / "cells.csv")
    names = write_all(folder / "tables", cells, summaries, search_spaces(), coverage="cells")
    _tables_written(names, folder / "tables", pdf)


def _tables_written(names: list[str], folder: Path, pdf: bool) -> None:
    print(f"{len(names)} tables (.tex and .csv) in {folder}: {', '.join(names)}")
    if pdf:
        print(compile_pdf(folder / TEX))
