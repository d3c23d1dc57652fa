"""Search again with one thing of the training changed: what each does to the cells."""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from benchmarks.commands._arguments import positive
from benchmarks.study import journal
from benchmarks.study.config import ROOT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--jobs", type=positive, default=2, help="processes")
    parser.add_argument("--changes", nargs="+", metavar="CHANGE", help="only these, by their names in the table")
    parser.add_argument("--directory", type=Path, default=ROOT, help="where results/switches goes")


def run(args: argparse.Namespace) -> int:
    """One line per split in a journal, so that a stopped run goes on; then the table of effects."""
    import pandas as pd

    from benchmarks.data.files import replacing
    from benchmarks.study.switches import CHANGES, NONE, effects, jobs, scores
    from benchmarks.study.verify import _dataset

    if wrong := [name for name in args.changes or () if name not in CHANGES]:
        raise ValueError(f"--changes {wrong[0]!r} is none of: {', '.join(repr(n) for n in CHANGES if n != NONE)}")
    folder = args.directory / "results" / "switches"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "scores.jsonl"
    rows = list(journal.read(path)) if path.is_file() else []
    writer = journal.Journal(path)
    done = {(r["change"], r["dataset"], r["model"], r["split"]) for r in rows}
    wanted = [j for j in jobs() if j not in done and (not args.changes or j[0] in (NONE, *args.changes))]
    print(f"{len(wanted)} searches of ten trials to run, {len(done)} there already")
    for name in {job[1] for job in wanted}:
        _dataset(name)  # fetched here, once, if it has to be
    with ProcessPoolExecutor(args.jobs) as pool:
        for number, future in enumerate(as_completed([pool.submit(scores, job) for job in wanted]), start=1):
            found = future.result()
            writer.append(*found)
            rows += found
            if number % 20 == 0 or number == len(wanted):
                print(f"  {number}/{len(wanted)}", flush=True)
    table = effects(pd.DataFrame(rows))
    with replacing(folder / "switches.csv") as part:
        table.to_csv(part, index=False)
    print(table[table["g_tau"].isin(["", "1e-8"])].to_string(index=False))
    print(folder / "switches.csv")
    return 0
