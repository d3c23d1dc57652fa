"""Keep results of credentialed data closed to other users and out of git, and hide groups of few patients.

A data set is credentialed by its own file (CREDENTIALED) unless its table is marked as invented or as the open demo.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks import data
from benchmarks.data.mimic3.small_cells import SmallCells, coarse
from benchmarks.results.files import read_csv, read_json


def make_folder(folder: Path) -> None:
    """Make the folder of a run's results or figures, ignored by git; one that holds results stays as it is."""
    if (folder / "config.json").exists() or (folder / ".gitignore").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".gitignore").write_text(
        "# Made by a run; `python -m benchmarks reference renew` keeps what may be kept.\n*\n"
    )


def credentialed_sets(run: Path) -> list[str]:
    """The data sets of a run, finished or not, whose rows only people with credentials may see."""
    notes = {file.stem: read_json(file) for file in sorted((run / "data").glob("*.json"))}
    marks = {name: str(note.get("mark", "")) for name, note in notes.items() if note.get("available", True)}
    if (run / "datasets.csv").is_file():
        table = read_csv(run / "datasets.csv").fillna({"mark": ""})
        marks = dict(zip(table["dataset"], table["mark"], strict=True)) | marks
    return [name for name, mark in sorted(marks.items()) if data.credentialed(name, mark)]


def refuse_credentialed(run: Path, what: str) -> None:
    """Raise if a run rests on credentialed data; `what` says what would have been done with it."""
    if names := credentialed_sets(run):
        raise ValueError(
            f"{run} was made from credentialed data ({', '.join(names)}), which its users agreed not to share: {what}. "
            "Run the other data sets alone, or pass on what `python -m benchmarks mimic check` prints"
        )


def close(run: Path) -> None:
    """Let only the owner read a run on credentialed data, and whatever this process writes from now on."""
    if credentialed_sets(run):
        os.umask(0o077)
        for folder in (run, run.resolve().parents[1] / "figures" / run.name):
            if folder.is_dir():
                folder.chmod(0o700)


def coarse_summary(summary: Mapping[str, Any]) -> dict[str, Any]:
    """A data set's summary without exact times and without shares of few patients, which become nan."""
    n = int(summary["n"])
    observed = round(n * (1 - summary["censoring_rate"]))
    shown = dict(summary) | {"censoring_rate": shown_share(summary["censoring_rate"], n)}
    for kind, count in (("censored", n - observed), ("observed", observed)):
        for name in (f"{kind}_mean", f"{kind}_median"):
            shown[name] = coarse(summary[name]) if are_many([count]) else float("nan")
    return shown


def shown_share(share: float, of: int) -> float:
    """A share of so many patients; nan if it, or what it leaves, tells of a few."""
    shown = SmallCells(credentialed=True).share(round(share * of), of)
    return shown if isinstance(shown, float) else float("nan")


def are_many(groups: Iterable[int]) -> bool:
    """Whether none of these groups of patients is small."""
    return not any(SmallCells(credentialed=True).few(n) for n in groups)


def large_groups(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Calibration rows without those of few patients, their horizon to two digits."""
    return [row | {"horizon": coarse(row["horizon"])} for row in rows if are_many([row["n"]])]
