"""One trial: a model fitted on the training part with one drawn configuration, judged on the validation part."""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from baselines.contract import Competitor, TrialOptions
from baselines.space import Distribution, Rounding, draw
from benchmarks.seeds import rng_for, seed_for
from soden.types import SurvivalData

Row = dict[str, Any]


@dataclass(frozen=True)
class Key:
    """What a trial is called; with the root seed it decides every random number in it."""

    dataset: str
    model: str
    split: int
    trial: int


def hyper_parameters(root: int, key: Key, space: Mapping[str, Distribution], rounding: Rounding) -> dict[str, Any]:
    """The configuration of a trial; each value has its own generator, named by the trial's key and the parameter."""
    parts = (key.dataset, key.model, key.split, key.trial)
    return draw(space, lambda name: rng_for(root, "draw", *parts, name), rounding)


def run_trial(
    model_class: type[Competitor],
    key: Key,
    seed: int,
    hyper: Mapping[str, Any],
    train: SurvivalData,
    valid: SurvivalData,
    options: TrialOptions,
) -> tuple[Row, Competitor | None]:
    """Fit and score one configuration. Whatever happens becomes a row: `ok`, `diverged`, or `failed` with the error."""
    row: Row = {**vars(key), "seed": seed, "hyper": dict(hyper), "score": math.nan, "valid_loss": math.nan}
    started, cpu = time.perf_counter(), time.process_time()
    _reset_peak_memory()
    model: Competitor | None = None
    try:
        model = model_class(hyper if options.use_momentum else {**hyper, "momentum": 0.0}, options)
        report = model.fit(train, valid, seed)
        row |= {k: v for k, v in vars(report).items() if k != "history"}
        if report.status == "ok":
            row["score"] = _score(model, report.valid_loss, valid)
    except Exception as error:  # a broken trial is a row that says so, and the study goes on
        row |= {"status": "failed", "message": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
        model = None
    row |= {
        "seconds": round(time.perf_counter() - started, 4),
        "cpu_seconds": round(time.process_time() - cpu, 4),
        "peak_mb": peak_memory_mb(),
    }
    return row, model


def fit_seed(root: int, key: Key) -> int:
    """The seed of a trial's fit."""
    return seed_for(root, "fit", key.dataset, key.model, key.split, key.trial)


def _score(model: Competitor, valid_loss: float, valid: SurvivalData) -> float:
    """What selection maximises: minus the validation loss, C^td where losses cannot be compared, or the model's own."""
    if model.select_by == "loss":
        return -valid_loss
    if model.select_by != "ctd":
        return float(getattr(model, model.select_by)(valid))
    import numpy as np

    from benchmarks.metrics.antolini import antolini_ctd

    times = np.unique(valid.time[valid.event])
    return float(antolini_ctd(valid.time, valid.event, model.predict_survival(valid, times), times))


def better(row: Row, other: Row | None) -> bool:
    """Whether a trial beats another: higher score, ties to the earlier trial. Only `ok` trials can be chosen."""
    if row["status"] != "ok":
        return False
    if other is None or other["status"] != "ok":
        return True
    # A model without search has no score to compare; its one trial is chosen.
    mine, theirs = (-math.inf if math.isnan(r["score"]) else r["score"] for r in (row, other))
    return bool(mine > theirs or (mine == theirs and row["trial"] < other["trial"]))


def _reset_peak_memory() -> None:
    """Start counting peak memory anew (Linux); elsewhere the peak is that of the process so far."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak_memory_mb() -> int:
    """Peak resident memory in MB, since the last reset where the system can tell."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) // 1024
    import resource
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // (1024 * 1024 if sys.platform == "darwin" else 1024)
