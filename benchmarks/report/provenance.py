"""Where a cell comes from (splits, chosen trials, seeds, code, data), and what failed and what it cost in a run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from benchmarks.results.folder import Results
from benchmarks.results.names import DATASETS, in_order, model_order
from benchmarks.results.tidy import canonical_g_tau
from benchmarks.results.types import Cell, Chosen

NUMBER = re.compile(r"[-+]?(\d[\d.,]*(e[-+]?\d+)?%?|\bnan\b|\binf\b)")


@dataclass(frozen=True)
class Part:
    """One split of a cell: its score, and the trial that was chosen there."""

    split: int
    value: float | None
    chosen: Chosen | None  # None where the run kept no choice
    code: str = ""  # of the chosen trial


@dataclass(frozen=True)
class Chain:
    """Everything one cell rests on."""

    cell: Cell
    splits: tuple[Part, ...]
    data: Mapping[str, Any]
    codes: tuple[str, ...]  # code versions of the trials behind it; more than one if the code changed during the run
    environment: Mapping[str, Any]


def chain(run: Results, dataset: str, metric: str, g_tau: str, model: str) -> Chain:
    """The chain of a cell; a cell that the run does not have is an error that lists what it has."""
    g_tau = canonical_g_tau(g_tau)
    key = {"dataset": dataset, "metric": metric, "g_tau": g_tau, "model": model}
    cells, scores = run.cells, run.scores
    for name, value in key.items():
        choices = sorted(set(cells[name]))
        if value not in choices:
            raise ValueError(
                f"run {run.name} has no cell with {name} {value!r}; "
                f"choose among {', '.join(choice or 'none (leave it out)' for choice in choices)}"
            )
        cells = cells[cells[name] == value]
        scores = scores[scores[name] == value]
    values = dict(zip(scores["split"], scores["value"], strict=True))
    chosen = {row.split: row for row in run.chosen if (row.dataset, row.model) == (dataset, model)}
    trials = trial_rows(run, dataset, model)
    splits = []
    for split in sorted({*values, *chosen}):
        row = chosen.get(split)
        behind = trials.get((split, row.trial), {}) if row else {}
        splits.append(Part(split, values.get(split), row, str(behind.get("code", ""))))
    codes = dict.fromkeys(part.code for part in splits if part.code)
    cell = Cell.from_row(cells.iloc[0].to_dict())
    return Chain(cell, tuple(splits), run.notes.get(dataset, {}), tuple(codes), run.environment)


def trial_rows(run: Results, dataset: str, model: str) -> dict[tuple[int, Any], dict[str, Any]]:
    """(split, trial) -> the trial's row."""
    part = run.trials[(run.trials["dataset"] == dataset) & (run.trials["model"] == model)]
    return {(row["split"], row["trial"]): row for row in part.to_dict("records")}


def used_hyper(hyper: Mapping[str, Any], use_momentum: bool, series: bool) -> dict[str, Any]:
    """The drawn hyper-parameters that the fit used.

    Momentum is drawn for every model and used only where the run says so; the width of the recurrent network matters
    only where the data have series.
    """
    used = {"momentum": use_momentum, "gru_width": series}
    return {name: value for name, value in hyper.items() if used.get(name, True)}


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
    return _sorted(pd.DataFrame(rows, columns=columns), ["status", "kind"])


def costs(run: Results, expected: pd.DataFrame) -> pd.DataFrame:
    """Per data set and model: trials fitted here, CPU seconds per trial and peak memory, each beside what was expected.

    Trials whose rows were taken from another run cost nothing here: they are counted as `known` and have no time.
    `expected` has a row per data set and model: dataset, model, seconds, peak_mb, and scaled_from, the data set it was
    measured on if another one; without rows nothing was expected.
    """
    known_rows = run.trials["taken_from"].notna() if "taken_from" in run.trials else pd.Series(False, run.trials.index)
    measured = run.trials.assign(known=known_rows).groupby(["dataset", "model"])["known"].sum().reset_index()
    fitted = run.trials[~known_rows].groupby(["dataset", "model"])
    here = fitted.agg(
        trials=("trial", "size"),
        seconds=("cpu_seconds", "mean"),
        peak_mb=("peak_mb", "max"),
        total_seconds=("cpu_seconds", "sum"),
    ).reset_index()
    nothing = {"trials": 0, "peak_mb": 0, "total_seconds": 0.0}
    measured = measured.merge(here, on=["dataset", "model"], how="left").fillna(nothing)
    columns = {"seconds": "expected_seconds", "peak_mb": "expected_mb"}
    planned = expected.reindex(columns=["dataset", "model", *columns, "scaled_from"]).rename(columns=columns)
    both = measured.merge(planned, on=["dataset", "model"], how="left").fillna({"scaled_from": ""})
    return _sorted(both.astype({"trials": int, "peak_mb": int}), [])


def _sorted(rows: pd.DataFrame, then: list[str]) -> pd.DataFrame:
    """The rows by data set and model in printed order, then by other columns."""
    datasets, models = in_order(rows["dataset"], list(DATASETS)), model_order(rows["model"])
    keys = rows.assign(dataset=rows["dataset"].map(datasets.index), model=rows["model"].map(models.index))
    return rows.loc[keys.sort_values(["dataset", "model", *then]).index].reset_index(drop=True)
