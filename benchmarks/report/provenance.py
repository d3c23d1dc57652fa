"""From a cell to its rows, from each row to the trial behind it, and from there to seed, code, data and environment."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pandas as pd

from benchmarks.results.folder import Results, Row
from benchmarks.results.names import DATASETS, in_order, model_order
from benchmarks.results.tidy import canonical_g_tau

NUMBER = re.compile(r"[-+]?(\d[\d.,]*(e[-+]?\d+)?%?|\bnan\b|\binf\b)")


@dataclass(frozen=True)
class Chain:
    """Everything one cell rests on."""

    cell: Row
    splits: tuple[Row, ...]  # per split: value, and the chosen trial with seed, hyper, identity, seconds
    data: Row
    codes: tuple[str, ...]  # code versions of the trials behind it; more than one if the code changed during the run
    environment: Mapping[str, Any]


def chain(run: Results, dataset: str, metric: str, g_tau: str, model: str) -> Chain:
    """The chain of a cell; a cell that the run does not have is an error that lists what it has."""
    g_tau = canonical_g_tau(g_tau)
    wanted = {"dataset": dataset, "metric": metric, "g_tau": g_tau, "model": model}
    cells = run.cells
    for name, value in wanted.items():
        known = sorted(set(cells[name]))
        if value not in known:
            raise ValueError(
                f"run {run.name} has no cell with {name} {value!r}; "
                f"choose among {', '.join(k or 'none (leave it out)' for k in known)}"
            )
        cells = cells[cells[name] == value]
    cell: Row = cells.iloc[0].to_dict()
    scores = run.scores
    for name, value in wanted.items():
        scores = scores[scores[name] == value]
    values = dict(zip(scores["split"], scores["value"], strict=True))
    chosen = {r["split"]: r for r in run.chosen if r["dataset"] == dataset and r["model"] == model}
    trials = trial_rows(run, dataset, model)
    splits = []
    for split in sorted({*values, *chosen}):
        row = chosen.get(split, {})
        trial = row.get("trial")
        known_trial = trials.get((split, trial), {}) if trial is not None and trial == trial else {}
        splits.append({"split": split, "value": values.get(split), **row, "row": known_trial})
    codes = dict.fromkeys(str(row["row"]["code"]) for row in splits if row["row"].get("code"))
    return Chain(cell, tuple(splits), dict(run.notes.get(dataset, {})), tuple(codes), run.environment)


def trial_rows(run: Results, dataset: str, model: str) -> dict[tuple[int, Any], Row]:
    """(split, trial) -> the trial's row."""
    part = run.trials[(run.trials["dataset"] == dataset) & (run.trials["model"] == model)]
    return {(row["split"], row["trial"]): row for row in part.to_dict("records")}


def hyper_text(hyper: Mapping[str, Any] | None) -> str:
    """Hyper-parameters as a person would write them."""
    shown = {k: f"{v:.4g}" if isinstance(v, float) else str(v) for k, v in (hyper or {}).items() if v is not None}
    return ", ".join(f"{k} {v}" for k, v in sorted(shown.items())) or "none"


def failures(run: Results) -> pd.DataFrame:
    """Trials that diverged or failed, by data set, model, status and message; how many of how many, and one example."""
    trials = run.trials
    total = trials.groupby(["dataset", "model"]).size()
    bad = trials[trials["status"] != "ok"]
    rows = []
    # Without its numbers a message says what happened; with them each trial would be a group of its own.
    kinds = bad["message"].fillna("").map(lambda text: NUMBER.sub("…", text) or "no message")
    for (dataset, model, status, kind), part in bad.groupby(["dataset", "model", "status", kinds]):
        first = part.iloc[0]
        rows.append(
            {
                "dataset": dataset,
                "model": model,
                "status": status,
                "kind": kind,
                "trials": len(part),
                "of": int(total[dataset, model]),
                "splits": part["split"].nunique(),
                "example": f"split {first['split']}, trial {first['trial']}: {first['message'] or 'no message'}",
            }
        )
    columns = ["dataset", "model", "status", "kind", "trials", "of", "splits", "example"]
    frame = pd.DataFrame(rows, columns=columns)
    order = {name: k for k, name in enumerate(in_order(frame["dataset"], list(DATASETS)))}
    models = {name: k for k, name in enumerate(model_order(frame["model"]))}
    by = frame.assign(_d=frame["dataset"].map(order), _m=frame["model"].map(models))
    return by.sort_values(["_d", "_m", "status", "kind"], ignore_index=True)[columns]


class Expected(Protocol):
    """What one model was expected to cost on one data set."""

    @property
    def dataset(self) -> str: ...  # noqa: D102

    @property
    def model(self) -> str: ...  # noqa: D102

    @property
    def seconds(self) -> float:
        """Per trial."""

    @property
    def peak_mb(self) -> float: ...  # noqa: D102

    @property
    def scaled_from(self) -> str:
        """The data set it was measured on, if another."""


def costs(run: Results, expected: Iterable[Expected]) -> pd.DataFrame:
    """Per data set and model: trials, expected and actual CPU seconds per trial, expected and actual peak memory."""
    names = list(dict.fromkeys(run.trials["dataset"]))
    predicted = {(c.dataset, c.model): c for c in expected}
    rows = []
    groups = run.trials.groupby(["dataset", "model"])
    for dataset in in_order(names, list(DATASETS)):
        for model in model_order(run.trials.loc[run.trials["dataset"] == dataset, "model"]):
            part = groups.get_group((dataset, model))
            cost = predicted.get((dataset, model))
            rows.append(
                {
                    "dataset": dataset,
                    "model": model,
                    "trials": len(part),
                    "expected_seconds": float("nan") if cost is None else cost.seconds,
                    "seconds": float(part["cpu_seconds"].mean()),
                    "expected_mb": float("nan") if cost is None else cost.peak_mb,
                    "peak_mb": int(part["peak_mb"].max()),
                    "total_seconds": float(part["cpu_seconds"].sum()),
                    "scaled_from": "" if cost is None else cost.scaled_from,
                }
            )
    return pd.DataFrame(rows)
