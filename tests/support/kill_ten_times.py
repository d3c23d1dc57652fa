"""Kill -9 a run's whole process group at random moments, resume it each time, compare every result with a quiet run.

python tests/support/kill_ten_times.py [--kills 10] [--configfile FILE]: exit 0 only if all bytes are the same.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAME = (
    "scores.csv",
    "conventions.csv",
    "tests.csv",
    "cells.csv",
    "chosen/**/*.json",
    "tables/*.tex",
    "scores/**/*.json",
)


def contents(folder: Path) -> dict[str, bytes]:
    """Every result whose bytes must not depend on what happened on the way."""
    results = next((folder / "results").iterdir())
    return {str(p.relative_to(results)): p.read_bytes() for pattern in SAME for p in sorted(results.glob(pattern))}


def main() -> int:
    """Two runs, one of them disturbed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--configfile")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as quiet, tempfile.TemporaryDirectory() as disturbed:
        command = [sys.executable, "-m", "benchmarks", "run", "quick"]
        command += ["--configfile", args.configfile] if args.configfile else []
        started = time.monotonic()
        subprocess.run([*command, "--directory", quiet], cwd=ROOT, check=True)
        length = time.monotonic() - started
        for kill in range(1, args.kills + 1):
            process = subprocess.Popen([*command, "--directory", disturbed], cwd=ROOT, start_new_session=True)
            wait = rng.uniform(3, max(6.0, 1.5 * length / args.kills))
            time.sleep(wait)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            print(f"kill {kill} after {wait:.1f} s", flush=True)
        subprocess.run([*command, "--directory", disturbed], cwd=ROOT, check=True)
        wanted, got = contents(Path(quiet)), contents(Path(disturbed))
    different = sorted(name for name in wanted.keys() | got.keys() if wanted.get(name) != got.get(name))
    print(f"{len(wanted)} files compared after {args.kills} kills, {len(different)} differ {different[:10]}")
    return 1 if different or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
