"""What a running or stopped run has done: trials per model, time left, best validation score so far."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.study import plan
from benchmarks.study.journal import Follower, Row
from benchmarks.study.rows import CURRENT

if TYPE_CHECKING:
    from rich.table import Table


@dataclass
class Progress:
    """The trials of one model on one data set."""

    dataset: str
    model: str
    total: int
    expected: float = math.nan  # seconds of a trial, as measured before
    done: int = 0
    diverged: int = 0
    failed: int = 0
    waiting: int = 0  # rows that will be taken from the run named by `known`, when their job begins
    seconds: float = 0.0
    best: float = -math.inf  # validation score; minus the loss, or C^td

    def add(self, row: Row, times: int = 1) -> None:
        """Count a row; -1 takes it back."""
        self.done += times
        self.seconds += times * row["seconds"]
        self.diverged += times * (row["status"] == "diverged")
        self.failed += times * (row["status"] == "failed")
        if times > 0 and not math.isnan(row["score"]):
            self.best = max(self.best, row["score"])

    def seconds_left(self, pace: float) -> float:
        """Of one core; a model that has not begun is expected to take what was measured, at this run's pace."""
        each = self.seconds / self.done if self.done else self.expected * pace
        trials = self.total - self.done - self.waiting
        return trials * each if trials else 0.0


class Watch:
    """Counts a run's rows against its plan; reads only, and only what is new, so it is safe beside a running study."""

    def __init__(self, results: Path, config: Mapping[str, Any], expected: Mapping[tuple[str, str], float]) -> None:
        self.results, self.config, self.expected = results, config, expected
        self._models: dict[tuple[str, str], _Model] = {}

    def entries(self) -> list[Progress]:
        """A model each, in the order of the config."""
        names = available(self.results, self.config)
        return [self._of(d, m).entry() for d in names for m in plan.models_for(self.config, d)]

    def first_failures(self) -> Iterator[Row]:
        """The first failed trial of each model, once."""
        for model in self._models.values():
            if model.failure is not None and not model.told:
                model.told = True
                yield model.failure

    def _of(self, dataset: str, model: str) -> _Model:
        if (dataset, model) not in self._models:
            splits = plan.n_splits(self.config, dataset)
            trials = plan.n_trials(self.config, model)
            empty = Progress(dataset, model, splits * trials, self.expected.get((dataset, model), math.nan))
            known = self._known(dataset, model)
            folder = self.results / "trials" / dataset / model
            self._models[dataset, model] = _Model(folder, splits, trials, empty, known)
        return self._models[dataset, model]

    def _known(self, dataset: str, model: str) -> dict[tuple[int, int], str]:
        folder = self.config.get("known")
        if not folder or not (Path(folder) / "trials.parquet").is_file():
            return {}
        from benchmarks.study.preview import promised  # loads torch, which a run without known rows is spared

        return promised(self.config, dataset, model)


class _Model:
    """The rows of one model that count: planned ones, with an identity of now, each pair once."""

    def __init__(
        self, folder: Path, splits: int, trials: int, progress: Progress, known: Mapping[tuple[int, int], str]
    ) -> None:
        self.folder, self.splits, self.trials, self.progress = folder, splits, trials, progress
        self.known = known  # (split, trial) -> identity
        self.failure: Row | None = None
        self.told = False
        self._start_over(None)

    def _start_over(self, current: dict[str, list[str]] | None) -> None:
        old = self.progress
        self.progress = Progress(old.dataset, old.model, old.total, old.expected)
        self.current, self.follower, self.rows = current, Follower(self.folder), dict[tuple[int, int], Row]()

    def entry(self) -> Progress:
        current = _json(self.folder / CURRENT)
        if current != self.current:  # settings or code are others than those of the rows counted so far
            self._start_over(current)
        for row in self.follower.new_rows():
            pair = (row["split"], row["trial"])
            inside = row["split"] <= self.splits and row["trial"] < self.trials
            if not inside or (current and row["identity"] not in current.get(str(row["split"]), ())):
                continue
            if pair in self.rows:
                self.progress.add(self.rows[pair], -1)
            self.progress.add(row)
            self.rows[pair] = {k: row[k] for k in ("seconds", "status", "score")}
            if row["status"] == "failed" and self.failure is None:
                self.failure = row
        self.progress.waiting = sum(
            pair not in self.rows and (not current or identity in current.get(str(pair[0]), ()))
            for pair, identity in self.known.items()
        )
        return self.progress


