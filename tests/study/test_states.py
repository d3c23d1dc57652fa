"""The published states of the reference: they are the chosen trials', and predict what their checksums say."""

import json
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
from benchmarks.results.folder import NEEDED, read_results
from benchmarks.results.types import KEY
from benchmarks.study import verify as states

REFERENCE = ROOT / "results" / "reference"


def test_there_is_one_of_every_chosen_trial() -> None:
    chosen = {row.key for row in read_results(REFERENCE).chosen}
    table = pd.read_csv(REFERENCE / states.TABLE)
    assert {tuple(row) for row in table[list(KEY)].itertuples(index=False)} == chosen
    with tarfile.open(REFERENCE / states.FILE) as archive:
        packed = {(m.name, m.mtime, m.uid) for m in archive.getmembers()}
    assert packed == {(f"{d}/{model}/{split}.pt", 0, 0) for d, model, split, _ in chosen}


MODELS = ("cox", "deephit", "soden")


@pytest.fixture
def some(tmp_path: Path) -> Path:
    """The reference as if it had chosen three models of METABRIC's first split and nothing else."""
    folder = tmp_path / "results" / "reference"
    folder.mkdir(parents=True)
    for name in (*NEEDED, "conventions.csv", states.FILE):
        shutil.copy(REFERENCE / name, folder)
    for model in MODELS:
        rows = json.loads((REFERENCE / "chosen" / "metabric" / f"{model}.json").read_text())
        (folder / "chosen" / "metabric").mkdir(parents=True, exist_ok=True)
        first = [row for row in rows if row["split"] == 1]
        (folder / "chosen" / "metabric" / f"{model}.json").write_text(json.dumps(first))
    table = pd.read_csv(REFERENCE / states.TABLE)
    few = table[(table["dataset"] == "metabric") & (table["split"] == 1) & table["model"].isin(MODELS)]
    few.to_csv(folder / states.TABLE, index=False)
    return folder


def verified(some: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = main(["verify", "states", "--directory", str(some.parents[1])])
    return code, capsys.readouterr().out


def test_they_predict_and_score_what_they_did(
    some: Path, load_public: Callable[[str], Dataset], capsys: pytest.CaptureFixture[str]
) -> None:
    """Then: another checksum, another score, a state that nobody chose, one that is absent."""
    load_public("metabric")
    if numerics.kind() != "portable":
        pytest.skip(f"this machine computes {numerics.kind()}")
    text = "{} of {n} chosen models predict what they predicted, bit for bit; {} of {n} give the scores"
    code, said = verified(some, capsys)
    assert text.format(3, 3, n=3) in said
    assert code == 0
    table = pd.read_csv(some / states.TABLE)
    scores = pd.read_csv(some / "conventions.csv")
    rows = (scores["dataset"] == "metabric") & (scores["model"] == "soden") & (scores["split"] == 1)
    scores.loc[rows.idxmax(), "value"] += 1e-6
    scores.to_csv(some / "conventions.csv", index=False)
    forged = table.assign(predictions=["0" * 64, *table["predictions"][1:]])
    extra = pd.DataFrame([{"dataset": "metabric", "model": "deepsurv", "split": 1, "trial": 0, "predictions": "x"}])
    pd.concat([forged.query("model != 'deephit'"), extra]).to_csv(some / states.TABLE, index=False)
    code, said = verified(some, capsys)
    assert code == 1
    assert text.format(1, 1, n=4) in said
    assert "metabric/cox/1 predicts otherwise; its scores are up to " in said
    assert "metabric/soden/1 predicts what it predicted; its scores are up to 1e-06 off" in said
    assert "metabric/deephit/1 predicts otherwise; its scores are up to nan off" in said
    assert "metabric/deepsurv/1 predicts otherwise" in said
