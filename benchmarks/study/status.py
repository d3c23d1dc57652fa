"""What a running or stopped run has done: trials per model, time left, best validation score so far."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.config import Config
from benchmarks.results import screen
from benchmarks.results.tidy import read_table
from benchmarks.results.types import Trial, read_trials
from benchmarks.study import plan
from benchmarks.study.cost import duration
from benchmarks.study.store import CURRENT, Follower, Pair, Store

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

    def add(self, trial: Trial, times: int = 1) -> None:
        """Count a trial; -1 takes it back."""
        self.done += times
        self.seconds += times * trial.seconds
        self.diverged += times * (trial.status == "diverged")
        self.failed += times * (trial.status == "failed")
        if times > 0 and not math.isnan(trial.score):
            self.best = max(self.best, trial.score)

    def seconds_left(self, pace: float) -> float:
        """Of one core; a model that has not begun is expected to take what was measured, at this run's pace."""
        each = self.seconds / self.done if self.done else self.expected * pace
        trials = self.total - self.done - self.waiting
        return trials * each if trials else 0.0


class Watch:
    """Counts a run's trials against its plan; reads only what is new, so it is safe beside a running study."""

    def __init__(self, results: Path, config: Config, expected: Mapping[tuple[str, str], float]) -> None:
        self.store, self.expected = Store(results, config), expected
        self._models: dict[tuple[str, str], _Model] = {}

    def entries(self) -> list[Progress]:
        """A model each, in the order of the config."""
        config = self.store.config
        return [self._of(d, m).entry() for d in available(self.store.run, config) for m in plan.models_for(config, d)]

    def first_failures(self) -> Iterator[Trial]:
        """The first failed trial of each model, once."""
        for model in self._models.values():
            if model.failure is not None and not model.told:
                model.told = True
                yield model.failure

    def _of(self, dataset: str, model: str) -> _Model:
        if (dataset, model) not in self._models:
            seconds = self.expected.get((dataset, model), math.nan)
            self._models[dataset, model] = _Model(self.store, dataset, model, seconds)
        return self._models[dataset, model]


class _Model:
    """The trials of one model that count: planned ones, with an identity of now, each pair once."""

    def __init__(self, store: Store, dataset: str, model: str, expected: float) -> None:
        self.folder, self.pairs = store.folder(dataset, model), set(store.pairs(dataset, model))
        self.progress = Progress(dataset, model, len(self.pairs), expected)
        known = store.known is not None and (store.known / "trials.parquet").is_file()
        self.known = store.taken(dataset, model) if known else {}  # needs torch, so only where there are any
        self.failure: Trial | None = None
        self.told = False
        self._start_over(None)

    def _start_over(self, current: dict[str, list[str]] | None) -> None:
        old = self.progress
        self.progress = Progress(old.dataset, old.model, old.total, old.expected)
        self.current, self.follower, self.trials = current, Follower(self.folder), dict[Pair, Trial]()

    def entry(self) -> Progress:
        current = _json(self.folder / CURRENT)
        if current != self.current:  # settings or code are others than those of the trials counted so far
            self._start_over(current)
        for trial in self.follower.new_trials():
            if trial.pair not in self.pairs or not self._counts(trial):
                continue
            if trial.pair in self.trials:
                self.progress.add(self.trials[trial.pair], -1)
            self.progress.add(trial)
            self.trials[trial.pair] = trial
            if trial.status == "failed" and self.failure is None:
                self.failure = trial
        self.progress.waiting = sum(pair not in self.trials and self._counts(t) for pair, t in self.known.items())
        return self.progress

    def _counts(self, trial: Trial) -> bool:
        return not self.current or trial.identity in self.current.get(str(trial.split), ())


def of_finished(results: Path) -> list[Progress]:
    """The same of a run of which only its tables were kept, such as the reference."""
    entries: dict[tuple[str, str], Progress] = {}
    for trial in read_trials(read_table(results / "trials.parquet")):
        entry = entries.setdefault((trial.dataset, trial.model), Progress(trial.dataset, trial.model, total=0))
        entry.total += 1
        entry.add(trial)
    return list(entries.values())


def available(results: Path, config: Config) -> list[str]:
    """The data sets of a run with their stand-ins, once the run knows them; all configured ones before that."""
    names = []
    for name in config.datasets:
        candidates = [name, *([config.fallback[name]] if name in config.fallback else [])]
        names += [c for c in candidates if _known(results, c).get("available", c == name)][:1]
    return list(dict.fromkeys(names))


def missing(results: Path, config: Config) -> list[str]:
    """Each data set that could not be had, with the first line of the reason."""
    notes = ((name, _known(results, name)) for name in config.datasets)
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
    eta = "" if math.isnan(left) or done == total else f", about {duration(left / cores)} of training left by the clock"
    return f"{done}/{total} trials" + (f" ({bad})" if bad else "") + eta


def pace(entries: list[Progress]) -> float:
    """How much longer trials take here than where they were measured; 1 before there is one to compare."""
    known = [e for e in entries if e.done and not math.isnan(e.expected)]
    expected = sum(e.done * e.expected for e in known)
    return sum(e.seconds for e in known) / expected if expected else 1.0


def table(entries: list[Progress], cores: int = 1) -> Table:
    """A row per model and data set."""
    bad = [name for name in ("diverged", "failed") if any(getattr(e, name) for e in entries)]
    shown = screen.table("data set", "model", "trials", *bad, "clock s", "left", "best score")
    for e in entries:
        seconds = e.seconds_left(pace(entries))
        left = "?" if math.isnan(seconds) else duration(seconds / cores)
        if e.done + e.waiting == e.total:
            left = "known" if e.waiting else "done"
        each = f"{e.seconds / e.done:.1f}" if e.done else ""
        best = f"{e.best:.4f}" if e.best > -math.inf else ""
        counts = (str(getattr(e, name) or "") for name in bad)
        shown.add_row(e.dataset, e.model, f"{e.done}/{e.total}", *counts, each, left, best)
    return shown
