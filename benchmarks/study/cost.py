"""What a run will need before it starts: jobs, hours, memory and disk, from measured trials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks import registry
from benchmarks.results.files import read_parquet
from benchmarks.study import cost_model, plan

# Mean seconds and peak memory of full-length trials, one thread; `plan --measure RUN` prints those of a run. For
# MIMIC and MIMIC-SEQ, whose trials differ a hundredfold, each configuration's cost is modelled (cost_model.py).
MEASURED = Path(__file__).with_name("measured_costs.csv")
# Subjects of the data sets, to scale a set that was never measured from one that was: a step's cost grows with the
# batch, an epoch's with the subjects.
SIZES = {"support": 8873, "metabric": 1904, "mimic": 35_304, "mimic_seq": 35_304, "simulated": 10_000, "flchain": 7874}
SIZES |= {"gbsg2": 686, "whas500": 500, "aids": 1151}
MIMIC_PATIENTS = 46_520
# CPU seconds, peak memory and events on disk of one build from 330,712,483 rows of CHARTEVENTS (benchmarks/speed).
BUILD_SECONDS, BUILD_MB, BUILD_DISK_MB = 155, 1475, 620
STATE_MB, ROW_MB = 0.15, 0.002  # on disk: a chunk's best state, a trial's row in journal and table


@dataclass(frozen=True)
class Cost:
    """Expectation for one model on one data set."""

    dataset: str
    model: str
    jobs: int
    trials: int
    seconds: float  # per trial
    peak_mb: float
    scaled_from: str  # "" where it was measured


def expected(config: Mapping[str, Any], measured: pd.DataFrame, datasets: list[str] | None = None) -> list[Cost]:
    """A row per model and data set; epochs fewer than the paper's make a trial cheaper in proportion."""
    costs = []
    epochs = min(1.0, config["training"]["max_epochs"] / 100)
    for dataset in datasets or config["datasets"]:
        for model in plan.models_for(config, dataset):
            chunks = plan.chunks(config, dataset, model)
            trials = [pair for chunk in chunks for pair in chunk.trials]
            if cost_model.known(dataset, model):
                seconds, peak, source = _drawn(config, dataset, model, trials)
            else:
                seconds, peak, source = _lookup(measured, dataset, model)
                seconds *= epochs if registry.is_searched(model) else 1.0  # a model without search has no epochs
            costs.append(Cost(dataset, model, len(chunks), len(trials), seconds, peak, source))
    return costs


def expected_seconds(config: Mapping[str, Any]) -> dict[tuple[str, str], float]:
    """(data set, model) -> seconds of a trial, stand-ins of data sets included."""
    names = [*config["datasets"], *config["fallback"].values()]
    return {(c.dataset, c.model): c.seconds for c in expected(config, pd.read_csv(MEASURED), names)}


def job_mb(config: Mapping[str, Any], dataset: str, model: str, trials: Iterable[tuple[int, int]]) -> int:
    """Memory a tuning job of these trials asks for: what the config says, more where its configurations need it."""
    least = int(config["resources"]["mem_mb"])
    if not cost_model.known(dataset, model) or part_of_mimic(config) < 1:
        return least
    return max(least, cost_model.request_mb(_drawn(config, dataset, model, trials)[1]))


def _drawn(
    config: Mapping[str, Any], dataset: str, model: str, trials: Iterable[tuple[int, int]]
) -> tuple[float, float, str]:
    """Mean seconds and largest memory over the very configurations these trials will draw."""
    hypers = [
        cost_model.configuration(config["seed"], dataset, model, split, trial, config["width_rounding"])
        for split, trial in trials
    ]
    epochs = config["training"]["max_epochs"]
    seconds = [cost_model.trial_seconds(dataset, model, hyper, epochs) for hyper in hypers]
    peaks = [cost_model.estimate(dataset, model, hyper).peak_mb for hyper in hypers]
    return sum(seconds) / len(seconds) * part_of_mimic(config), max(peaks), ""


def part_of_mimic(config: Mapping[str, Any]) -> float:
    """The size of invented tables beside the real ones; costs were measured at the real size."""
    section = config["data"]["mimic"]
    return (
        1.0 if section["raw"] or not section["synthetic_patients"] else section["synthetic_patients"] / MIMIC_PATIENTS
    )


def _lookup(measured: pd.DataFrame, dataset: str, model: str) -> tuple[float, float, str]:
    own = measured[(measured["dataset"] == dataset) & (measured["model"] == model)]
    if len(own):
        return float(own["seconds"].iloc[0]), float(own["peak_mb"].iloc[0]), ""
    others = measured[measured["model"] == model]
    if not len(others):
        return float("nan"), float("nan"), "not measured"
    nearest = others.iloc[(others["dataset"].map(SIZES) - SIZES.get(dataset, 10_000)).abs().argsort().iloc[0]]
    factor = SIZES.get(dataset, 10_000) / SIZES[nearest["dataset"]]
    return float(nearest["seconds"] * factor), float(nearest["peak_mb"]), str(nearest["dataset"])


def measure(run: Path) -> pd.DataFrame:
    """Mean cost per model and data set from a run's trials; CPU seconds, which a busy machine does not stretch."""
    if not (path := run / "trials.parquet").is_file():
        raise FileNotFoundError(f"{run} holds no trials.parquet; name the folder of a finished run, e.g. results/small")
    trials = read_parquet(path)
    groups = trials[trials["status"] == "ok"].groupby(["dataset", "model"])
    means = groups.agg(
        seconds=("cpu_seconds", "mean"), peak_mb=("peak_mb", "max"), trials=("trial", "size")
    ).reset_index()
    return means.round({"seconds": 2})


def around_trials(config: Mapping[str, Any], costs: Iterable[Cost]) -> tuple[float, float, float]:
    """What MIMIC costs besides trials: seconds to build it, seconds and peak MB to score each split's chosen models."""
    mimic = [c for c in costs if cost_model.known(c.dataset, c.model)]
    if not mimic:
        return 0.0, 0.0, 0.0
    part = part_of_mimic(config)
    scored = [(plan.n_splits(config, c.dataset), *cost_model.evaluation(c.dataset, c.model)) for c in mimic]
    return BUILD_SECONDS * part, sum(n * s for n, s, _ in scored) * part, max(mb for _, _, mb in scored)
