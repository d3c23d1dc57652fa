"""What a run will need before it starts: jobs, hours, memory and disk, from measured trials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks import registry
from benchmarks.results.files import read_parquet
from benchmarks.study import plan

# Mean seconds and peak memory of full-length trials, one thread; made by `plan --measure` from a run's trials.
MEASURED = Path(__file__).with_name("measured_costs.csv")
# Subjects of the data sets, to scale a set that was never measured from one that was: a step's cost grows with the
# batch, an epoch's with the subjects.
SIZES = {"support": 8873, "metabric": 1904, "mimic": 35_304, "mimic_seq": 35_304, "simulated": 10_000, "flchain": 7871}
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
            seconds, peak, source = _lookup(measured, dataset, model)
            trials = sum(len(c.trials) for c in chunks)
            seconds *= epochs if registry.is_searched(model) else 1.0  # a model without search has no epochs
            costs.append(Cost(dataset, model, len(chunks), trials, seconds, peak, source))
    return costs


def expected_seconds(config: Mapping[str, Any]) -> dict[tuple[str, str], float]:
    """(data set, model) -> seconds of a trial, stand-ins of data sets included."""
    names = [*config["datasets"], *config["fallback"].values()]
    return {(c.dataset, c.model): c.seconds for c in expected(config, pd.read_csv(MEASURED), names)}


def _lookup(measured: pd.DataFrame, dataset: str, model: str) -> tuple[float, float, str]:
    own = measured[(measured["dataset"] == dataset) & (measured["model"] == model)]
    if len(own):
        return float(own["seconds"].iloc[0]), float(own["peak_mb"].iloc[0]), ""
    others = measured[measured["model"] == model]
    if not len(others):
        return float("nan"), float("nan"), "not measured"
    nearest = others.iloc[(others["dataset"].map(SIZES) - SIZES.get(dataset, 10_000)).abs().argsort().iloc[0]]
    factor = SIZES.get(dataset, 10_000) / SIZES[nearest["dataset"]]
    # A recurrent encoder over 24 steps multiplies the work of a batch; four times is an assumption, not a measurement.
    factor *= 4 if dataset == "mimic_seq" else 1
    return float(nearest["seconds"] * factor), float(nearest["peak_mb"]), str(nearest["dataset"])


def measure(run: Path) -> pd.DataFrame:
    """Mean cost per model and data set from a run's trials; CPU seconds, which a busy machine does not stretch."""
    trials = read_parquet(run / "trials.parquet")
    groups = trials[trials["status"] == "ok"].groupby(["dataset", "model"])
    means = groups.agg(
        seconds=("cpu_seconds", "mean"), peak_mb=("peak_mb", "max"), trials=("trial", "size")
    ).reset_index()
    return means.round({"seconds": 2})
