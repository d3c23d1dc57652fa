"""`verify`: cells and trials fitted again, the published states, and what a whole reference comes to."""

import io
import json
import re
import shutil
import tarfile
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from conftest import ROOT
from support.run_folder import write_run

from benchmarks import numerics
from benchmarks.__main__ import main
from benchmarks.commands import verify as command
from benchmarks.config import resolve
from benchmarks.data import Dataset, DataUnavailable
from benchmarks.results.folder import NEEDED, Results, read_results
from benchmarks.results.types import KEY
from benchmarks.study import verify
from benchmarks.study.reference import FOLDER

# `verify cox`: the paper's 18 Cox cells from our sources; `verify cell`: a cell's own networks, fitted again.


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


# `verify reference`: what is taken from a reference, and what counts as coming out again.


@pytest.fixture
def run(tmp_path: Path) -> Results:
    folder = write_run(tmp_path / "made")
    (folder / "claims.csv").write_text("claim,dataset,held\none,support,1\nanother,simulated,9\n")
    return read_results(folder)


def with_refits(run: Results, *verdicts: str) -> Results:
    chosen = [replace(row, refit=verdicts[i % len(verdicts)]) for i, row in enumerate(run.chosen)]
    return Results(**{**vars(run), "chosen": tuple(chosen)})


def test_the_configuration_is_the_references_with_its_rows_known() -> None:
    config = resolve({"tier": "paper", "trials": 7, "training": {"patience": 3}}).plain()
    found = resolve({"tier": "paper", **verify.overlay(config, ["metabric"], FOLDER)})
    assert (found.trials, found.training.patience, found.datasets) == (7, 3, ("metabric",))
    assert (found.run, found.known_numerics, found.device) == ("verify", "any", "cpu")
    assert found.known == str(FOLDER)


def test_identical_refits_and_equal_cells_hold(run: Results) -> None:
    found = verify.check(with_refits(run, "identical"), run)
    assert found.holds
    assert found.refits == {"identical": len(run.chosen), "equivalent": 0, "different": 0}
    assert found.cells == found.same_cells > 100


def test_one_refit_that_differs_or_was_not_made_does_not_hold(run: Results) -> None:
    assert not verify.check(run, run).holds
    found = verify.check(with_refits(run, "identical", "different: epochs 3 then, 4 now"), run)
    assert not found.holds
    assert any("different: epochs 3 then, 4 now" in text for text in found.different)


def test_one_cell_in_its_last_digit_does_not_hold(run: Results) -> None:
    mine = with_refits(run, "identical")
    cells = mine.cells.copy()
    first = cells.index[cells["mean"].notna() & (cells["metric"] == "ibs")][0]
    cells.loc[first, "mean"] *= 1 + 1e-15
    found = verify.check(Results(**{**vars(mine), "cells": cells}), run)
    assert (found.cells - found.same_cells, found.holds) == (1, False)


def test_equivalent_refits_allow_cells_to_differ_a_little(run: Results) -> None:
    mine = with_refits(run, "identical", "equivalent: the validation score is 1e-6 off")
    near = Results(**{**vars(mine), "cells": mine.cells.assign(mean=mine.cells["mean"] + 5e-4)})
    far = Results(**{**vars(mine), "cells": mine.cells.assign(mean=mine.cells["mean"] + 5e-3)})
    assert verify.check(near, run).holds
    assert not verify.check(far, run).holds


# The published states of the reference: they are the chosen trials', and predict what their checksums say.


def test_there_is_one_of_every_chosen_trial() -> None:
    chosen = {row.key for row in read_results(REFERENCE).chosen}
    table = pd.read_csv(REFERENCE / verify.TABLE)
    assert {tuple(row) for row in table[list(KEY)].itertuples(index=False)} == chosen
    with tarfile.open(REFERENCE / verify.FILE) as archive:
        packed = {(m.name, m.mtime, m.uid) for m in archive.getmembers()}
    assert packed == {(f"{d}/{model}/{split}.pt", 0, 0) for d, model, split, _ in chosen}


MODELS = ("cox", "deephit", "soden")


