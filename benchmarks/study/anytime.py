"""Tables of an unfinished run: from the trials there are, each cell saying how many trials and splits it rests on."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks import data
from benchmarks.data.files import replacing
from benchmarks.study import plan
from benchmarks.study.config import ROOT
from benchmarks.study.evaluate import choose, evaluate_model
from benchmarks.study.gather import gather
from benchmarks.study.status import available
from benchmarks.study.tune import Settings, Tuner

Row = dict[str, Any]


def finished(results: Path, config: Mapping[str, Any], dataset: data.Dataset, model: str) -> tuple[Tuner, list[Row]]:
    """The journal rows that belong to this run as it is configured now; another setting's rows are not of it."""
    folder, splits = results / "trials" / dataset.name / model, results / "splits" / dataset.name
    settings = Settings(config["seed"], config["training"], config["width_rounding"], config["device"])
    tuner = Tuner(folder, dataset, splits, model, settings)
    wanted = {pair for chunk in plan.chunks(config, dataset.name, model) for pair in chunk.trials}
    rows = tuner.finished()
    return tuner, [rows[pair] for pair in sorted(wanted & rows.keys())]


def scores_so_far(
    results: Path, config: Mapping[str, Any], dataset: data.Dataset, model: str
) -> tuple[list[Row], list[Row]]:
    """Scores of each split's best trial so far, and the rows they rest on; what was scored before is read back."""
    tuner, rows = finished(results, config, dataset, model)
    scores: list[Row] = []
    for split, best in sorted(choose(rows).items()):
        state = tuner.state_path(best)
        cached = results / "anytime" / "scored" / dataset.name / model / f"{state.stem}.json"
        if not cached.exists():
            out = evaluate_model(tuner, [r for r in rows if r["split"] == split])
            with replacing(cached) as part:
                part.write_text(json.dumps(out["scores"]))
        scores += json.loads(cached.read_text())
    return scores, rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("run", help="name of the run")
    parser.add_argument("--directory", type=Path, default=ROOT, help="where results/ is")


def run(args: argparse.Namespace) -> int:
    """Score, gather and render into results/<run>/anytime/."""
    from benchmarks.report import tables_cli

    results = args.directory / "results" / args.run
    config = json.loads((results / "config.json").read_text())
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
        print(f"no trial of {args.run} is finished yet; see `python -m benchmarks status {args.run}`")
        return 1
    out = results / "anytime"
    frame = pd.DataFrame(planned, columns=["dataset", "model", "n_splits"])
    flat = pd.DataFrame([r | {"hyper": json.dumps(r["hyper"])} for r in trials])
    gather(pd.DataFrame(scores), flat, config["evaluation"]["convention"], frame, out)
    pd.DataFrame(summaries).to_csv(out / "datasets.csv", index=False)
    parser = argparse.ArgumentParser()
    tables_cli.add_arguments(parser)
    files = {"scores": "scores.csv", "trials": "trials.parquet", "datasets": "datasets.csv", "planned": "planned.csv"}
    options = [word for name, file in files.items() for word in (f"--{name}", str(out / file))]
    return tables_cli.run(parser.parse_args([*options, "--coverage", "cells", "--out", str(out / "tables")]))


def _tables(results: Path, config: Mapping[str, Any]) -> Iterator[data.Dataset]:
    for name in available(results, config):
        path = results / "data" / f"{name}.npz"
        if path.exists() and (results / "splits" / name).is_dir():
            yield data.Dataset.load(path)
