"""The verbs `data` and `split`: what they write, print and return."""

import argparse
import json
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks import data_cli, split_cli
from benchmarks.data import Dataset
from benchmarks.data.splits import Split, draw


def call(verb: ModuleType, *argv: object) -> int:
    parser = argparse.ArgumentParser()
    verb.add_arguments(parser)
    return int(verb.run(parser.parse_args([str(a) for a in argv])))


def test_data_then_split(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "simulated.npz"
    assert call(data_cli, "simulated", "--simulated-n", 50, "--seed", 4, "--out", path) == 0
    assert len(Dataset.load(path)) == 50
    assert "SIMULATED    N     50  p 1 " in capsys.readouterr().out
    assert call(split_cli, "--data", path, "--split", 1, 2, "--seed", 4, "--into", tmp_path / "splits") == 0
    assert Split.load(tmp_path / "splits" / "2.npz").sha256() == draw(50, 4, 2, "simulated").sha256()
    assert "SIMULATED split 2: train/valid/test 30/10/10" in capsys.readouterr().out


def test_missing_data_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ("--folder", tmp_path / "none", "--cache", tmp_path / "cache", "--offline", "--into", tmp_path / "out")
    assert call(data_cli, "metabric", "flchain", *where) == 1
    report = tmp_path / "report.json"
    assert call(data_cli, "metabric", "flchain", *where, "--keep-going", "--report", report) == 0
    assert "METABRIC cannot be had. Tried:" in capsys.readouterr().err
    found = json.loads(report.read_text())
    assert found["found"]["flchain"]["n"] == 7874
    assert found["missing"]["metabric"].startswith("METABRIC cannot be had")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["flchain.npz"]


def test_options_reach_the_data_set(tmp_path: Path) -> None:
    for repetition in (0, 1):
        options = json.dumps({"simulated": {"repetition": repetition}})
        call(data_cli, "simulated", "--simulated-n", 20, "--options", options, "--out", tmp_path / f"{repetition}.npz")
    assert Dataset.load(tmp_path / "0.npz").sha256() != Dataset.load(tmp_path / "1.npz").sha256()


def test_wrong_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        call(data_cli, "suport")
    assert "unknown data set 'suport'; choose among flchain, metabric" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="--out takes one data set, got 2; use --into DIR for several"):
        call(data_cli, "simulated", "flchain", "--out", tmp_path / "x.npz")


def test_marks_and_series_are_printed() -> None:
    row = {"label": "MIMIC-SEQ", "mark": "demo", "n": 100, "p": 5, "seq_channels": 15, "seq_steps": 24}
    row |= {"censoring_rate": 0.3, "censored_mean": 1, "censored_median": 2, "observed_mean": 3, "observed_median": 4}
    assert data_cli.row_text(row).startswith("MIMIC-SEQ (demo) N    100  p 5+15x24  censored  30%  years   1.00   2.00")
