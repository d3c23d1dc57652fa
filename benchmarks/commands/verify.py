"""Check the arena against the paper: `verify cox` gives the 18 published Cox cells."""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor

from benchmarks.commands._arguments import positive
from benchmarks.study.verify import DATASETS, LARGEST, SPLITS, _dataset, cox_scores


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("what", choices=["cox"])
    parser.add_argument("--jobs", type=positive, default=2, help="processes")


def run(args: argparse.Namespace) -> int:
    """Print each published cell beside ours; succeed only if all are within LARGEST."""
    import pandas as pd
    from rich.console import Console
    from rich.table import Table

    from benchmarks.results.published import published_cells
    from benchmarks.results.statistics import summarise

    for name in DATASETS:
        _dataset(name)  # fetched here, once, if it has to be
    jobs = [(name, split) for name in DATASETS for split in SPLITS]
    with ProcessPoolExecutor(args.jobs) as pool:
        rows = [row for rows in pool.map(cox_scores, *zip(*jobs, strict=True)) for row in rows]
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
