"""What portable numerics cost: trials of every model under both, and SODEN's step beside what the processor can do.

Each round is a process per numerics, alternated; the fastest of the rounds counts. The limit of a step is the time its
matrix products alone would take at the speed of a large matrix product in the same process.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys

from benchmarks import numerics

DATASETS = ("support", "metabric")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this measurement."""
    parser.add_argument("--quick", action="store_true", help="one round of one trial each")
    parser.add_argument("--rounds", type=int, default=3)


def run(args: argparse.Namespace) -> int:
    """Print both tables and the line that sums them up."""
    rounds, trials = (1, 1) if args.quick else (args.rounds, 3)
    best: dict[str, dict[str, float]] = {mode: {} for mode in numerics.MODES}
    for _ in range(rounds):
        for mode in numerics.MODES:
            for name, value in _measured(mode, trials).items():
                best[mode][name] = min(value, best[mode].get(name, math.inf))
    ratios = []
    print("CPU seconds of the same trials, portable / native")
    for name, portable in best["portable"].items():
        if name.startswith("step"):
            continue
        native = best["native"][name]
        ratios.append(portable / native)
        print(f"  {name:24s} {portable:7.2f} / {native:7.2f}  x{portable / native:.2f}")
    for mode in numerics.MODES:
        step, limit = best[mode]["step"], best[mode]["step limit"]
        print(f"SODEN step, 2x16, batch 256, {mode}: {1e6 * step:.0f} us, limit {1e6 * limit:.0f} us")
    cost = math.exp(sum(map(math.log, ratios)) / len(ratios))
    of_limit = best["portable"]["step"] / best["portable"]["step limit"]
    print(
        f"numerics: portable costs {cost:.2f} x native over the models of SUPPORT and METABRIC, "
        f"SODEN step {of_limit:.1f} x the floating-point limit at 2x16 batch 256"
    )
    return 0


def _measured(mode: str, trials: int) -> dict[str, float]:
    """What a process with these numerics measures; it starts with none of ours."""
    clean = {k: v for k, v in os.environ.items() if k not in numerics.PORTABLE}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.speed._numerics", str(trials)],
        env=clean | {numerics.VARIABLE: mode},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found
