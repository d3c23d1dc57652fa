"""Score the ten best trials of each split after the choice: the search's own noise."""

from __future__ import annotations

import argparse
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.commands._arguments import positive
from benchmarks.study.config import ROOT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--run", dest="name", default="reference", help="name or folder of a finished run")
    parser.add_argument("--top", type=positive, default=10, help="how many trials of each split")
    parser.add_argument("--jobs", type=positive, default=2, help="processes")
    parser.add_argument("--directory", type=Path, default=ROOT, help="where results/ is")


def run(args: argparse.Namespace) -> int:
    """One job per data set, model and split; what is there already is kept, so that a stopped one goes on."""
    import pandas as pd

    from benchmarks.data.files import replacing
    from benchmarks.registry import is_searched
    from benchmarks.results.files import read_parquet
    from benchmarks.results.folder import HINDSIGHT, find_run, read_trials

    folder = find_run(args.name, args.directory / "results")
    trials = read_trials(folder)
    path = folder / HINDSIGHT
    kept = read_parquet(path) if path.is_file() else pd.DataFrame(columns=["dataset", "model", "split"])
    done = {key for key, _ in kept.groupby(["dataset", "model", "split"])}
    wanted = [
        key for key, _ in trials.groupby(["dataset", "model", "split"]) if key not in done and is_searched(key[1])
    ]
    print(f"{len(wanted)} splits to score, {len(done)} there already")
    with ProcessPoolExecutor(args.jobs) as pool:
        for number, rows in enumerate(pool.map(partial(_split, folder, args.top), wanted), start=1):
            kept = pd.concat([kept, pd.DataFrame(rows)], ignore_index=True)
            if number % 10 == 0 or number == len(wanted):
                with replacing(path) as part:
                    kept.sort_values(["dataset", "model", "split", "rank", "metric", "g_tau"]).to_parquet(
                        part, index=False
                    )
                print(f"  {number}/{len(wanted)}", flush=True)
    print(path)
    _judge_again(folder)
    return 0


def _judge_again(folder: Path) -> None:
    """The run's agreement.csv by the new yardstick as well, where it has one."""
    from benchmarks.data.files import replacing
    from benchmarks.report.agreement import agreement, yardsticks
    from benchmarks.results.folder import read_results
    from benchmarks.results.published import published_cells
    from benchmarks.results.search_noise import search_errors

    run = read_results(folder)
    if run.hindsight is None or not (folder / "agreement.csv").is_file():
        return
    rows = agreement(published_cells(), run.cells, run.marks, search_errors(run.hindsight))
    with replacing(folder / "agreement.csv") as part:
        rows.to_csv(part, index=False)
    found = yardsticks(rows)
    print(f"{found['within_search']} of {found['searched']} cells are within what two searches differ by")


def _split(folder: Path, top: int, key: tuple[str, str, int]) -> list[dict[str, Any]]:
    import pandas as pd

    from benchmarks.study.audit import Again
    from benchmarks.study.hindsight import of_split
    from benchmarks.study.rows import plain_rows

    names = ("dataset", "model", "split")
    filters = [(name, "==", value) for name, value in zip(names, key, strict=True)]
    rows = list(plain_rows(pd.read_parquet(folder / "trials.parquet", filters=filters)))
    with tempfile.TemporaryDirectory() as work:
        again = Again(folder, Path(work))
        return of_split(again, rows, top, again.config["evaluation"]["convention"])
