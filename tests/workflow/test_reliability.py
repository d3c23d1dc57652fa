"""Full disks and read-only folders: each is met before it meets a user."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT

from benchmarks.data.simulated import simulate
from benchmarks.data.splits import make_split
from benchmarks.study import journal
from benchmarks.study.tune import Settings, Tuner

PAIRS = [(1, t) for t in range(4)]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 256 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a small tmpfs needs root and a kernel that lets us")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def make_tuner(folder: Path, tmp_path: Path) -> Tuner:
    dataset = simulate(200, seed=1)
    make_split(dataset, "drawn", 1, seed=1).save(tmp_path / "splits" / "1.npz")
    return Tuner(folder, dataset, tmp_path / "splits", "deepsurv", Settings(3, {"max_epochs": 1}, device="cpu"))


def test_a_full_disk_stops_the_job_and_loses_nothing(small_disk: Path, tmp_path: Path) -> None:
    tuner = make_tuner(small_disk / "trials", tmp_path)
    first = tuner.run("0000", PAIRS[:1])
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space left on device"):
        filler.write_bytes(b"x" * 2**20)
    with pytest.raises(OSError, match="No space left on device"):
        tuner.run("0000", PAIRS)
    filler.unlink()
    rows = tuner.run("0000", PAIRS)
    assert rows[0] == json.loads(json.dumps(first[0]))  # read back, not run again: even its seconds are the same
    assert [r["trial"] for r in rows] == [0, 1, 2, 3]
    assert len({(r["split"], r["trial"]) for r in journal.read(small_disk / "trials" / "0000.jsonl")}) == 4


def test_a_read_only_results_folder_is_an_error_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file where a folder should be")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "run", "quick", "--directory", str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 1
    assert "cannot write to" in done.stderr
    assert "make it writable, or choose another --directory" in done.stderr
