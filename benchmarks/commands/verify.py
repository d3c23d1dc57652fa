"""Check the paper's 18 Cox cells (`verify cox`) or all of the reference (`verify reference`)."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.commands._arguments import positive
from benchmarks.study.config import ROOT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("what", choices=["cox", "reference"])
    parser.add_argument("--jobs", type=positive, default=2, help="processes")
    parser.add_argument("--data", nargs="+", metavar="DATASET", help="only these data sets of the reference")
    parser.add_argument("--directory", type=Path, default=ROOT, help="where results/verify goes")


def run(args: argparse.Namespace) -> int:
    """Succeed only if what was checked holds."""
    return _cox(args.jobs) if args.what == "cox" else _reference(args)


def _cox(jobs: int) -> int:
    """Print each published cell beside ours; succeed only if all are within LARGEST."""
    import pandas as pd
    from rich.console import Console
    from rich.table import Table

    from benchmarks.results.published import published_cells
    from benchmarks.results.statistics import summarise
    from benchmarks.study.verify import DATASETS, LARGEST, SPLITS, _dataset, cox_scores

    for name in DATASETS:
        _dataset(name)  # fetched here, once, if it has to be
    wanted = [(name, split) for name in DATASETS for split in SPLITS]
    with ProcessPoolExecutor(jobs) as pool:
        rows = [row for rows in pool.map(cox_scores, *zip(*wanted, strict=True)) for row in rows]
    cell = ["dataset", "metric", "g_tau"]
    ours = summarise(pd.DataFrame(rows)).query("table == 'main'")
    published = published_cells().query("table == 'main' and model == 'cox'")
    both = published.merge(ours, on=cell, suffixes=("_paper", ""), validate="one_to_one")
    both["difference"] = both["mean"] - both["mean_paper"]
    table = Table("data set", "P(C>tau)", "metric", "paper", "ours", "difference")
    for r in both.itertuples():
        paper, own = f"{r.mean_paper:.3f}±{r.standard_error_paper:.3f}", f"{r.mean:.4f}±{r.standard_error:.4f}"
        table.add_row(r.dataset, r.g_tau, r.metric, paper, own, f"{r.difference:+.4f}")
    Console().print(table)
    largest = float(both["difference"].abs().max())
    print(f"max |difference| = {largest:.4f} over {len(both)} cells")
    return 0 if largest <= LARGEST and len(both) == 18 else 1


def _reference(args: argparse.Namespace) -> int:
    """Take its rows as known, fit what was chosen again, make all tables, and compare."""
    import yaml

    from benchmarks.commands import run as tier
    from benchmarks.report.agreement import agreement, yardsticks
    from benchmarks.results.folder import read_results
    from benchmarks.results.published import published_cells
    from benchmarks.study import reference

    started = time.monotonic()
    theirs = read_results(reference.FOLDER)
    known = list(dict.fromkeys(theirs.cells["dataset"]))
    if wrong := [name for name in args.data or () if name not in known]:
        raise ValueError(f"--data {' '.join(wrong)}: not in the reference; choose among {', '.join(known)}")
    overlay = reference.overlay(theirs.config, args.data or known)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "verify.yaml"
        path.write_text(yaml.safe_dump(json.loads(json.dumps(overlay))))
        parser = argparse.ArgumentParser()
        tier.add_arguments(parser)
        words = ["paper", "--configfile", str(path), "--cores", str(args.jobs), "--directory", str(args.directory)]
        if code := tier.run(parser.parse_args(words)):
            return code
    mine = read_results(args.directory / "results" / reference.RUN)
    found = reference.check(mine, theirs)
    for text in found.different:
        print(text)
    total = sum(found.refits.values())
    near = f", {found.refits['equivalent']} equivalent" if found.refits["equivalent"] else ""
    agreed = yardsticks(agreement(published_cells(), mine.cells, mine.marks))
    print(
        f"verify: {found.refits['identical']} of {total} refits identical{near}, {found.same_cells} of {found.cells} "
        f"cells as in the reference, {agreed['agrees']} of {agreed['compared']} agree with the paper "
        f"({(time.monotonic() - started) / 60:.0f} min)"
    )
    return 0 if found.holds else 1
