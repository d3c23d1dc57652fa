"""Score the chosen discrete-time models as step functions: what interpolation between the cuts does to the cells.

S(t) is then that of the last cut at or before t, which is how such a model is scored without smoothing.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import ROOT
from benchmarks.data.files import replacing
from benchmarks.results.folder import find_run, read_results
from benchmarks.results.replications import STEPS
from benchmarks.results.tidy import PAPER_METRICS
from benchmarks.studies.best_trials import refitted
from soden.types import FloatArray

MODELS = ("nnet_survival", "deephit")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--run", dest="name", default="reference", help="name or folder of a finished run")
    parser.add_argument("--directory", type=Path, default=ROOT, help="where results/ is")


def run(args: argparse.Namespace) -> int:
    """Write steps.csv into the run."""
    from benchmarks.results.types import read_trials
    from benchmarks.study.verify import Again

    folder = find_run(args.name, args.directory / "results")
    results = read_results(folder)
    trials = {(t.dataset, t.model, t.split, t.trial): t for t in read_trials(results.trials)}
    rows = []
    with tempfile.TemporaryDirectory() as work:
        again = Again(folder, Path(work))
        for chosen in results.chosen:
            if chosen.model in MODELS and chosen.trial is not None:
                trial = trials[chosen.dataset, chosen.model, chosen.split, chosen.trial]
                rows += scores(again, trial, results.config["evaluation"]["convention"])
    with replacing(folder / STEPS) as part:
        pd.DataFrame(rows).to_csv(part, index=False)
    print(folder / STEPS)
    return 0


def scores(again: Any, trial: Any, convention: Any) -> list[dict[str, Any]]:
    """The paper's metrics of one trial's model as a step function; not its likelihood, which has no curve."""
    from benchmarks.elementary import portable_functions
    from benchmarks.metrics.evaluate import evaluate

    fitted, test = refitted(again, trial)
    cuts = fitted.prepared["cuts"].numpy()

    def steps(times: FloatArray) -> FloatArray:
        values: FloatArray = fitted.predict_survival(test, last_cut(cuts, times))
        return values

    key = {"dataset": trial.dataset, "model": trial.model, "split": trial.split}
    with portable_functions():
        found = evaluate(test.time, test.event, steps, None, convention)
    return [key | s._asdict() for s in found if (s.metric, s.g_tau) in PAPER_METRICS]


def last_cut(cuts: FloatArray, times: FloatArray) -> FloatArray:
    """Per time, the last cut at or before it."""
    found: FloatArray = cuts[np.searchsorted(cuts, times, side="right") - 1]
    return found
