"""Make the tables of an unfinished run, each cell with the trials and splits it rests on."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks import data
from benchmarks.results.files import read_json
from benchmarks.results.folder import find_run
from benchmarks.study import plan
from benchmarks.study.anytime import Row, scores_so_far
from benchmarks.study.config import ROOT
from benchmarks.study.gather import gather
from benchmarks.study.status import available


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("run", help="name or folder of the run")
    parser.add_argument("--directory", type=Path, default=ROOT, help="where results/ is")


def run(args: argparse.Namespace) -> int:
    """Score, gather and render into results/<run>/anytime/."""
    from benchmarks.report.tables import Source, write_all
    from benchmarks.results.tidy import read_table
    from benchmarks.study.spaces import search_spaces

    results = find_run(args.run, args.directory / "results", finished=False)
    if (results / "trials.parquet").is_file() and not (results / "trials").is_dir():
        raise ValueError(
            f"of {results.name} only the tables were kept, not the trials' models; "
            f"`python -m benchmarks tables --run {results} --out DIR` makes its tables from them"
        )
    config = read_json(results / "config.json", ("datasets", "models", "training", "evaluation"))
    scores: list[Row] = []
    trials: list[Row] = []
    planned: list[tuple[str, str, int]] = []
    summaries = []
    for dataset in _tables(results, config):
        summaries.append(dataset.summary())
        for model in plan.models_for(config, dataset.name):
            planned.append((dataset.name, model, plan.n_splits(config, dataset.name)))
            new, rows = scores_so_far(results, config, dataset, model)
            scores, trials = scores + new, trials + rows
    if not scores:
        raise ValueError(
            f"no trial of {results.name} is finished yet; `python -m benchmarks status {results.name}` follows it"
        )
    out = results / "anytime"
    frame = pd.DataFrame(planned, columns=["dataset", "model", "n_splits"])
    flat = pd.DataFrame([r | {"hyper": json.dumps(r["hyper"])} for r in trials])
    gather(pd.DataFrame(scores), flat, config["evaluation"]["convention"], frame, out)
    source = Source(read_table(out / "cells.csv"), pd.DataFrame(summaries), search_spaces())
    names = write_all(source, out / "tables", coverage="cells")
    print(f"{len(names)} tables (.tex and .csv) in {out / 'tables'}: {', '.join(names)}")
    return 0


def _tables(results: Path, config: Mapping[str, Any]) -> Iterator[data.Dataset]:
    for name in available(results, config):
        path = results / "data" / f"{name}.npz"
        if path.exists() and (results / "splits" / name).is_dir():
            yield data.Dataset.load(path)
