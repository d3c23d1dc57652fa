"""What trials on MIMIC and MIMIC-SEQ cost: a few steps of each model's first drawn configurations and its largest.

Reads data and splits of a run on MIMIC tables of the real size (invented ones do), and writes cost_model.csv into the
folder --out; what only whole trials show, and the cost of scoring, come from the run's own trials, into cost_whole.csv,
the usual epochs until early stopping from those of the reference, into cost_epochs.csv. Rows of what was not measured
are those of benchmarks/studies/mimic, where new ones are put by hand. Without --run it prints what follows from these:
the rows of the MIMIC data sets in `plan`'s table, mean seconds over the configurations the paper's search draws. Every
configuration runs in a process of its own, forked from one that holds the data as a tuning job does: its peak memory is
its own. A step is timed from the second one on.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from baselines.contract import Competitor, TrialOptions
from baselines.space import resolve as searched
from benchmarks import data, registry
from benchmarks.commands._arguments import a_model, natural, place
from benchmarks.config import resolve
from benchmarks.data.files import replacing
from benchmarks.data.preprocess import prepared
from benchmarks.data.splits import Split
from benchmarks.results.folder import read_trials
from benchmarks.studies._mimic_model import (
    DRAWN,
    EPOCHS,
    TABLE,
    WHOLE,
    configuration,
    estimate,
    trial_seconds,
    usual_epochs,
)
from benchmarks.study import reference
from benchmarks.study.plan import chunks, models_for
from benchmarks.study.trial import Key, fit_seed, hyper_parameters, run_trial
from soden.types import SurvivalData

# A step of a static model takes milliseconds, one with a wide GRU seconds: what is short is timed warm and often.
STEPS, ROUNDS = {"mimic": 12, "mimic_seq": 3}, {"mimic": 5, "mimic_seq": 1}
LARGEST = {"layers": 4, "width": 127, "gru_width": 255}
Row = dict[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument(
        "--run", dest="folder", type=Path, help="folder of a run on MIMIC tables; default: print the rows"
    )
    parser.add_argument("--out", type=place, default=Path("mimic_costs"), help="folder for the tables")
    text = "how many of each model (and its largest); 0: only what the run's whole trials show"
    parser.add_argument("--configurations", type=natural, default=8, help=text)
    parser.add_argument("--models", nargs="+", type=a_model, default=[], help="measure these only")


def run(args: argparse.Namespace) -> int:
    """Write the tables, or print the rows that follow from those in place."""
    if args.folder is None:
        print(rows().to_csv(index=False), end="")
        return 0
    for path in measure_run(args.folder, args.configurations, args.models, args.out):
        print(f"wrote {path}; its place is benchmarks/studies/mimic")
    return 0


def rows() -> pd.DataFrame:
    """dataset, model, seconds, peak_mb and trials: the rows of the MIMIC data sets in measured_costs.csv.

    Seconds are a mean over the paper's draws, memory is the largest of the draws and of what was measured.
    """
    config, measured = resolve({"tier": "paper"}), pd.read_csv(TABLE).groupby(["dataset", "model"])["peak_mb"].max()
    out = []
    for (dataset, model), whole_trials in pd.read_csv(WHOLE).set_index(["dataset", "model"])["trials"].items():
        pairs = [pair for chunk in chunks(config, dataset, model) for pair in chunk.trials]
        hypers = [configuration(config.seed, dataset, model, *pair, config.width_rounding) for pair in pairs]
        seconds = [trial_seconds(dataset, model, hyper, config.training.max_epochs) for hyper in hypers]
        peak = max(measured[dataset, model], *(round(estimate(dataset, model, hyper).peak_mb) for hyper in hypers))
        out.append((dataset, model, round(sum(seconds) / len(seconds), 2), int(peak), whole_trials))
    return pd.DataFrame(out, columns=["dataset", "model", "seconds", "peak_mb", "trials"])


def watched(model_class: type[Competitor], clock: Row, steps: int) -> type[Competitor]:
    """The model with batches from a few rows of its training part only, and a clock at steps and validation."""

    class Watched(model_class):  # type: ignore[misc, valid-type]
        def examples(self, whole: Any) -> Any:
            rows = super().examples(whole)
            if "examples" in clock:  # a model may ask the same of the validation part
                return rows
            rows = torch.arange(len(whole)) if rows is None else rows
            clock["examples"] = len(rows)
            return rows[: steps * int(self.hyper["batch_size"])]

        def batch_loss(self, whole: Any, rows: Any) -> Any:
            clock["begun"].append(time.process_time())
            return super().batch_loss(whole, rows)

        def valid_loss(self, valid: Any) -> float:
            started = time.process_time()
            loss = super().valid_loss(valid)
            clock["valid"].append((started, time.process_time()))
            return float(loss)

    return Watched


def one(model: str, key: Key, hyper: Row, parts: tuple[SurvivalData, SurvivalData]) -> Row:
    """The row of one configuration; for a model without search, of its fit."""
    clock: Row = {"begun": [], "valid": []}
    model_class, searched = registry.model(model), registry.is_searched(model)
    options = TrialOptions(max_epochs=ROUNDS[key.dataset], device="cpu")
    trial, _ = run_trial(
        watched(model_class, clock, STEPS[key.dataset]) if searched else model_class,
        key,
        fit_seed(2022, key),
        hyper,
        *parts,
        options,
    )
    if trial["status"] == "failed":
        raise RuntimeError(trial["traceback"])
    row: Row = {"dataset": key.dataset, "model": model, **{name: hyper.get(name, 0) for name in DRAWN}}
    row["examples"] = clock.get("examples", 0)
    row |= {name: round(value, 5) for name, value in _seconds(clock, trial["cpu_seconds"]).items()}
    return row | {"peak_mb": trial["peak_mb"]}


def _seconds(clock: Row, total: float) -> Row:
    """A step and a validation of the last epoch, without its first step; and what is not training."""
    begun, valid = clock["begun"], clock["valid"]
    if not valid:
        return {"step_s": 0.0, "valid_s": 0.0, "once_s": total}
    asked, told = valid[-1]
    steps = len(begun) // len(valid)
    step = (asked - begun[1 - steps]) / (steps - 1)
    return {"step_s": step, "valid_s": told - asked, "once_s": total - (told - begun[0])}


def measure(run: Path, dataset: str, configurations: int, models: Collection[str] = ()) -> list[Row]:
    """These models, or all, on one data set."""
    config, table = resolve({"tier": "paper"}), data.Dataset.load(run / "data" / f"{dataset}.npz")
    parts = prepared(table, Split.load(run / "splits" / dataset / "1.npz"), "train", "valid")
    rows = []
    for model in (m for m in models_for(config, dataset) if not models or m in models):
        space = searched(registry.model(model).space, data.module(dataset).SEARCH)
        for trial in range(configurations + 1 if space else 1):
            key = Key(dataset, model, 1, trial)
            hyper = hyper_parameters(config.seed, key, space, config.width_rounding)
            if trial == configurations:  # the corner of the space: what memory must be asked for at most
                hyper |= {name: value for name, value in LARGEST.items() if name in hyper}
                hyper |= {n: max(v) for n, v in data.module(dataset).SEARCH.items() if n in hyper}
            for _ in range(2 if trial == 0 else 1):  # the first time what is compiled is compiled, and kept on disk
                with multiprocessing.get_context("fork").Pool(1) as pool:
                    row = pool.apply(one, (model, key, hyper, parts))
            rows.append(row)
            print(row, file=sys.stderr, flush=True)
    return rows


def measure_run(run: Path, configurations: int, models: Collection[str], out: Path) -> list[Path]:
    """Write cost_model.csv for the MIMIC data sets a run has and, if it is finished, what only whole trials show."""
    torch.set_num_threads(1)
    names = [name for name in ("mimic", "mimic_seq") if (run / "data" / f"{name}.npz").is_file()]
    if not names:
        raise FileNotFoundError(
            f"{run} holds neither data/mimic.npz nor data/mimic_seq.npz; name the folder of a run that has them"
        )
    finished = (run / "trials.parquet").is_file()
    if not configurations and not finished:
        raise FileNotFoundError(f"{run} holds no trials.parquet; name the folder of a finished run, or configurations")
    out.mkdir(parents=True, exist_ok=True)  # before the work, not after it
    with replacing(out / EPOCHS.name) as part:
        epochs_by_rate(read_trials(reference.FOLDER)).to_csv(part)
    written, table = [out / EPOCHS.name], TABLE
    if configurations:
        found = [row for name in names for row in measure(run, name, configurations, models)]
        written.append(table := _renewed(TABLE, pd.DataFrame(found), out))
    if finished:
        written.append(_renewed(WHOLE, measure_whole(run, table), out))
    return written


def measure_whole(run: Path, table: Path) -> pd.DataFrame:
    """What the run's trials show, and the cost of scoring."""
    rows = whole(pd.read_parquet(run / "trials.parquet"), table)
    return pd.DataFrame([row | _evaluate(run, row["dataset"], row["model"]) for row in rows])


