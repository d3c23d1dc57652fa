"""One trial: draw hyper-parameters, fit on train, stop early on validation, give one tidy row and the fitted model."""

from __future__ import annotations

import hashlib
import math
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import data, registry
from benchmarks.seeds import rng_for, seed_for
from soden.space import Rounding, draw, resolve
from soden.types import FitOptions, SurvivalData, SurvivalModel

Row = dict[str, Any]


@dataclass(frozen=True)
class Key:
    """What a trial is; its seeds, and so its result, depend on nothing else (given data and settings)."""

    dataset: str
    model: str
    split: int
    trial: int


def hyper_parameters(root: int, key: Key, rounding: Rounding = "truncate") -> dict[str, Any]:
    """The draw of this trial: one generator per hyper-parameter, named by the trial's key and the parameter."""
    space = resolve(registry.model(key.model).space, data.module(key.dataset).SEARCH)
    parts = (key.dataset, key.model, key.split, key.trial)
    return draw(space, lambda name: rng_for(root, "draw", *parts, name), rounding)


def run_trial(
    root: int, key: Key, train: SurvivalData, valid: SurvivalData, options: FitOptions, rounding: Rounding = "truncate"
) -> tuple[Row, SurvivalModel | None]:
    """Fit and score one configuration. Whatever happens becomes a row: `ok`, `diverged`, or `failed` with the error."""
    model_class = registry.model(key.model)
    hyper = hyper_parameters(root, key, rounding)
    seed = seed_for(root, "fit", key.dataset, key.model, key.split, key.trial)
    row: Row = {**vars(key), "seed": seed, "hyper": hyper, "score": math.nan, "valid_loss": math.nan}
    model: SurvivalModel | None = model_class(hyper, options)
    assert model is not None
    started, cpu = time.perf_counter(), time.process_time()
    _reset_peak_memory()
    try:
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
        "code": code_version(),
    }
    return row, model


def _score(model: SurvivalModel, valid_loss: float, valid: SurvivalData) -> float:
    """What selection maximises: minus the validation loss, or C^td for models whose losses cannot be compared."""
    if model.select_by == "loss":
        return -valid_loss
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


@cache
def code_version() -> str:
    """A hash of the code a number can depend on: the same with and without git."""
    digest = hashlib.sha256()
    root = Path(__file__).resolve().parents[2]
    for part in ("soden", "baselines", "benchmarks/data", "benchmarks/metrics", "benchmarks/study"):
        for path in sorted((root / part).rglob("*.py")):
            digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return digest.hexdigest()[:12]


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


def options_from(training: Mapping[str, Any], device: str) -> FitOptions:
    """The config's `training` section as the model's options."""
    return FitOptions(device=device, **training)
