"""A small invented results folder in the format a run writes, for tests of what reads it."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.metrics.calibration import GROUPS
from benchmarks.results.tidy import PAPER_METRICS
from benchmarks.study.gather import gather

MODELS = ("cox", "deepsurv", "cox_time", "nnet_survival", "deephit", "soden", "soden_ph", "soden_cox")
LEVELS = {"ctd": 0.62, "ibll": -0.55, "ibs": 0.19, "nll": 1.2}
SECONDS = dict(zip(MODELS, (0.4, 1.1, 2.5, 1.4, 1.6, 6.0, 2.2, 2.0), strict=True)) | {"kaplan_meier": 0.001}


def write_run(
    folder: Path,
    datasets: dict[str, str],
    splits: int = 3,
    trials: int = 6,
    failed: str = "",
    models: tuple[str, ...] = MODELS,
) -> Path:
    """`datasets`: name -> mark; the model `failed` diverges in every trial on the last data set."""
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(7)
    scores, rows, planned = [], [], []
    for dataset in datasets:
        for m, model in enumerate(models):
            planned.append((dataset, model, splits))
            bad = model == failed and dataset == list(datasets)[-1]
            for split in range(1, splits + 1):
                rows += _trials(rng, dataset, model, split, 1 if model == "cox" else trials, bad)
                if not bad:
                    for metric, g_tau in PAPER_METRICS:
                        value = LEVELS[metric] * (1 + 0.02 * m / len(models)) + rng.normal(0, 0.004)
                        if (model, metric) == ("kaplan_meier", "ctd"):
                            value = 0.0  # the same curve for everybody: ties earn nothing
                        scores.append((dataset, model, split, "published", metric, g_tau, value))
            if not bad:
                path = folder / "scores" / dataset / f"{model}.json"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(_curves(rng, dataset, model, splits)))
    table = pd.DataFrame(scores, columns=["dataset", "model", "split", "convention", "metric", "g_tau", "value"])
    plan = pd.DataFrame(planned, columns=["dataset", "model", "n_splits"])
    gather(table, pd.DataFrame(rows), "published", plan, folder)
    pd.DataFrame([{"dataset": d, "mark": mark} for d, mark in datasets.items()]).to_csv(
        folder / "datasets.csv", index=False
    )
    (folder / "config.json").write_text(json.dumps({"split_source": "auto", "tier": "small"}))
    return folder


def _trials(
    rng: np.random.Generator, dataset: str, model: str, split: int, n: int, bad: bool
) -> list[dict[str, object]]:
    return [
        {
            "dataset": dataset,
            "model": model,
            "split": split,
            "trial": trial,
            "status": "diverged" if bad or (trial == 1 and model == "soden") else "ok",
            "score": np.nan if model == "cox" else float(-1.2 + 0.1 * split - rng.exponential(0.05)),
            "seconds": SECONDS.get(model, 1.0) * float(rng.uniform(0.7, 1.4)),
        }
        for trial in range(n)
    ]


def _curves(rng: np.random.Generator, dataset: str, model: str, splits: int) -> dict[str, list[dict[str, object]]]:
    curves: list[dict[str, object]] = []
    groups: list[dict[str, object]] = []
    for split in range(1, splits + 1):
        key = {"dataset": dataset, "model": model, "split": split}
        for horizon, spread in ((0.2 + 0.01 * split, 0.15), (0.8, 0.3), (2.0, 0.4)):
            for group in range(1, GROUPS + 1):
                predicted = float(np.clip(0.9 - spread + 2 * spread * (group - 5) / GROUPS, 0.02, 0.99))
                observed = float(np.clip(predicted + rng.normal(0, 0.03), 0, 1))
                row = {"horizon": horizon, "group": group, "n": 30, "predicted": predicted, "observed": observed}
                curves.append({**key, **row, "standard_error": 0.05})
        grid = np.linspace(0, 5, 200)
        rates = {"high": 0.9, "low": 0.3, "all": 0.5}
        groups.append(
            {
                **key,
                "time": 0.8,
                "p_value": 1e-9 if split < 3 else 0.02,
                "grid": grid.tolist(),
                **{name: np.exp(-rate * grid**0.7).tolist() for name, rate in rates.items()},
                "n": {"high": 50, "low": 50, "all": 100},
            }
        )
    return {"curves": curves, "risk_groups": groups}