def whole(trials: pd.DataFrame, table: Path = TABLE) -> list[Row]:
    """Per model on MIMIC: number of trials that ended well, `stretch` and `factor` of `_mimic_model.trial_seconds`.

    Epochs until early stopping differ more from trial to trial than from model to model, so there is one stretch per
    data set, each trial weighed by what an epoch of it costs.
    """
    rows = []
    usable = trials[(trials["status"] == "ok") & trials["dataset"].isin(STEPS)].reset_index(drop=True)
    for dataset, found in usable.groupby("dataset"):
        epochs, usual, predicted = (pd.Series(0.0, found.index) for _ in range(3))
        for i, trial in found.iterrows():
            hyper = json.loads(trial["hyper"])
            drawn = {name: hyper.get(name, 0) for name in DRAWN}
            cost = estimate(str(dataset), trial["model"], drawn, table)
            epochs[i] = trial["epochs"] * cost.epoch_seconds
            usual[i] = usual_epochs(trial["model"], hyper["lr"]) * cost.epoch_seconds if epochs[i] else 0.0
            predicted[i] = cost.once_seconds + epochs[i]
        stretch = round(float(epochs.sum() / usual.sum()), 2) if usual.sum() else 0.0
        for model, own in found.groupby("model"):
            factor = round(float(own["cpu_seconds"].sum() / predicted[own.index].sum()), 2)
            row = {"dataset": dataset, "model": model, "stretch": stretch, "trials": len(own), "factor": factor}
            rows.append(row)
    return rows


