"""Fit each model once, with fixed hyper-parameters, on the authors' splits, beside the paper."""

from __future__ import annotations

import argparse
import statistics
from time import perf_counter
from typing import Any

from benchmarks import registry
from benchmarks.results.names import MODELS
from benchmarks.seeds import seed_for
from benchmarks.study.verify import METRICS, released_parts

# Usual values for tables of this size; nothing was searched, and nothing chosen by a look at a test part.
HYPER = {"layers": 2, "width": 64, "lr": 1e-3, "weight_decay": 1e-5, "momentum": 0.9, "dropout": 0.1}
HYPER |= {"batch_norm": True, "intervals": 50, "alpha": 0.2, "sigma": 0.25}
BATCH = {"support": 256, "metabric": 64}
LEVEL = "1e-8"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument(
        "--first", type=int, default=3, choices=range(1, 11), metavar="N", help="how many of the ten splits (default 3)"
    )
    parser.add_argument("--datasets", nargs="+", default=list(BATCH), choices=list(BATCH))
    # Those whose numbers the paper has.
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))


def run(args: argparse.Namespace) -> int:
    """Print the means beside the published ones: a check by eye, since one configuration is not a search."""
    from rich.console import Console
    from rich.table import Table

    from benchmarks.results.published import published_cells

    # SODEN stands in two tables with the same number.
    published = published_cells().query("g_tau == @LEVEL").groupby(["dataset", "model", "metric"])["mean"].first()
    table = Table(title=f"means over splits 1 to {args.first}, paper's means over ten in brackets")
    for column in ("data", "model", *METRICS, "epochs", "s per fit"):
        table.add_column(column, justify="left" if column in ("data", "model") else "right")
    for dataset in args.datasets:
        for name in args.models:
            rows = [fit_and_score(dataset, name, split) for split in range(1, args.first + 1)]
            mean = {key: statistics.mean(row[key] for row in rows) for key in rows[0]}
            scores = [f"{mean[m]:.3f} ({published[dataset, name, m]:.3f})" for m in METRICS]
            table.add_row(
                dataset, registry.model(name).label, *scores, f"{mean['epochs']:.0f}", f"{mean['seconds']:.1f}"
            )
    Console(width=110).print(table)
    return 0


def fit_and_score(dataset: str, name: str, split: int) -> dict[str, Any]:
    """One fit on one split: the test scores at the largest truncation, epochs and seconds."""
    from benchmarks.metrics.evaluate import evaluate

    train, valid, test = released_parts(dataset, split)
    model = registry.model(name)({**HYPER, "batch_size": BATCH[dataset]})
    start = perf_counter()
    report = model.fit(train, valid, seed_for(0, "sanity", dataset, name, split))
    seconds = perf_counter() - start
    scores = evaluate(test.time, test.event, lambda times: model.predict_survival(test, times))
    return {
        **{s.metric: s.value for s in scores if s.metric in METRICS and s.g_tau == LEVEL},
        "epochs": report.epochs,
        "seconds": seconds,
    }
