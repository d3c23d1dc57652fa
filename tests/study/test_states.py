"""The published states of the reference: they are the chosen trials', and predict what their checksums say."""

import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from conftest import ROOT

from benchmarks import numerics
from benchmarks.__main__ import main
from benchmarks.data import Dataset
from benchmarks.results.folder import read_results
from benchmarks.study import states

REFERENCE = ROOT / "results" / "reference"


def test_there_is_one_of_every_chosen_trial() -> None:
    chosen = {tuple(row[k] for k in states.KEY) for row in read_results(REFERENCE).chosen}
    table = pd.read_csv(REFERENCE / states.TABLE)
    assert {tuple(row) for row in table[list(states.KEY)].itertuples(index=False)} == chosen
    with tarfile.open(REFERENCE / states.FILE) as archive:
        packed = {(m.name, m.mtime, m.uid) for m in archive.getmembers()}
    assert packed == {(f"{d}/{model}/{split}.pt", 0, 0) for d, model, split, _ in chosen}


@pytest.fixture
def some(tmp_path: Path) -> Path:
    """The reference with a table of four models of METABRIC."""
    folder = tmp_path / "results" / "reference"
    folder.mkdir(parents=True)
    for name in ("config.json", "datasets.csv", states.FILE):
        shutil.copy(REFERENCE / name, folder)
    table = pd.read_csv(REFERENCE / states.TABLE)
    few = table[(table["dataset"] == "metabric") & (table["split"] == 1)]
    few[few["model"].isin(("cox", "deephit", "soden", "soden_ph"))].to_csv(folder / states.TABLE, index=False)
    return folder


def test_they_predict_what_they_predicted(
    some: Path, load_public: Callable[[str], Dataset], capsys: pytest.CaptureFixture[str]
) -> None:
    load_public("metabric")
    if numerics.kind() != "portable":
        pytest.skip(f"this machine computes {numerics.kind()}")
    words = ["states", "check", "--directory", str(some.parents[1])]
    assert main(words) == 0
    assert "4 of 4 chosen models predict what they predicted" in capsys.readouterr().out
    table = pd.read_csv(some / states.TABLE)
    table.loc[0, "predictions"] = "0" * 64
    table.to_csv(some / states.TABLE, index=False)
    assert main(words) == 1
    said = capsys.readouterr().out
    assert "metabric/cox/1 predicts otherwise" in said
    assert "3 of 4" in said
