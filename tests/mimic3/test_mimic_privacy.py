"""What may leave the house of credentialed tables tells of no patient, and no other user may read the rest."""

import contextlib
import re
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, beside
from support.mimic_hand import Hospital

from benchmarks import data
from benchmarks.__main__ import main
from benchmarks.data.mimic3 import MimicOptions, build, cohort
from benchmarks.data.mimic3.small_cells import HIDDEN

PASSED_ON = ("flow.csv", "checks.csv", "build.json")  # the rest of a build are patients' rows and exact counts


@pytest.fixture
def as_credentialed(monkeypatch: pytest.MonkeyPatch) -> MimicOptions:
    """Options under which tables that are not the real ones are treated as the real ones."""
    monkeypatch.setattr(cohort, "mark_of", lambda *_: "")
    return MimicOptions(row_counts="warn")


def modes(out: Path) -> dict[str, set[int]]:
    """Permissions of files and folders."""
    found: dict[str, set[int]] = {"files": set(), "folders": {stat.S_IMODE(out.stat().st_mode)}}
    for path in out.rglob("*"):
        found["folders" if path.is_dir() else "files"].add(stat.S_IMODE(path.stat().st_mode))
    return found


@pytest.mark.filterwarnings("ignore:.*v1.4 has|N =:UserWarning")
def test_nothing_of_the_demo_s_patients_is_passed_on(
    tmp_path: Path, as_credentialed: MimicOptions, capfd: pytest.CaptureFixture[str]
) -> None:
    raw, out = beside("mimic-iii-demo"), tmp_path / "out"
    build(raw, out, as_credentialed)
    assert main(["mimic", "check", "--built", str(out)]) == 0
    text = "".join((out / name).read_text() for name in PASSED_ON) + "".join(capfd.readouterr())
    assert "Built from MIMIC-III v1.4 tables" in text
    stays = pd.read_parquet(out / "stays.parquet")
    numbers = set(re.findall(r"\d+", text))
    for name in ("subject_id", "hadm_id", "icustay_id"):
        # SUBJECT_IDs below 44,000 may be other numbers too: row counts and published ones, which are named here
        assert set(stays[name].astype(str)) & numbers <= {"10", "46520", "38425", "35637", "35304"}, name
    assert not re.search(r"\b2[01]\d\d-\d\d-\d\d", text)
    values = set(re.findall(r"\d+\.\d+", text))
    assert not {f"{time:.4g}" for time in [*stays["time"], stays["time"].median()]} & values
    shown = pd.read_csv(out / "flow.csv", dtype=str)
    assert shown["left"].tolist() == ["100"] * 5 + [HIDDEN, "90", "90"]  # 93 would tell of 3 patients
    assert shown["removed"].tolist() == ["0"] * 5 + [HIDDEN, HIDDEN, "0"]
    assert ".01111" not in text  # one of 90


@pytest.mark.filterwarnings("ignore:.*v1.4 has|N =:UserWarning")
def test_only_the_owner_may_read_what_is_credentialed(tmp_path: Path, as_credentialed: MimicOptions) -> None:
    ward = Hospital()
    for _ in range(3):
        ward.patient()
    raw = ward.write(tmp_path / "raw")
    build(raw, tmp_path / "out", as_credentialed)
    assert modes(tmp_path / "out") == {"files": {0o600}, "folders": {0o700}}


@pytest.mark.parametrize("verb", [["mimic", "build", "--raw", "none"], ["mimic", "synthesise", "--patients", "1"]])
@pytest.mark.parametrize("place", [".", "results/..", "loop", "nul\0"])
def test_no_verb_writes_into_the_clone_itself(
    tmp_path: Path, verb: list[str], place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    there = str(tmp_path / "loop") if place == "loop" else str(ROOT / place) if "." in place else place
    before = sorted(ROOT.iterdir())
    with contextlib.suppress(SystemExit):
        assert main([*verb, "--out", there]) == 1
    assert capsys.readouterr().err
    assert sorted(ROOT.iterdir()) == before


def test_a_run_of_plain_snakemake_is_ignored_by_git(tmp_path: Path) -> None:
    """Whatever its tables are: from its first file on."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    command = [sys.executable, "-m", "snakemake", "results/quick/data/simulated.json", "--config", "tier=quick"]
    command += ["--cores", "1", "--directory", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (tmp_path / "results" / "quick" / "config.json").exists(), done.stderr
    added = subprocess.run(["git", "add", "-A", "-n", "results"], cwd=tmp_path, capture_output=True, text=True)
    assert added.stdout == ""


def test_an_export_is_ignored_by_git_and_a_folder_that_was_there_is_not_touched(tmp_path: Path) -> None:
    for there in (False, True):
        out = tmp_path / str(there)
        if there:
            out.mkdir()
        assert main(["data", "export", "simulated", "--out", str(out), "--n", "1"]) == 0
        assert (out / ".gitignore").exists() is not there


def test_credentialed_rows_are_not_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = data.Dataset("mimic", "MIMIC", np.ones(9), np.ones(9), np.ones((9, 1)), ("age",))
    monkeypatch.setattr(data, "load", lambda _: table)
    assert main(["data", "export", "mimic", "--out", str(tmp_path / "out")]) == 1
    assert "MIMIC is credentialed: its rows are not written out" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_hundred_patients_are_not_the_demo(tmp_path: Path) -> None:
    """Another hundred may be taken from the real tables: such a build is credentialed."""
    ward = Hospital()
    for _ in range(99):
        ward.patient()
    raw = ward.write(tmp_path / "raw")
    (raw / "SYNTHETIC.txt").unlink()
    assert len(ward.rows["PATIENTS"]) == 100
    with pytest.warns(UserWarning, match="rows where"):
        assert cohort.build_cohort(raw, tmp_path / "out", MimicOptions(row_counts="warn")) == ""
