"""Keep a finished run, as the reference say: its small files, aggregates and rows, never data, splits or states."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.data.files import replacing
from benchmarks.results import KEPT_RUNS
from benchmarks.results.folder import read_results
from benchmarks.study import journal
from benchmarks.study.rows import FURTHER, write_table

FILES = (
    *("agreement.csv", "cells.csv", "claims.csv", "config.json", "conventions.csv", "datasets.csv", "environment.json"),
    *("measured_costs.csv", "planned.csv", "rankings.csv", "scores.csv", "tests.csv", "trials.parquet"),
)
FOLDERS = ("chosen", "data", "scores", "simulation")
ENDINGS = (".json", ".npz")  # of what is taken from these folders, but for the data themselves
# In the reference: effects measured by themselves, code proven equal.
KEPT = ("deviations.csv", "switches.csv", "codes.json")
DRAWN, CURVES = "soden", ("grid", "high", "low", "all")  # whose risk groups a figure shows; their curves
LARGEST_MB = 5  # of one file in the repository


def renew(run: Path, reference: Path) -> list[Path]:
    """Replace the reference by the run; whole or not at all."""
    read_results(run)  # a folder that cannot be read is no reference
    staging = reference.with_name(f".{reference.name}.new")
    shutil.rmtree(staging, ignore_errors=True)
    for name in FILES:
        _copy(run / name, staging / name)
    for folder in FOLDERS:
        for path in sorted((run / folder).rglob("*")):
            if path.suffix in ENDINGS and not (folder == "data" and path.suffix == ".npz"):
                _copy(path, staging / path.relative_to(run))
    for path in sorted((staging / "scores").rglob("*.json")):
        path.write_text(json.dumps(_slim(json.loads(path.read_text()), path.stem), separators=(",", ":")))
    _of_no_machine(staging, reference.name)
    _write_further(run, staging)
    for name in KEPT:
        if (reference / name).is_file():
            _copy(reference / name, staging / name)
    written = [path for path in sorted(staging.rglob("*")) if path.is_file()]
    if large := [path.name for path in written if path.stat().st_size > LARGEST_MB * 2**20]:
        raise ValueError(f"{', '.join(large)} of {run} are over {LARGEST_MB} MB; a reference must stay small")
    shutil.rmtree(reference, ignore_errors=True)
    staging.rename(reference)
    return [reference / path.relative_to(staging) for path in written]


def renew_figures(figures: Path, reference: Path) -> list[Path]:
    """The run's figures in place of the reference's; what no run draws stays."""
    drawn = sorted(path for path in figures.iterdir() if path.suffix in (".png", ".pdf", ".json"))
    for path in drawn:
        _copy(path, reference / path.name)
    return [reference / path.name for path in drawn]


def _slim(found: dict[str, Any], model: str) -> Any:
    """What is drawn and no more: risk groups are SODEN's, and five figures are more than a plot shows."""
    if model != DRAWN:
        found["risk_groups"] = [{k: v for k, v in row.items() if k not in CURVES} for row in found["risk_groups"]]
    return _rounded(found)


def _rounded(found: Any) -> Any:
    if isinstance(found, dict):
        return {key: _rounded(value) for key, value in found.items()}
    if isinstance(found, list):
        return [_rounded(value) for value in found]
    return float(f"{found:.5g}") if isinstance(found, float) else found


def _of_no_machine(staging: Path, name: str) -> None:
    """Where rows were taken from is said of another kept run only: not of this one's past, nor of a machine's own."""
    others = [kept for kept in KEPT_RUNS if kept != name]
    config = json.loads((staging / "config.json").read_text())
    known = Path(config.get("known", "")).name
    config["known"] = f"results/{known}" if known in others else ""
    (staging / "config.json").write_text(json.dumps(config, indent=1, sort_keys=True))
    trials = pd.read_parquet(staging / "trials.parquet")
    if "taken_from" in trials:
        trials["taken_from"] = trials["taken_from"].where(trials["taken_from"].isin(others))
        if trials["taken_from"].isna().all():
            trials = trials.drop(columns="taken_from")
        trials.to_parquet(staging / "trials.parquet", index=False)


def _copy(source: Path, target: Path) -> None:
    if not source.is_file():
        raise FileNotFoundError(
            f"the run has no {source}; let it come to its end first (`python -m benchmarks status`)"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as part:
        shutil.copyfile(source, part)


def _write_further(run: Path, staging: Path) -> None:
    """Rows of the journals beyond those the run's numbers rest on: `known` goes on from them."""
    trials = pd.read_parquet(run / "trials.parquet")
    used = set(zip(trials["dataset"], trials["model"], trials["split"], trials["trial"], strict=True))
    identities = set(trials["identity"])
    found: dict[Any, journal.Row] = {}
    for folder in sorted((run / "trials").glob("*/*")):
        for row in journal.read_folder(folder):
            key = (row["dataset"], row["model"], row["split"], row["trial"])
            if key not in used and row["status"] != "failed" and row["identity"] in identities:
                found[key] = row
    if found:
        write_table([found[key] for key in sorted(found)], staging / FURTHER)
