"""Bring a run together: scores, tests, cells, data sets and trials as tables of its folder."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.commands._arguments import place
from benchmarks.commands.split import SOURCE
from benchmarks.data.files import replacing
from benchmarks.results.files import read_json
from benchmarks.study.environment import environment
from benchmarks.study.gather import gather, gather_scores, gather_trials


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--run", dest="folder", type=place, required=True, help="the run's results folder")
    parser.add_argument("--planned", type=planned, required=True, help="JSON: [[dataset, model, splits, chunks], ...]")
    parser.add_argument("--convention", choices=("published", "text"), default="published")


def planned(text: str) -> list[tuple[str, str, int, int]]:
    """What the run is made of, as the rule passes it."""
    try:
        return [(str(d), str(m), int(splits), int(chunks)) for d, m, splits, chunks in json.loads(text)]
    except (TypeError, ValueError):
        form = '[["support", "soden", 10, 4]]: data set, model, splits, chunks'
        raise argparse.ArgumentTypeError(f"got {text!r}; wanted JSON such as {form}") from None


def run(args: argparse.Namespace) -> int:
    """Gather what the plan names; a planned file that is not there is a bug of the workflow, so it is an error."""
    planned = pd.DataFrame([row[:3] for row in args.planned], columns=["dataset", "model", "n_splits"])
    pairs = list(zip(planned["dataset"], planned["model"], strict=True))
    # By number, not by looking what is there: a run that had more or smaller chunks before leaves files behind.
    folder = args.folder / "trials"
    chunks = [folder / d / m / f"{i:04d}.parquet" for d, m, _, n in args.planned for i in range(n)]
    scores = gather_scores(args.folder / "scores" / d / f"{m}.parquet" for d, m in pairs)
    trials = gather_trials(chunks)
    gather(scores, trials, args.convention, planned, args.folder)
    names = list(dict.fromkeys(planned["dataset"]))
    summaries = [_summary(args.folder, name) for name in names]
    with replacing(args.folder / "datasets.csv") as part:
        pd.DataFrame(summaries).to_csv(part, index=False)
    with replacing(args.folder / "environment.json") as part:
        part.write_text(json.dumps(environment(), indent=1, sort_keys=True))
    bad = trials[trials["status"] != "ok"].groupby(["dataset", "model", "status"]).size()
    print(f"{len(trials)} trials, {len(pairs)} models on {len(names)} data sets")
    for (dataset, model, status), count in bad.items():
        print(f"  {model} on {dataset}: {count} trials {status}")
    return 0


def _summary(folder: Path, name: str) -> dict[str, Any]:
    """What the data set is, and whose splits it was cut by."""
    summary: dict[str, Any] = read_json(folder / "data" / f"{name}.json", ["summary"])["summary"]
    return summary | {"splits": (folder / "splits" / name / SOURCE).read_text()}
