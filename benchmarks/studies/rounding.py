"""Measure how far rounding alone moves scores: the chosen trials under other numerics."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import pandas as pd

from benchmarks import ROOT, numerics
from benchmarks.data.files import replacing
from benchmarks.registry import is_searched
from benchmarks.results.folder import find_run, read_results
from benchmarks.results.types import read_trials
from benchmarks.study.store import ROUNDING
from benchmarks.study.verify import Again


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form; `SODEN_NUMERICS=native python -m benchmarks.studies rounding`."""
    parser.add_argument("--run", dest="name", default="reference", help="name or folder of a finished run")
    parser.add_argument("--data", nargs="+", metavar="DATASET", help="only these data sets")
    parser.add_argument("--directory", type=Path, default=ROOT, help="where results/ is")


def run(args: argparse.Namespace) -> int:
    """Write rounding.csv into the run: per data set and model the median and largest |difference| of scores."""
    folder = find_run(args.name, args.directory / "results")
    results = read_results(folder)
    names = sorted({row.dataset for row in results.chosen})
    if wrong := [name for name in args.data or () if name not in names]:
        raise ValueError(f"--data {' '.join(wrong)}: not in {folder.name}; choose among {', '.join(names)}")
    trials = {(t.dataset, t.model, *t.pair): t for t in read_trials(results.trials)}
    rows = []
    with tempfile.TemporaryDirectory() as work:
        again = Again(folder, Path(work), any_numerics=True)
        for chosen in results.chosen:
            if chosen.trial is None or not is_searched(chosen.model) or (args.data and chosen.dataset not in args.data):
                continue
            then = trials[chosen.dataset, chosen.model, chosen.split, chosen.trial]
            if then.parts.numerics == numerics.kind():
                raise ValueError(
                    f"both sides compute {then.parts.numerics} numbers; set {numerics.VARIABLE}=native (or portable) "
                    "and call again"
                )
            rows.append((chosen.dataset, chosen.model, abs(then.score - again.trial(then).score)))
    frame = pd.DataFrame(rows, columns=["dataset", "model", "gap"])
    table = frame.groupby(["dataset", "model"])["gap"].agg(["median", "max", "size"]).reset_index()
    table.columns = pd.Index(["dataset", "model", "median", "largest", "trials"])
    with replacing(folder / ROUNDING) as part:
        table.to_csv(part, index=False)
    print(table.to_string(index=False))
    return 0
