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

# METABRIC has the shortest trials of the small tier, so the machinery weighs most there; chunks and training are the
# tier's own.
OVERLAY: dict[str, Any] = {
    "run": "speed",
    "datasets": ["metabric"],
    "fallback": {"metabric": "flchain"},
    "models": ["deepsurv", "cox_time", "nnet_survival", "deephit", "soden", "soden_ph"],
    "splits": {"metabric": 5, "flchain": 5},
    "device": "cpu",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--quick", action="store_true", help="2 trials and 10 epochs: a look, not a measurement")


def run(args: argparse.Namespace) -> int:
    """Run once on one core and once on two; print what was training and what was not."""
    from rich.console import Console
    from rich.table import Table

    overlay = OVERLAY | ({"trials": 2, "training": {"max_epochs": 10}} if args.quick else {})
    table = Table("cores", "tuning s", "training core-s", "trials", "not training", "per trial s", "whole run s")
    walls, shares = [], []
    for cores in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            wall, tuning, rows = _run(Path(folder), overlay, cores)
        training = sum(row["seconds"] for row in rows)
        spent = cores * tuning
        walls.append(tuning)
        shares.append(1 - training / spent)
        each = (spent - training) / len(rows)
        seconds = f"{tuning:.0f}", f"{training:.0f}"
        table.add_row(str(cores), *seconds, str(len(rows)), f"{shares[-1]:.1%}", f"{each:.2f}", f"{wall:.0f}")
    Console().print(table)
    print(f"study: {shares[0]:.1%} of the core time is not training, 2 cores give {walls[0] / walls[1]:.2f} x 1 core")
    return 0


def _run(folder: Path, overlay: dict[str, Any], cores: int) -> tuple[float, float, list[dict[str, Any]]]:
    """Seconds of the whole run up to the scores, of its tuning part, and the trials' rows."""
    from benchmarks.study.store import read_lines

    config = folder / "speed.json"
    config.write_text(json.dumps(overlay))
    base = [sys.executable, "-m", "benchmarks", "run", "small", "--directory", str(folder), "--cores", str(cores)]
    started = time.perf_counter()
    done = subprocess.run([*base, "--configfile", str(config), "--targets", "scores"], capture_output=True, text=True)
    wall = time.perf_counter() - started
    if done.returncode:
        raise RuntimeError(f"the run failed:\n{done.stdout[-2000:]}")
    results = folder / "results" / "speed"
    # Tuning starts when the splits are there and ends with the last chunk's table; scoring has a lower priority, so
    # it comes after.
    ready = max(path.stat().st_mtime for path in (results / "splits").iterdir())
    last = max(path.stat().st_mtime for path in (results / "trials").rglob("*.parquet"))
    return (
        wall,
        last - ready,
        [row for path in (results / "trials").rglob("*.jsonl") for row in read_lines(path.read_bytes())],
    )
