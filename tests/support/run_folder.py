"""A finished run's folder without any training: scores whose mean and standard error are the published ones exactly."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.results.names import DATASETS
from benchmarks.results.published import published_cells
from benchmarks.results.types import Parts, Trial, trials_frame
from benchmarks.study.gather import KEYS, gather
from benchmarks.study.simulation import TIMES, numbers

Cell = tuple[str, str, str, str]  # dataset, model, metric, g_tau
CONFIG: dict[str, Any] = {
    "tier": "small", "run": "made", "seed": 7, "trials": 3, "split_source": "drawn", "width_rounding": "truncate",
    "device": "cpu", "threads": 1, "chunk": 10, "skip": {}, "splits": {}, "fallback": {},
    "datasets": ["support", "metabric"], "models": ["cox", "soden"],
    "training": {"max_epochs": 100, "patience": 10, "clip": 100.0, "use_momentum": False, "nll": "published"},
    "evaluation": {"convention": "published"},
    "data": {"folder": "", "cache": "", "offline": True, "simulated_n": 100, "mimic": {"options": {}}},
}  # fmt: skip


def spread(n: int) -> np.ndarray:
    """n numbers with mean 0 and standard deviation 1 (ddof 1)."""
    u = np.arange(n) - (n - 1) / 2
    return u / u.std(ddof=1)


def scores_like_published(datasets: list[str], n: int, shift: Mapping[Cell, float] = {}) -> pd.DataFrame:
    """Tidy scores with the published mean (plus a shift) and standard error over n splits."""
    cells = published_cells().drop_duplicates(["dataset", "model", "metric", "g_tau"])
    rows = []
    for cell in cells[cells["dataset"].isin(datasets)].itertuples():
        mean = cell.mean + shift.get((cell.dataset, cell.model, cell.metric, cell.g_tau), 0.0)
        # Half of the models rise with the split and half fall, so that no paired difference is constant.
        sign = 1 if len(cell.model) % 2 else -1
        for split, u in enumerate(spread(n), start=1):
            value = mean + sign * cell.standard_error * np.sqrt(n) * u
            rows.append((cell.dataset, cell.model, split, cell.metric, cell.g_tau, value))
    return pd.DataFrame(rows, columns=[*KEYS, "value"])


def write_run(
    folder: Path,
    datasets: tuple[str, ...] = ("support", "metabric"),
    n: int = 10,
    marks: Mapping[str, str] = {},
    shift: Mapping[Cell, float] = {},
    bad: str = "loss is nan at epoch 3",
    trials: int = 3,
) -> Path:
    """Write everything `gather` and its forerunners write; one trial of SODEN on split 1 diverged."""
    folder.mkdir(parents=True, exist_ok=True)
    main = scores_like_published(list(datasets), n, shift)
    scores = pd.concat(
        [main.assign(convention="published"), main.assign(convention="text", value=main["value"] + 0.01)]
    )
    rows = _trials(main, bad, trials)
    gather(
        scores,
        rows,
        "published",
        main.groupby(["dataset", "model"])["split"].nunique().rename("n_splits").reset_index(),
        folder,
    )
    summaries = [_summary(name, marks.get(name, "")) for name in datasets]
    pd.DataFrame(summaries).to_csv(folder / "datasets.csv", index=False)
    config = CONFIG | {"run": folder.name, "datasets": list(datasets), "models": sorted(set(main["model"]))}
    (folder / "config.json").write_text(json.dumps(config))
    for row in summaries:
        note = {"dataset": row["dataset"], "available": True, "why": "", "sha256": "ab" * 32, "source": "a test"}
        note |= {"mark": row["mark"], "summary": row}
        _write(folder / "data" / f"{row['dataset']}.json", note)
    for (dataset, model), part in main.groupby(["dataset", "model"]):
        chosen = [_chosen(dataset, model, split, rows) for split in sorted(set(part["split"]))]
        _write(folder / "chosen" / dataset / f"{model}.json", chosen)
        groups = [{"dataset": dataset, "model": model, "split": s, "p_value": 1e-9} for s in sorted(set(part["split"]))]
        _write(folder / "scores" / dataset / f"{model}.json", {"curves": [], "risk_groups": groups})
    environment = {"python": "3.11.0", "libraries": {"torch": "2.13.0"}, "pins": "cd" * 32, "system": "Linux x86_64"}
    _write(folder / "environment.json", environment | {"processor": "a processor", "cores": 2, "memory_gb": 8.0})
    return folder


def _trials(scores: pd.DataFrame, bad: str, n: int) -> pd.DataFrame:
    rows = []
    for dataset, model, split in scores[["dataset", "model", "split"]].drop_duplicates().itertuples(index=False):
        parts = Parts(7, dataset, model, "ab" * 32, "settings", "space", "0123456789ab", "portable", "cpu", "f" * 12)
        for trial in range(1 if model == "cox" else n):
            diverged = model == "soden" and split == 1 and trial == 2
            hyper, score = {"width": 16.0 + trial}, -0.5 - trial
            row = Trial(
                parts, split, trial, 100 * split + trial, hyper, "diverged" if diverged else "ok", score, -score
            )
            row = replace(row, message=bad if diverged else "", solver_error=1e-4, peak_mb=300)
            rows.append(replace(row, seconds=5.0, cpu_seconds=2.0))  # the machine was busy
    return trials_frame(rows)


def _chosen(dataset: str, model: str, split: int, trials: pd.DataFrame) -> dict[str, Any]:
    n = int(((trials["dataset"] == dataset) & (trials["model"] == model) & (trials["split"] == split)).sum())
    key = {"dataset": dataset, "model": model, "split": split, "trial": 0, "n_trials": n, "seed": 100 * split}
    return key | {"score": -0.5, "hyper": {"width": 16, "lr": 0.001}, "identity": "f" * 16, "data": "ab" * 32}


def _summary(name: str, mark: str) -> dict[str, Any]:
    row = {"dataset": name, "label": DATASETS[name], "n": 100, "p": 3, "seq_channels": 0, "seq_steps": 0}
    times = {"censored_mean": 0.44, "censored_median": 0.43, "observed_mean": 0.27, "observed_median": 0.24}
    return row | {"censoring_rate": 0.4, "mark": mark} | times


def _write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


def simulation(
    repetition: int, soden: np.ndarray, hazard: np.ndarray, deephit: np.ndarray, steps: np.ndarray, n: int = 10_000
) -> dict[str, Any]:
    """One repetition as `read_results` gives it; the truth is Section 4's own formulas."""
    t = TIMES
    arrays = {
        "times": t,
        "survival_true": np.stack([np.exp(-2 * t), np.exp(-2 * t**2)]),
        "hazard_true": np.stack([np.full_like(t, 2.0), 4 * t]),
        "survival_soden": soden, "hazard_soden": hazard, "survival_deephit": deephit, "hazard_deephit": steps,
    }  # fmt: skip
    models = {"soden": numbers(soden), "deephit": {**numbers(deephit), "hyper": {"intervals": 10}}}
    meta = {"repetition": repetition, "n": n, "max_epochs": 100, "censoring_rate": 0.28, "models": models}
    return arrays | {"meta": meta}
