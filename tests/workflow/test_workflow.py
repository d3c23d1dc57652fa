"""The DAG for real, small: it plans what it should, and neither chunks, cores, kills nor restarts change a byte."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from conftest import ROOT

from benchmarks.__main__ import main
from benchmarks.config import resolve
from benchmarks.results.types import Parts, Trial
from benchmarks.study.store import Journal

TINY: dict[str, Any] = {
    "run": "tiny",
    "datasets": ["simulated"],
    "models": ["cox", "soden"],
    "splits": {"simulated": 2},
    "trials": 2,
    "chunk": 2,
    "training": {"max_epochs": 2},
    "data": {"simulated_n": 200},
    "simulation": {"n": 200, "repetitions": 1, "max_epochs": 2},
    "device": "cpu",
}
SAME = (
    *("scores.csv", "tests.csv", "cells.csv", "tables/simulated.tex", "tables/ablation.tex"),
    "chosen/simulated/soden.json",
)


def overlay(folder: Path, **changes: Any) -> Path:
    path = folder / "tiny.yaml"
    path.write_text(yaml.safe_dump(TINY | changes))
    return path


def command(folder: Path, *more: str, cores: int = 2, **changes: Any) -> list[str]:
    base = [sys.executable, "-m", "benchmarks", "run", "quick", "--directory", str(folder), "--cores", str(cores)]
    # Up to the tables: figures and report are other tests' business, and every job costs an import of torch.
    return [*base, "--configfile", str(overlay(folder, **changes)), *more, "--targets", "scores", "tables"]


def run(folder: Path, *more: str, check: bool = True, **changes: Any) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command(folder, *more, **changes), capture_output=True, text=True, cwd=ROOT)
    if check and done.returncode:
        log = folder / "results" / "tiny" / "snakemake.log"
        pytest.fail(f"{done.stdout}{done.stderr}\n{log.read_text()[-3000:] if log.exists() else ''}")
    return done


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / "results" / "tiny" / name).read_bytes() for name in SAME}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    done = run(folder)
    assert "Done in" in done.stdout
    assert "scores.csv" in done.stdout
    return folder


@pytest.mark.slow
def test_a_finished_run_has_nothing_to_do(undisturbed: Path) -> None:
    before = {p: p.stat().st_mtime_ns for p in (undisturbed / "results").rglob("*.parquet")}
    run(undisturbed)
    assert {p: p.stat().st_mtime_ns for p in (undisturbed / "results").rglob("*.parquet")} == before


@pytest.mark.slow
def test_the_dag_has_the_planned_jobs(undisturbed: Path) -> None:
    """2 splits x 2 trials / 2 = 2 chunks for SODEN, 1 chunk of 2 fits for Cox."""
    snakemake = [sys.executable, "-m", "snakemake", "-n", "--forcerun", "splits", "--cores", "2"]
    snakemake += ["--directory", str(undisturbed)]
    out = subprocess.run(
        [*snakemake, "--configfile", str(overlay(undisturbed))], capture_output=True, text=True, cwd=ROOT, check=True
    ).stdout
    counts = dict(re.findall(r"^(\w+) +(\d+)$", out, flags=re.MULTILINE))
    wanted = {"tune": 2 + 1, "evaluate": 2, "gather": 1, "splits": 1}
    assert {name: int(counts[name]) for name in wanted} == wanted


@pytest.mark.slow
@pytest.mark.parametrize(("cores", "chunk"), [(1, 1), (2, 3), (1, 10)])
def test_cores_and_chunks_change_no_byte(undisturbed: Path, tmp_path: Path, cores: int, chunk: int) -> None:
    run(tmp_path, cores=cores, chunk=chunk)
    assert contents(tmp_path) == contents(undisturbed)


@pytest.mark.slow
def test_kill_9_at_random_moments_changes_no_byte(undisturbed: Path, tmp_path: Path) -> None:
    rng = random.Random(4)
    for _ in range(3):
        process = subprocess.Popen(
            command(tmp_path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT, start_new_session=True
        )
        time.sleep(rng.uniform(3, 12))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    run(tmp_path)
    assert contents(tmp_path) == contents(undisturbed)


@pytest.mark.slow
def test_more_trials_reuse_the_finished_ones(undisturbed: Path, tmp_path: Path) -> None:
    run(tmp_path, trials=1)
    journals = {p: p.read_bytes() for p in (tmp_path / "results").rglob("*.jsonl")}
    run(tmp_path)
    for path, content in journals.items():
        assert path.read_bytes().startswith(content)
    assert contents(tmp_path) == contents(undisturbed)


@pytest.mark.slow
def test_another_chunk_size_in_the_same_folder_counts_no_trial_twice(undisturbed: Path, tmp_path: Path) -> None:
    run(tmp_path, chunk=1)
    run(tmp_path)
    assert contents(tmp_path) == contents(undisturbed)
    trials = [pd.read_parquet(folder / "results" / "tiny" / "trials.parquet") for folder in (tmp_path, undisturbed)]
    keys = ["dataset", "model", "split", "trial", "score"]
    pd.testing.assert_frame_equal(*(frame[keys] for frame in trials))


@pytest.mark.slow
def test_without_snakemakes_notes_a_changed_configuration_is_followed(undisturbed: Path, tmp_path: Path) -> None:
    """As where results were copied without .snakemake, whose records alone tell Snakemake what has changed."""
    shutil.copytree(undisturbed / "results", tmp_path / "results")
    done = run(tmp_path, training={"max_epochs": 3})
    assert "files again that Snakemake has no record of; finished trials are kept" in done.stdout
    assert pd.read_parquet(tmp_path / "results" / "tiny" / "trials.parquet")["epochs"].max() == 3


@pytest.mark.slow
def test_damaged_files_are_named_and_lost_ones_made_again(undisturbed: Path, tmp_path: Path) -> None:
    run(tmp_path, chunk=1)
    results = tmp_path / "results" / "tiny"
    journals = {p: p.read_bytes() for p in results.rglob("*.jsonl")}
    trial = results / "trials" / "simulated" / "soden" / "0001.parquet"
    trial.write_bytes(trial.read_bytes()[:100])
    done = run(tmp_path, check=False, chunk=1)
    assert done.returncode != 0
    assert "soden/0001.parquet is not readable" in done.stdout
    for path in (trial, results / "scores.csv", results / "scores" / "simulated" / "soden.json"):
        path.unlink(missing_ok=True)
    run(tmp_path, chunk=1)
    assert contents(tmp_path) == contents(undisturbed)
    table = results / "data" / "simulated.npz"
    table.write_bytes(table.read_bytes()[:500])
    done = run(tmp_path, check=False, chunk=1)
    assert done.returncode != 0
    assert "is not a readable data set file" in done.stderr  # before Snakemake is started
    table.unlink()
    run(tmp_path, chunk=1)
    assert contents(tmp_path) == contents(undisturbed)
    assert {p: p.read_bytes() for p in journals} == journals  # nothing was trained again


def test_two_runs_in_one_folder_are_refused(tmp_path: Path) -> None:
    import fcntl

    results = tmp_path / "results" / "tiny"
    results.mkdir(parents=True)
    with (results / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = run(tmp_path, check=False)
    assert done.returncode == 1
    assert "another run is working in" in done.stderr
    assert "start this one in another folder with `--directory OTHER`" in done.stderr


def test_jobs_find_the_clone_from_any_folder(tmp_path: Path) -> None:
    """Only `soden` is installed: `python -m benchmarks` must come from the clone, wherever a run is."""
    away = {"cwd": tmp_path, "capture_output": True, "text": True}
    installed = subprocess.run([sys.executable, "-c", "import soden, benchmarks"], **away)
    assert "No module named 'benchmarks'" in installed.stderr
    snakemake = [sys.executable, "-m", "snakemake", "--cores", "1", "--snakefile", str(ROOT / "Snakefile")]
    snakemake += ["--directory", str(tmp_path), "--configfile", str(overlay(tmp_path))]
    done = subprocess.run([*snakemake, "--", "results/tiny/data/simulated.npz"], **away)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "results" / "tiny" / "data" / "simulated.npz").is_file()


def test_without_conda_it_is_said_how_to_go_on(tmp_path: Path) -> None:
    if shutil.which("conda"):
        pytest.skip("there is a conda here")
    command = [sys.executable, "-m", "snakemake", "-n", "--use-conda", "--directory", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    said = "--use-conda needs conda, and there is none on the PATH: leave --use-conda out and run .venv/bin/snakemake"
    assert said in done.stdout + done.stderr


def test_status_of_a_stopped_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = tmp_path / "results" / "tiny"
    (results / "trials" / "simulated" / "soden").mkdir(parents=True)
    (results / "config.json").write_text(json.dumps(resolve(TINY).plain()))
    parts = Parts(2022, "simulated", "soden", *("data", "settings", "space", "code", "portable", "cpu", "split"))
    journal = Journal(results / "trials" / "simulated" / "soden" / "0000.jsonl")
    for number, status in enumerate(("ok", "diverged")):
        journal.append(Trial(parts, 1, number, 7, {}, status, -0.5, seconds=2.0).to_row())
    assert main(["status", "tiny", "--directory", str(tmp_path)]) == 0
    # 2 Cox fits + 2 splits x 2 trials of SODEN, of which 2 are left at 2 s; Cox takes what was measured elsewhere.
    assert re.search(r"2/6 trials \(1 diverged\), about \d+ s of training left", capsys.readouterr().out)
    assert main(["status", "none", "--directory", str(tmp_path)]) == 1
    assert "runs: tiny" in capsys.readouterr().err


@pytest.mark.slow
def test_a_data_set_that_could_not_be_had_is_looked_for_again(undisturbed: Path, tmp_path: Path) -> None:
    """The status of an earlier run says that it was missing; nothing else has changed."""
    shutil.copytree(undisturbed / "results", tmp_path / "results")
    shutil.copytree(undisturbed / ".snakemake", tmp_path / ".snakemake")
    base = [sys.executable, "-m", "snakemake", "-n", "--cores", "2", "--directory", str(tmp_path), "--quiet", "rules"]
    status = tmp_path / "results" / "tiny" / "data" / "simulated.json"

    def planned() -> str:
        command = [*base, "--configfile", str(overlay(tmp_path)), "--config", "tier=quick", "--", "scores"]
        return subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stdout

    assert "dataset" not in planned()
    found = json.loads(status.read_text())
    before = status.stat()
    status.write_text(json.dumps(found | {"available": False, "why": "no connection"}))
    os.utime(status, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert re.search(r"^dataset +1$", planned(), flags=re.MULTILINE)
