"""Search the hyper-parameters of Section 4's simulation, which the paper does not give: both models alike.

Each model has the same number of random draws from the paper's ranges, fitted on a draw of the data that is none of the
repetitions and judged by the likelihood of its held-out subjects. The true curves are not looked at.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd

from baselines.contract import TrialOptions
from baselines.space import draw, resolve
from benchmarks import registry
from benchmarks.commands._arguments import natural, place, positive
from benchmarks.data import simulated
from benchmarks.data.files import replacing
from benchmarks.seeds import rng_for, seed_for
from benchmarks.study.search import pin_threads
from benchmarks.study.simulation import MODELS, SEARCHED_N, fit, likelihood, split

TRIALS = 50  # of each model
REPETITION = 101  # of the data: a run makes 1 to 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--trials", type=positive, default=TRIALS, help="draws of each model")
    parser.add_argument("--seed", type=natural, default=2022)
    parser.add_argument("--jobs", type=positive, default=2, help="processes")
    parser.add_argument("--out", type=place, required=True, help="CSV to write")


def run(args: argparse.Namespace) -> int:
    """A row per model and draw."""
    keys = [(model, trial, args.seed) for trial in range(args.trials) for model in MODELS]
    rows = []
    with ProcessPoolExecutor(args.jobs) as pool:
        for row in pool.map(one, *zip(*keys, strict=True)):
            rows.append(row)
            print(
                "{model} {trial}: likelihood {likelihood:.5f}, {epochs} epochs, {cpu_seconds:.1f} s".format(**row),
                flush=True,
            )
            write(args.out, rows)
    return 0


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Sorted by model and draw."""
    with replacing(path) as part:
        pd.DataFrame(rows).sort_values(["model", "trial"]).to_csv(part, index=False)


def drawn_hyper(model: str, trial: int, seed: int) -> dict[str, Any]:
    """The hyper-parameters of one draw."""
    space = resolve(registry.model(model).space, simulated.SEARCH)
    space = {name: values for name, values in space.items() if name not in ("gru_width", "momentum")}  # not used
    return draw(space, lambda name: rng_for(seed, "simulation", "draw", model, trial, name))


def one(model: str, trial: int, seed: int, n: int = SEARCHED_N, options: TrialOptions | None = None) -> dict[str, Any]:
    """One draw of hyper-parameters: fitted and judged. One that cannot be trained has no likelihood."""
    pin_threads(1)
    started = time.process_time()
    hyper = drawn_hyper(model, trial, seed)
    drawn = simulated.simulate(n, seed, REPETITION)
    *parts, two = split(drawn)
    fitted, report = fit(
        model, hyper, seed_for(seed, "simulation", "search", model, trial), parts, options or TrialOptions()
    )
    value = likelihood(fitted, two, drawn) if report.status == "ok" else math.nan
    found = {"likelihood": value, "status": report.status, "epochs": report.epochs}
    seconds = round(time.process_time() - started, 2)
    return {"model": model, "trial": trial, "hyper": json.dumps(hyper, sort_keys=True), **found, "cpu_seconds": seconds}