def of_finished(results: Path) -> list[Progress]:
    """The same of a run of which only its tables were kept, such as the reference."""
    from benchmarks.results.tidy import read_table

    found: dict[tuple[str, str], Progress] = {}
    for row in read_table(results / "trials.parquet").to_dict("records"):
        key = (row["dataset"], row["model"])
        entry = found.setdefault(key, Progress(*key, total=0))
        entry.total += 1
        entry.add(row)
    return list(found.values())


def available(results: Path, config: Mapping[str, Any]) -> list[str]:
    """The data sets of a run with their stand-ins, once the run knows them; all configured ones before that."""
    names = []
    for name in config["datasets"]:
        candidates = [name, *([config["fallback"][name]] if name in config["fallback"] else [])]
        names += [c for c in candidates if _known(results, c).get("available", c == name)][:1]
    return list(dict.fromkeys(names))


def missing(results: Path, config: Mapping[str, Any]) -> list[str]:
    """Each data set that could not be had, with the first line of the reason."""
    notes = ((name, _known(results, name)) for name in config["datasets"])
    return [f"{name}: {note['why'].splitlines()[0]}" for name, note in notes if not note.get("available", True)]


def _known(results: Path, name: str) -> dict[str, Any]:
    """What the run found out about a data set; nothing before it looked."""
    return _json(results / "data" / f"{name}.json") or {}


def _json(path: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):  # not there, or another process is about to replace it
        return None
    return found


def headline(entries: list[Progress], cores: int = 1) -> str:
    """One line: how far the run is and how long it may take."""
    done, total = sum(e.done for e in entries), sum(e.total for e in entries)
    diverged, failed = sum(e.diverged for e in entries), sum(e.failed for e in entries)
    bad = " and ".join(f"{n} {word}" for n, word in ((diverged, "diverged"), (failed, "failed")) if n)
    if waiting := sum(e.waiting for e in entries):
        bad += f"{'; ' if bad else ''}{waiting} more to be taken over"
    left = sum(e.seconds_left(pace(entries)) for e in entries)
    eta = "" if math.isnan(left) or done == total else f", about {duration(left / cores)} of training left"
    return f"{done}/{total} trials" + (f" ({bad})" if bad else "") + eta


def pace(entries: list[Progress]) -> float:
    """How much longer trials take here than where they were measured; 1 before there is one to compare."""
    known = [e for e in entries if e.done and not math.isnan(e.expected)]
    expected = sum(e.done * e.expected for e in known)
    return sum(e.seconds for e in known) / expected if expected else 1.0


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def narrow(*headers: str) -> Table:
    """An empty table for a terminal of 80 columns; what is too long for its column is folded, never cut off."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Column, Table

    columns = (Column(text, overflow="fold", no_wrap=text in ("data set", "model", "trials")) for text in headers)
    return Table(*columns, box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False)


def table(entries: list[Progress], cores: int = 1) -> Table:
    """A row per model and data set."""
    shown = narrow("data set", "model", "trials", "diverged", "failed", "s/trial", "left", "best validation score")
    for e in entries:
        seconds = e.seconds_left(pace(entries))
        left = "?" if math.isnan(seconds) else duration(seconds / cores)
        if e.done + e.waiting == e.total:
            left = "to be taken over" if e.waiting else "done"
        each = f"{e.seconds / e.done:.1f}" if e.done else ""
        best = f"{e.best:.4f}" if e.best > -math.inf else ""
        shown.add_row(
            e.dataset, e.model, f"{e.done}/{e.total}", str(e.diverged or ""), str(e.failed or ""), each, left, best
        )
    return shown
