"""`verify cox`: the paper's 18 Cox cells from our sources; `verify cell`: a cell's own networks, fitted again."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from conftest import ROOT

from benchmarks.__main__ import main
from benchmarks.data import Dataset, DataUnavailable
from benchmarks.study import verify

REFERENCE = ROOT / "results" / "reference"


def test_the_published_cox_cells(load_public: Callable[[str], Dataset], capfd: pytest.CaptureFixture[str]) -> None:
    for name in verify.DATASETS:
        load_public(name)
    assert main(["verify", "cox"]) == 0
    last = capfd.readouterr().out.splitlines()[-1]
    assert re.fullmatch(r"max \|difference\| = 0\.00\d\d over 18 cells", last)  # below LARGEST, or main gives 1


def test_absent_data_are_a_message_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def absent(name: str) -> Dataset:
        raise DataUnavailable("SUPPORT", [("cache", "no file there")], "ask a friend.")

    monkeypatch.setattr(verify, "_dataset", absent)
    assert main(["verify", "cox"]) == 1
    assert capsys.readouterr().err.startswith("verify: SUPPORT cannot be had. Tried:\n  1. cache: no file there\n")


@pytest.fixture
def one_split(tmp_path: Path, load_public: Callable[[str], Dataset]) -> Path:
    """The reference cut down to the cells of SODEN-Cox on one split of METABRIC."""
    load_public("metabric")
    folder = tmp_path / "results" / "cut"
    for name in ("config.json", "datasets.csv", "cells.csv", "tests.csv"):
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(REFERENCE / name, folder / name)
    wanted = "dataset == 'metabric' and model == 'soden_cox' and split == 7"
    pd.read_parquet(REFERENCE / "trials.parquet").query(wanted).to_parquet(folder / "trials.parquet", index=False)
    scores = pd.read_csv(REFERENCE / "scores.csv", dtype={"g_tau": str}).query(wanted)
    scores.to_csv(folder / "scores.csv", index=False)
    file = Path("chosen") / "metabric" / "soden_cox.json"
    (folder / file.parent).mkdir(parents=True)
    chosen = [row for row in json.loads((REFERENCE / file).read_text()) if row["split"] == 7]
    (folder / file).write_text(json.dumps(chosen))
    return folder


def verify_cell(folder: Path, *words: str) -> int:
    return main(["verify", "cell", *words, "--run", "cut", "--directory", str(folder.parents[1])])


def test_a_cell_is_followed_to_its_networks(one_split: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Names as printed; the trial is fitted again, scored on its test part, and both numbers are those kept."""
    assert verify_cell(one_split, "METABRIC", "C^td", "0.4", "SODEN-Cox") == 0
    lines = capfd.readouterr().out.splitlines()
    kept = pd.read_csv(one_split / "scores.csv", dtype={"g_tau": str}).query("metric == 'ctd' and g_tau == '0.4'")
    [row] = [line.split() for line in lines if line.endswith("identical")]
    assert (row[0], row[2] == row[3]) == ("7", True)
    assert row[4] == row[5] == f"{kept['value'].item():.6f}"
    assert lines[-1] == "1 of 1 splits came out again"


def test_a_changed_test_value_or_score_is_found(one_split: Path, capfd: pytest.CaptureFixture[str]) -> None:
    scores = pd.read_csv(one_split / "scores.csv", dtype={"g_tau": str})
    scores.assign(value=scores["value"] + 2e-7).to_csv(one_split / "scores.csv", index=False)
    assert verify_cell(one_split, "metabric", "nll", "soden_cox") == 1
    assert capfd.readouterr().out.splitlines()[-1] == "0 of 1 splits came out again"
