"""What a running or stopped run has done: trials per model, time left, best validation score so far."""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.study import journal
from benchmarks.study.config import ROOT
from benchmarks.study.plan import plan

if TYPE_CHECKING:
    from rich.table import Table


@dataclass
class Progress:
    """The trials of one model on one data set."""

    dataset: str
    model: str
    total: int = 0
    done: int = 0
    bad: int = 0  # diverged or failed
    seconds: float = 0.0
    best: float = -math.inf  # validation score; minus the loss, or C^td
    seen: set[tuple[int, int]] = field(default_factory=set, repr=False)

    @property
    def left(self) -> float:
        """Expected seconds of one core for what remains; nan before the first trial."""
        return (self.total - self.done) * self.seconds / self.done if self.done else math.nan


def progress(results: Path, config: Mapping[str, Any], datasets: list[str]) -> list[Progress]:
    """Count journal rows against the plan; reads only, so it is safe beside a running study."""
    found: dict[tuple[str, str], Progress] = {}
    for chunk in plan(config, datasets):
        entry = found.setdefault((chunk.dataset, chunk.model), Progress(chunk.dataset, chunk.model))
        entry.total += len(chunk.trials)
        entry.seen.update(chunk.trials)
    for (dataset, model), entry in found.items():
        rows = {(r["split"], r["trial"]): r for r in journal.read_folder(results / "trials" / dataset / model)}
        for row in (rows[pair] for pair in entry.seen & rows.keys()):
            entry.done += 1
            entry.seconds += row["seconds"]
            entry.bad += row["status"] != "ok"
            if not math.isnan(row["score"]):
                entry.best = max(entry.best, row["score"])
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
    try:
        found: dict[str, Any] = json.loads((results / "data" / f"{name}.json").read_text())
    except (OSError, ValueError):
        return {}
    return found


def headline(entries: list[Progress], cores: int = 1) -> str:
    """One line: how far the run is and how long it may take."""
    done, total = sum(e.done for e in entries), sum(e.total for e in entries)
    mean: dict[str, list[float]] = defaultdict(list)
    for e in entries:
        if e.done:
            mean[e.model].append(e.seconds / e.done)
    overall = [s for values in mean.values() for s in values]
    left = 0.0
    for e in entries:
        guess = mean[e.model] or overall  # a data set not begun yet is guessed from the others
        left += e.left if e.done else e.total * (sum(guess) / len(guess) if guess else math.nan)
    eta = "" if math.isnan(left) or done == total else f", about {duration(left / cores)} of training left"
    bad = sum(e.bad for e in entries)
    return f"{done}/{total} trials" + (f" ({bad} diverged or failed)" if bad else "") + eta


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def table(entries: list[Progress], cores: int = 1) -> Table:
    """A row per model and data set."""
    from rich.table import Table

    shown = Table("data set", "model", "trials", "diverged/failed", "s/trial", "left", "best validation score")
    for e in entries:
        left = "done" if e.done == e.total else "?" if math.isnan(e.left) else duration(e.left / cores)
        each = f"{e.seconds / e.done:.1f}" if e.done else ""
        best = f"{e.best:.4f}" if e.best > -math.inf else ""
        shown.add_row(e.dataset, e.model, f"{e.done}/{e.total}", str(e.bad or ""), each, left, best)
    return shown


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("run", nargs="?", help="name of the run; default: the newest in results/")
    parser.add_argument("--cores", type=int, default=1, help="for the time left")
    parser.add_argument("--directory", type=Path, default=ROOT, help="where results/ is")


def run(args: argparse.Namespace) -> int:
    """Print the table and the headline."""
    from rich.console import Console

    console = Console()
    folder = args.directory / "results"
    runs = sorted(folder.glob("*/config.json"), key=lambda p: p.stat().st_mtime)
    path = folder / args.run / "config.json" if args.run else (runs[-1] if runs else None)
    if path is None or not path.exists():
        names = ", ".join(p.parent.name for p in runs) or "none yet; start one with `make quick`"
        console.print(f"no run {args.run or ''} in results/; runs: {names}")
        return 2
    config = json.loads(path.read_text())
    entries = progress(path.parent, config, available(path.parent, config))
    console.print(table(entries, args.cores))
    console.print(f"run {path.parent.name}: {headline(entries, args.cores)}")
    return 0