@pytest.fixture
def some(tmp_path: Path) -> Path:
    """The reference as if it had chosen three models of METABRIC's first split and nothing else."""
    folder = tmp_path / "results" / "reference"
    folder.mkdir(parents=True)
    for name in (*NEEDED, "conventions.csv", verify.FILE):
        shutil.copy(REFERENCE / name, folder)
    for model in MODELS:
        rows = json.loads((REFERENCE / "chosen" / "metabric" / f"{model}.json").read_text())
        (folder / "chosen" / "metabric").mkdir(parents=True, exist_ok=True)
        first = [row for row in rows if row["split"] == 1]
        (folder / "chosen" / "metabric" / f"{model}.json").write_text(json.dumps(first))
    table = pd.read_csv(REFERENCE / verify.TABLE)
    few = table[(table["dataset"] == "metabric") & (table["split"] == 1) & table["model"].isin(MODELS)]
    few.to_csv(folder / verify.TABLE, index=False)
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
    archive, whole = some / verify.FILE, (some / verify.FILE).read_bytes()
    for content in (whole[: len(whole) // 2], whole[:9000] + b"x" + whole[9001:], b"", b"text"):
        archive.write_bytes(content)
        assert main(["verify", "states", "--directory", str(some.parents[1])]) == 1
        assert re.fullmatch(r"verify: \S*states.tar.xz is not readable .*brings it back\n", capsys.readouterr().err)
    with tarfile.open(archive, "w:xz") as file:
        for model in MODELS:  # no models at all
            file.addfile(tarfile.TarInfo(verify.state_name("metabric", model, 1)), io.BytesIO())
    code, said = verified(some, capsys)
    assert text.format(0, 0, n=3) in said
    assert code == 1
    archive.write_bytes(whole)
    table = pd.read_csv(some / verify.TABLE)
    scores = pd.read_csv(some / "conventions.csv")
    rows = (scores["dataset"] == "metabric") & (scores["model"] == "soden") & (scores["split"] == 1)
    scores.loc[rows.idxmax(), "value"] += 1e-6
    scores.to_csv(some / "conventions.csv", index=False)
    forged = table.assign(predictions=["0" * 64, *table["predictions"][1:]])
    extra = pd.DataFrame([{"dataset": "metabric", "model": "deepsurv", "split": 1, "trial": 0, "predictions": "x"}])
    pd.concat([forged.query("model != 'deephit'"), extra]).to_csv(some / verify.TABLE, index=False)
    code, said = verified(some, capsys)
    assert code == 1
    assert text.format(1, 1, n=4) in said
    assert "metabric/cox/1 predicts otherwise; its scores are up to " in said
    assert "metabric/soden/1 predicts what it predicted; its scores are up to 1e-06 off" in said
    assert "metabric/deephit/1 predicts otherwise; its scores are up to nan off" in said
    assert "metabric/deepsurv/1 predicts otherwise" in said


def test_it_starts_from_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an earlier verification left there is not believed."""
    old = [tmp_path / part / "verify" / "cells.csv" for part in ("results", "figures")]
    for path in old:
        path.parent.mkdir(parents=True)
        path.write_text("forged")
    left: list[bool] = []
    monkeypatch.setattr("benchmarks.commands.run.run", lambda args: left.extend(p.exists() for p in old) or 3)
    assert command._fresh_run(Namespace(directory=tmp_path, jobs=1), {"seed": 1}, ["metabric"]) == 3
    assert left == [False, False]


@pytest.mark.parametrize(("name", "column"), [("agreement", "verdict"), ("agreement", "mean"), ("claims", "passed")])
def test_verdicts_must_follow_from_the_cells(name: str, column: str, tmp_path: Path) -> None:
    """Of the reference as it is, and with one verdict in its favour."""
    kept = Path(shutil.copytree(REFERENCE, tmp_path / "reference"))
    assert list(command._verdicts(kept)) == []
    frame = pd.read_csv(kept / f"{name}.csv", dtype=str, keep_default_na=False)
    frame.loc[frame.index[frame[column] != ""][0], column] = "1"
    frame.to_csv(kept / f"{name}.csv", index=False)
    assert [text.split(" in ")[0] for text in command._verdicts(kept)] == [f"{name}.csv: {column} differs"]
