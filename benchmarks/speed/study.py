"""What the machinery around a trial costs, and what a second core gives: real runs of a cut-down small tier."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

# METABRIC has the shortest trials, so the machinery weighs most there; the full-length training of the small tier.
OVERLAY: dict[str, Any] = {
    "run": "speed",
    "datasets": ["metabric"],
    "fallback": {"metabric": "flchain"},
    "models": ["deepsurv", "nnet_survival", "soden", "soden_ph"],
    "splits": {"metabric": 2, "flchain": 2},
    "trials": 10,
    "device": "cpu",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--quick", action="store_true", help="4 trials and 10 epochs: a look, not a measurement")


def run(args: argparse.Namespace) -> int:
    """Run once on one core and once on two; print what was training and what was not."""
    from rich.console import Console
    from rich.table import Table

    overlay = OVERLAY | ({"trials": 4, "training": {"max_epochs": 10}} if args.quick else {})
    table = Table("cores", "wall s", "training core-s", "trials", "not training", "per trial s")
    walls, shares = [], []
    for cores in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            wall, rows = _run(Path(folder), overlay, cores)
        training = sum(row["seconds"] for row in rows)
        spent = cores * wall
        walls.append(wall)
        shares.append(1 - training / spent)
        each = (spent - training) / len(rows)
        cells = (cores, f"{wall:.0f}", f"{training:.0f}", len(rows), f"{shares[-1]:.1%}", f"{each:.2f}")
        table.add_row(*map(str, cells))
    Console().print(table)
    print(f"study: {shares[0]:.1%} of the core time is not training, 2 cores give {walls[0] / walls[1]:.2f} x 1 core")
    return 0


def _run(folder: Path, overlay: dict[str, Any], cores: int) -> tuple[float, list[dict[str, Any]]]:
    """The tuning part of a run: seconds of wall clock from the first job to the last, and the trials' rows."""
    from benchmarks.study import journal

    config = folder / "speed.json"
    config.write_text(json.dumps(overlay))
    base = [sys.executable, "-m", "benchmarks", "run", "small", "--directory", str(folder), "--cores", str(cores)]
    started = time.perf_counter()
    done = subprocess.run([*base, "--configfile", str(config), "--targets", "scores"], capture_output=True, text=True)
    wall = time.perf_counter() - started
    if done.returncode:
        raise RuntimeError(f"the run failed:\n{done.stdout[-2000:]}")
    trials = folder / "results" / "speed" / "trials"
    return wall, [row for path in trials.rglob("*.jsonl") for row in journal.read(path)]
