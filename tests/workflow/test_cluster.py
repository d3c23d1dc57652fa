"""Both profiles: a job that is killed is sent again, and a killed run goes on."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import yaml
from conftest import ROOT
from test_workflow import TINY

QUEUE = ROOT / "tests" / "support" / "queue"


def fails(*words: str) -> bool:
    return not shutil.which(words[0]) or subprocess.run(words, capture_output=True).returncode != 0


def profile(name: str, folder: Path) -> str:
    """Generic has a stand-in for a scheduler; slurm wants a real one, asked by squeue where there is no accounting."""
    if name == "slurm" and fails("sinfo", "-h"):
        pytest.skip("no Slurm answers here; as root on Debian, tests/support/slurm.sh starts one and runs this")
    if name == "slurm" and fails("sacct"):
        text = (ROOT / "workflow" / "profiles" / "slurm" / "config.yaml").read_text()
        (folder / "config.yaml").write_text(text.replace("# slurm-status-command", "slurm-status-command"))
        return str(folder)
    return name


def command(folder: Path, name: str) -> list[str]:
    (folder / "tiny.yaml").write_text(yaml.safe_dump(TINY | {"training": {"max_epochs": 30}, "trials": 8, "chunk": 8}))
    words = [sys.executable, "-m", "benchmarks", "run", "--configfile", str(folder / "tiny.yaml")]
    return [*words, "--profile", profile(name, folder), "--directory", str(folder), "--targets", "scores"]


def environment(folder: Path) -> dict[str, str]:
    return os.environ | {"QUEUE": str(folder / "queue"), "PATH": f"{QUEUE}{os.pathsep}{os.environ['PATH']}"}


def tuning(folder: Path) -> list[psutil.Process]:
    """The steps that fit trials of this run now."""
    found = []
    for process in psutil.process_iter(["cmdline", "cwd"]):
        words = process.info["cmdline"] or []
        if "step" in words and "tune" in words and process.info["cwd"] == str(folder):
            found.append(process)
    return found


def wait_for_a_trial(folder: Path) -> None:
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        if any(path.stat().st_size for path in folder.glob("results/tiny/trials/*/soden/*.jsonl")) and tuning(folder):
            return
        time.sleep(0.2)
    pytest.fail("no trial was fitted")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["generic", "slurm"])
def test_a_killed_job_is_sent_again_and_a_killed_run_goes_on(name: str, tmp_path: Path) -> None:
    """First a job is killed, then the whole run is, whose jobs stay in the queue; the same command ends it."""
    words, calls = command(tmp_path, name), {"cwd": ROOT, "env": environment(tmp_path)}
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, start_new_session=True, **calls) as first:
        wait_for_a_trial(tmp_path)
        for process in tuning(tmp_path):
            process.kill()
        wait_for_a_trial(tmp_path)
        os.killpg(first.pid, signal.SIGKILL)
    done = subprocess.run(words, capture_output=True, text=True, **calls)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "results" / "tiny" / "scores.csv").is_file()
    journals = tmp_path.glob("results/tiny/trials/*/soden/*.jsonl")
    lines = [line for path in journals for line in path.read_text().splitlines()]
    assert len(lines) == 16  # 2 splits x 8 trials, each fitted once although jobs were sent several times


@pytest.mark.parametrize(
    ("answer", "code", "state"),
    [
        ("job_state = R", 0, "running"),
        ("job_state = F\n Exit_status = 0", 0, "success"),
        ("job_state = F\n Exit_status = 271", 0, "failed"),
        ("qstat: Unknown Job Id 3", 153, "failed"),
        ("cannot connect to server", 1, "running"),
    ],
)
def test_the_status_of_a_job_is_read_from_qstat(answer: str, code: int, state: str, tmp_path: Path) -> None:
    qstat = tmp_path / "qstat"
    qstat.write_text(f"#!/bin/sh\nprintf '{answer}'\nexit {code}\n")
    qstat.chmod(0o755)
    script = ROOT / "workflow" / "profiles" / "generic" / "status"
    done = subprocess.run([script, "3"], env={"PATH": f"{tmp_path}:/bin:/usr/bin"}, capture_output=True, text=True)
    assert done.stdout.strip() == state
