"""Keep a finished run in the repository: its small files, its chosen models, proofs about its code.

Only aggregates and the rows of trials are kept, never data or splits.
"""

from __future__ import annotations

import io
import json
import shutil
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks import ROOT, code, data
from benchmarks.data.files import replacing
from benchmarks.results import KEPT_RUNS
from benchmarks.results.files import read_parquet, write_parquet
from benchmarks.results.folder import read_results
from benchmarks.results.privacy import refuse_credentialed
from benchmarks.results.types import Trial, read_trials, trials_frame
from benchmarks.study.store import FURTHER, add_code, equal_codes, read_journals
from benchmarks.study.stored import MANIFEST, write_manifest
from benchmarks.study.verify import FILE, TABLE, Again, checksum, fit_again, pick, state_name

FOLDER = ROOT / "results" / "reference"
FILES = (
    *("agreement.csv", "cells.csv", "claims.csv", "config.json", "conventions.csv", "datasets.csv", "environment.json"),
    *("measured_costs.csv", "planned.csv", "rankings.csv", "scores.csv", "tests.csv", "trials.parquet", "weights.csv"),
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
    refuse_credentialed(run, "nothing of it is kept in the repository")
    old = reference.with_name(f".{reference.name}.old")
    if old.exists() and not reference.exists():  # an attempt was stopped between its two moves
        old.rename(reference)
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
    write_manifest(staging)
    shutil.rmtree(old, ignore_errors=True)
    if reference.exists():
        names = {path.relative_to(staging) for path in written}
        for path in sorted(reference.rglob("*")):
            if path.is_file() and path.relative_to(reference) not in {*names, Path(MANIFEST)}:
                print(f"no longer kept: {path.relative_to(reference)}")
        reference.rename(old)
    staging.rename(reference)
    shutil.rmtree(old, ignore_errors=True)
    return [reference / path.relative_to(staging) for path in written]


def renew_figures(figures: Path, reference: Path) -> list[Path]:
    """The run's figures in place of the reference's; what no run draws stays."""
    drawn = sorted(path for path in figures.iterdir() if path.suffix in (".png", ".pdf", ".json"))
    for path in drawn:
        _copy(path, reference / path.name)
    return [reference / path.name for path in drawn]


def _slim(evaluated: dict[str, Any], model: str) -> Any:
    """What is drawn and no more: risk groups are SODEN's, and five figures are more than a plot shows."""
    if model != DRAWN:
        groups = evaluated["risk_groups"]
        evaluated["risk_groups"] = [{k: v for k, v in row.items() if k not in CURVES} for row in groups]
    return _rounded(evaluated)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def _of_no_machine(staging: Path, name: str) -> None:
    """Keep the name of the run that trials were taken from only if it is another kept run: no path of a machine."""
    kept_runs = [kept for kept in KEPT_RUNS if kept != name]
    config = json.loads((staging / "config.json").read_text())
    known = Path(config.get("known", "")).name
    config["known"] = f"results/{known}" if known in kept_runs else ""
    (staging / "config.json").write_text(json.dumps(config, indent=1, sort_keys=True))
    trials = read_trials(read_parquet(staging / "trials.parquet"))
    named = [replace(trial, taken_from=trial.taken_from if trial.taken_from in kept_runs else "") for trial in trials]
    write_parquet(trials_frame(named), staging / "trials.parquet")


def _copy(source: Path, target: Path) -> None:
    if not source.is_file():
        raise FileNotFoundError(
            f"the run has no {source}; let it come to its end first (`python -m benchmarks status`)"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as part:
        shutil.copyfile(source, part)


def _write_further(run: Path, staging: Path) -> None:
    """Trials of the journals beyond those the run's numbers rest on: `known` goes on from them."""
    used = read_parquet(run / "trials.parquet")
    keys = set(zip(used["dataset"], used["model"], used["split"], used["trial"], strict=True))
    identities = set(used["identity"])
    further: dict[tuple[str, str, int, int], Trial] = {}
    for folder in sorted((run / "trials").glob("*/*")):
        for trial in read_journals(folder):
            key = (trial.dataset, trial.model, *trial.pair)
            if key not in keys and trial.status != "failed" and trial.identity in identities:
                further[key] = trial
    if further:
        write_parquet(trials_frame([further[key] for key in sorted(further)]), staging / FURTHER)


# The chosen models


def pack(run: Path, kept: Path) -> int:
    """Put the chosen models that a run has fitted beside a kept run's rows: the same bytes every time; how many."""
    for folder in (run, kept):
        refuse_credentialed(folder, "states of some models hold patients' times, none is packed")
    table = []
    with (
        tempfile.TemporaryDirectory() as work,
        replacing(kept / FILE) as part,
        tarfile.open(part, "w:xz", preset=9) as archive,
    ):
        again = Again(kept, Path(work))
        for row in read_results(kept).chosen:
            name = state_name(row.dataset, row.model, row.split)
            states = run / "trials" / row.dataset / row.model / "states"
            path = states / f"{row.split}-{row.trial}-{row.identity}.pt"
            if not path.is_file():
                raise FileNotFoundError(
                    f"{run} has no state of {name}; `make verify` fits all of them again, into results/verify"
                )
            content = path.read_bytes()
            info = tarfile.TarInfo(name)  # no time, no owner
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
            search = again.search(row.dataset, row.model, row.split)
            key = {"dataset": row.dataset, "model": row.model, "split": row.split, "trial": row.trial}
            table.append(key | {"predictions": checksum(search.model_class.load(path), search.test(row.split))})
    with replacing(kept / TABLE) as part:
        pd.DataFrame(table).to_csv(part, index=False)
    write_manifest(kept)
    return len(table)


# Proofs that today's code gives the stored trials again

Group = tuple[str, str, str]  # model, the code of its rows, today's code


def unproven(folder: Path, trials: pd.DataFrame) -> dict[Group, pd.DataFrame]:
    """The rows whose code is neither today's nor proven equal to it."""
    series = [data.has_series(name) for name in trials["dataset"]]
    groups = {}
    for (model, has_series, old), part in trials.assign(series=series).groupby(["model", "series", "code"]):
        now = code.of_model(str(model), bool(has_series))
        if old not in equal_codes([folder], str(model), now):
            groups[str(model), str(old), now] = part.drop(columns="series")
    return groups


def prove(folder: Path, rows: pd.DataFrame, n: int, jobs: int) -> tuple[list[str], str]:
    """Fit n random trials again: the keys of those that came out the same, and what stands against a proof."""
    with tempfile.TemporaryDirectory() as work:
        again = Again(folder, Path(work))
        here = rows[[not again.missing(name) for name in rows["dataset"]]]
    if len(here) < min(n, len(rows)):
        return [], f"only {len(here)} of its {len(rows)} rows can be run here, {n} are wanted"
    keys: list[str] = []
    picked = pick(here, n, seed=0)
    for then, now in zip(picked, fit_again(folder, picked, jobs), strict=True):
        if texts := then.differences(now):
            return keys, f"{then.key} came out otherwise: {'; '.join(texts)}"
        keys.append(then.key)
    return keys, ""


def adopt(folder: Path, trials: pd.DataFrame, n: int, models: Sequence[str], jobs: int) -> bool:
    """Prove that changed code gives the rows of a run again; if one row differs, nothing is written."""
    touched = {group: rows for group, rows in unproven(folder, trials).items() if not models or group[0] in models}
    if not touched:
        print(f"the code behind the {len(trials)} rows of {folder.name} is this checkout's, or proven equal to it")
    proven = {}
    for group, rows in touched.items():
        proven[group], against = prove(folder, rows, n, jobs)
        print(f"{group[0]}: {against}" if against else f"{group[0]}: {len(proven[group])} rows came out the same")
        if against:
            print("Nothing is adopted.")
            return False
    when = datetime.now(UTC).date().isoformat()
    for (model, old, new), keys in proven.items():
        add_code(folder, model, {"code": new, "equals": old, "when": when, "rows": keys})
        print(f"{model}: code {new} counts as {old} in {folder.name}, proven on {len(keys)} rows")
    if (folder / MANIFEST).is_file():
        write_manifest(folder)
    return True