def epochs_by_rate(trials: pd.DataFrame) -> pd.DataFrame:
    """Mean epochs of trials that ended well, by model and half decade of the learning rate; data sets count alike."""
    usable = trials[trials["status"] == "ok"].assign(hyper=trials["hyper"].map(json.loads))
    usable = usable[usable["hyper"].map(lambda hyper: "lr" in hyper)]
    rate = usable["hyper"].map(lambda hyper: round(2 * math.log10(hyper["lr"])) / 2).rename("rate")
    means = usable.groupby(["dataset", "model", rate])["epochs"].mean().groupby(["model", "rate"]).mean()
    return means.unstack().round(1)


def _evaluate(run: Path, dataset: str, model: str) -> Row:
    """The run's own step, done once more in a process whose usage the system counts."""
    words = ["step", "evaluate", str(run), f"{dataset}/{model}"]
    process = subprocess.Popen([sys.executable, "-m", "benchmarks", *words])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"evaluating {model} on {dataset} failed; see above")
    splits = len(pd.read_parquet(run / "scores" / dataset / f"{model}.parquet")["split"].unique())
    seconds = (usage.ru_utime + usage.ru_stime) / splits
    return {"evaluate_s": round(seconds, 1), "evaluate_mb": usage.ru_maxrss // 1024}


def _renewed(table: Path, rows: pd.DataFrame, out: Path) -> Path:
    """A copy of the table in `out` with these rows in the place of those of the same models."""
    keys = ["dataset", "model"]
    old = pd.read_csv(table)
    stay = ~old.set_index(keys).index.isin(rows.set_index(keys).index)
    with replacing(out / table.name) as part:
        pd.concat([old[stay], rows]).sort_values(keys, kind="stable").to_csv(part, index=False)
    return out / table.name
