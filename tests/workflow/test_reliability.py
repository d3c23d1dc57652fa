"""Full disks, read-only folders, signals and silent logs: each is met before it meets a user."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import yaml
from conftest import ROOT
from rich.console import Console
from test_workflow import TINY

from benchmarks.commands import _errors, _snakemake
from benchmarks.config import Config
from benchmarks.data.simulated import simulate
from benchmarks.data.splits import make_split
from benchmarks.study import lease
from benchmarks.study.search import Search
from benchmarks.study.store import Store, read_journal

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


def searching(run: Path) -> Search:
    dataset = simulate(200, seed=1)
    dataset.save(run / "data" / "simulated.npz")
    make_split(dataset, "drawn", 1, seed=1).save(run / "splits" / "simulated" / "1.npz")
    config = Config.of({"seed": 3, "training": {"max_epochs": 1}, "device": "cpu"})
    return Search(Store(run, config), "simulated", "deepsurv")


def test_a_full_disk_stops_the_job_and_loses_nothing(small_disk: Path, tmp_path: Path) -> None:
    made = searching(tmp_path / "run")
    (small_disk / "trials").mkdir()
    (tmp_path / "run" / "trials").symlink_to(small_disk / "trials")
    first = made.run("0000", PAIRS[:1])
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space left on device"):
        filler.write_bytes(b"x" * 2**20)
    with pytest.raises(OSError, match="No space left on device"):
        made.run("0000", PAIRS)
    filler.unlink()
    rows = made.run("0000", PAIRS)
    assert rows[0] == first[0]  # read back, not run again: even its seconds are the same
    assert [row.trial for row in rows] == [0, 1, 2, 3]
    assert len({row.pair for row in read_journal(made.folder / "0000.jsonl")}) == 4


def explained(results: Path, log: str) -> str:
    """What a user reads of a run whose Snakemake left this log."""
    results.mkdir(parents=True, exist_ok=True)
    (results / "snakemake.log").write_text(log)
    out = io.StringIO()
    _snakemake.explain(results / "snakemake.log", results, Console(file=out, soft_wrap=True, highlight=False))
    return out.getvalue()


FAILED = (
    "Error in rule splits:\n    log: results/tiny/a.log (check log file(s) for error details)\nsyntax error near `('\n"
)


def test_an_empty_log_of_a_job_is_said_to_be_empty(tmp_path: Path) -> None:
    results = tmp_path / "results" / "tiny"
    results.mkdir(parents=True)
    (results / "a.log").write_text("")
    text = explained(results, FAILED)
    assert "a.log is empty: its command said nothing" in text
    assert "syntax error near `('" in text  # the shell's words, which only Snakemake's log has
    (results / "a.log").write_text("one\ntwo\n")
    (results / "7.log").write_text("killed\n")
    for log in (FAILED, FAILED.replace("a.log", f"a.log, {results / '7.log'}")):  # of a job here, of one sent to Slurm
        text = explained(results, log)
        assert "a.log ends with:\none\ntwo\n" in text
    assert "7.log ends with:\nkilled\n" in text
    assert "No space" not in text


def test_an_empty_log_of_snakemake_is_not_passed_on_as_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = explained(tmp_path / "results" / "tiny", "")
    assert "Snakemake said nothing." in text
    assert "No space left" not in text  # there is some
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10**9, 10**9 - 10**6, 10**6))
    text = explained(tmp_path / "results" / "tiny", "")
    assert "No space left on the disk of" in text
    assert "(1 MB are free); make room, then give the same command again." in text


def test_a_job_that_met_a_full_disk_is_said_with_the_free_space(tmp_path: Path) -> None:
    results = tmp_path / "results" / "tiny"
    results.mkdir(parents=True)
    (results / "a.log").write_text("OSError: [Errno 28] No space left on device\n")
    text = explained(results, FAILED)
    free = shutil.disk_usage(results).free / 1e6
    said = float(text.split("No space left on the disk of")[1].split(" MB are free")[0].split("(")[-1])
    assert said == pytest.approx(free, rel=0.2)  # others write to this disk, too


def test_a_verb_on_a_full_disk_says_so(small_disk: Path) -> None:
    with pytest.raises(OSError, match="No space left on device"):
        (small_disk / "filler").write_bytes(b"x" * 2**20)
    words = ["report", "--published", "--out", str(small_disk / "tables")]
    done = subprocess.run([sys.executable, "-m", "benchmarks", *words], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 1
    assert done.stderr.startswith("report: no space left on the disk of")
    assert "(0 MB are free); make room, then give the same command again" in done.stderr


def test_errors_of_the_system_get_a_path_and_advice(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(FileExistsError) as exists:
        file.mkdir()
    assert _errors.in_words(exists.value) == f"{file}: File exists; a file is where a folder is wanted; check the path"
    with pytest.raises(FileNotFoundError) as absent:
        (tmp_path / "none").read_text()
    assert _errors.in_words(absent.value) == f"{tmp_path / 'none'}: No such file or directory; check the path"
    assert _errors.in_words(ValueError("as it is")) == "as it is"


@pytest.mark.parametrize(
    ("owner", "message"),
    [
        ({"machine": "another"}, r"on another \(process \d+\); if no Snakemake works there, delete .*locks; wait"),
        (None, r"was taken by a Snakemake that left no name; if no Snakemake works there, delete"),
        ({}, r"already at work in .* \(process \d+\); wait for it, .* in another folder with `--directory OTHER`"),
        ({"started": 1.0}, ""),  # another process has its number now
        ({"pid": 2**22 + 1}, ""),
    ],
)
def test_a_lock_is_released_only_if_its_owner_was_here_and_is_dead(
    owner: dict[str, object] | None, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released: list[Path] = []
    monkeypatch.setattr(_snakemake, "_unlock", released.append)
    (tmp_path / ".snakemake" / "locks").mkdir(parents=True)
    (tmp_path / ".snakemake" / "locks" / "0.input.lock").write_text("")
    if owner is not None:
        lease.own(tmp_path, os.getpid())
        path = tmp_path / ".snakemake" / "owner.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | owner))
    if message:
        with pytest.raises(_snakemake.RunError, match=message):
            _snakemake.release_stale_lock(tmp_path, Console(file=io.StringIO()))
    else:
        _snakemake.release_stale_lock(tmp_path, Console(file=io.StringIO()))
    assert released == ([] if message else [tmp_path])


def test_a_snakemake_that_hangs_is_killed_with_its_jobs() -> None:
    """Deaf to SIGTERM, as it is in one stop of seven; it and its child are gone after the patience it is given."""
    deaf = "import signal, subprocess, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    job = f'"{deaf}time.sleep(60)"'
    script = f"{deaf}subprocess.Popen([sys.executable, '-c', {job}]); print('ready', flush=True); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout as out:
        out.readline()
    children = psutil.Process(process.pid).children()
    assert children
    assert not _snakemake._stop(process, patience=1.5)
    assert process.poll() is not None
    assert not psutil.wait_procs(children, timeout=10)[1]
    polite = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    assert _snakemake._stop(polite)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("/bin/bash: line 1: 4711 Killed  python -m benchmarks ...", "killed, probably because memory ran out"),
        ("SLURM-job '3' failed, SLURM status is: 'OUT_OF_MEMORY'.", "more memory than it had asked for"),
        ("SLURM-job '3' failed, SLURM status is: 'TIMEOUT'.", "longer than it had asked for"),
    ],
)
def test_a_job_that_was_killed_is_called_so(line: str, reason: str, tmp_path: Path) -> None:
    said = [text for text in explained(tmp_path / "results" / "tiny", line).splitlines() if "A job was killed" in text]
    assert len(said) == 1
    assert reason in said[0]


@pytest.mark.slow
def test_the_lock_of_plain_snakemake_that_was_killed_is_released(tmp_path: Path) -> None:
    """The workflow itself writes whose lock it is, so that `run` knows that the owner is dead."""
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(TINY))
    words = ["--configfile", str(tmp_path / "tiny.yaml"), "--directory", str(tmp_path), "--cores", "1"]
    snakemake = [sys.executable, "-m", "snakemake", *words, "--", "results/tiny/data/simulated.npz"]
    with subprocess.Popen(snakemake, cwd=ROOT, stderr=subprocess.DEVNULL, start_new_session=True) as process:
        owner, deadline = tmp_path / ".snakemake" / "owner.json", time.monotonic() + 120
        while not owner.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
    assert any((tmp_path / ".snakemake" / "locks").iterdir())
    run = [sys.executable, "-m", "benchmarks", "run", *words, "--targets", "results/tiny/data/simulated.npz"]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Releasing the lock of a run that was killed" in done.stdout


def _hear_ctrl_c() -> None:
    """A shell has what it starts in the background ignore SIGINT, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.slow
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_to_the_run_stops_snakemake_and_its_jobs(sent: int, code: int, tmp_path: Path) -> None:
    """Sent to the one process, as a service or a scheduler does it; a terminal's Ctrl-C reaches all of them at once."""
    many = {"trials": 500, "chunk": 500, "training": {"max_epochs": 50}, "models": ["soden"]}
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(TINY | many))
    command = [sys.executable, "-m", "benchmarks", "run", "--configfile", str(tmp_path / "tiny.yaml"), "--cores", "2"]
    command += ["--directory", str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, preexec_fn=_hear_ctrl_c) as run:
        journals = (tmp_path / "results" / "tiny" / "trials").glob
        deadline = time.monotonic() + 300
        while not [p for p in journals("*/*/*.jsonl") if p.stat().st_size] and time.monotonic() < deadline:
            time.sleep(0.2)
        children = psutil.Process(run.pid).children(recursive=True)
        assert any("tune" in child.cmdline() for child in children)
        run.send_signal(sent)
        out, _ = run.communicate(timeout=60)
    assert run.returncode == code
    assert "what is finished is kept, the same command goes on from here" in out
    assert not psutil.wait_procs(children, timeout=10)[1]
    kept = [row for path in journals("*/*/*.jsonl") for row in read_journal(path)]
    assert kept
    locks = tmp_path / ".snakemake" / "locks"
    assert not locks.is_dir() or not any(locks.iterdir())
