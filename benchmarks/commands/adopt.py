"""Prove that changed code gives the rows of a run again, so that they count as its own.

Random rows of every model whose code changed are run again. If all are the same to the last bit, `codes.json` in the
run's folder says which code was proven equal to which, when, and on which rows; if one differs, nothing is written.
"""

from __future__ import annotations

import argparse
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from benchmarks import code, data
from benchmarks.commands._arguments import a_model, positive
from benchmarks.results.folder import find_run, read_trials
from benchmarks.study import rows
from benchmarks.study.audit import Again, pick
from benchmarks.study.config import ROOT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--run", dest="name", default="reference", help="name or folder of a run")
    parser.add_argument("--n", type=positive, default=50, help="rows of each touched model that are run again")
    parser.add_argument("--models", nargs="+", type=a_model, help="only these")
    parser.add_argument("--directory", type=Path, default=ROOT, help="where results/ is")


def run(args: argparse.Namespace) -> int:
    """Succeed only if every touched model's rows came out the same."""
    folder = find_run(args.name, args.directory / "results")
    trials = read_trials(folder)
    touched = {group: part for group, part in _by_code(folder, trials) if not args.models or group[0] in args.models}
    if not touched:
        print(f"the code behind the {len(trials)} rows of {folder.name} is this checkout's, or proven equal to it")
        return 0
    proven: dict[tuple[str, str, str], list[str]] = {}
    with tempfile.TemporaryDirectory() as work:
        again = Again(folder, Path(work))
        for group, part in touched.items():
            found = _run_again(again, part, args.n, group[0])
            if found is None:
                print("Nothing is adopted.")
                return 1
            proven[group] = found
    when = datetime.now(UTC).date().isoformat()
    for (model, old, new), keys in proven.items():
        rows.add_code(folder, model, {"code": new, "equals": old, "when": when, "rows": keys})
        print(f"{model}: code {new} counts as {old} in {folder.name}, proven on {len(keys)} rows")
    return 0


def _by_code(folder: Path, trials: pd.DataFrame) -> list[tuple[tuple[str, str, str], pd.DataFrame]]:
    """(model, its rows' code, today's code) -> those rows, where the two are neither the same nor proven equal."""
    found = []
    for (model, series, old), part in trials.assign(series=_has_series(trials)).groupby(["model", "series", "code"]):
        new = code.of_model(model, bool(series))
        if old not in rows.equal_codes(folder, model, new):
            found.append(((str(model), str(old), new), part.drop(columns="series")))
    return found


def _has_series(trials: pd.DataFrame) -> list[bool]:
    return [data.has_series(name) for name in trials["dataset"]]


def _run_again(again: Again, part: pd.DataFrame, n: int, model: str) -> list[str] | None:
    """The keys of n random rows that came out the same; None, and why, if one did not."""
    here = part[[not again.missing(name) for name in part["dataset"]]]
    if len(here) < min(n, len(part)):
        print(f"{model}: only {len(here)} of its {len(part)} rows can be run here, {n} are wanted")
        return None
    keys = []
    for row in pick(here, n, seed=0):
        key = f"{row['dataset']}/{model}/{row['split']}/{row['trial']}"
        if found := rows.differences(row, again.row(row)):
            print(f"{key} came out otherwise: {'; '.join(found)}")
            return None
        keys.append(key)
    print(f"{model}: {len(keys)} of {len(keys)} rows came out the same")
    return keys
