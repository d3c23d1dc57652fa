"""Renewing the reference: what is copied, what is never copied, and rows beyond those that were used."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.run_folder import write_run

from benchmarks.study.journal import Journal
from benchmarks.study.renew import renew, renew_figures
from benchmarks.study.rows import FURTHER, known_rows

ROW: dict[str, Any] = {"dataset": "support", "model": "soden", "split": 1, "status": "ok", "hyper": {"width": 8}}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = write_run(tmp_path / "run")
    for name in ("agreement.csv", "claims.csv", "rankings.csv", "measured_costs.csv"):
        (folder / name).write_text("a\n1\n")
    trials = pd.read_parquet(folder / "trials.parquet").assign(hyper="{}")
    trials.to_parquet(folder / "trials.parquet", index=False)
    np.savez(folder / "data" / "support.npz", x=np.zeros(3))  # patients: never copied
    (folder / "trials" / "support" / "soden" / "states").mkdir(parents=True)
    (folder / "trials" / "support" / "soden" / "states" / "1-0.pt").write_bytes(b"weights")
    (folder / "splits" / "support").mkdir(parents=True)
    (folder / "splits" / "support" / "1.npz").write_bytes(b"rows")
    return folder


def test_small_files_are_copied_and_data_splits_and_states_are_not(run: Path, tmp_path: Path) -> None:
    reference = tmp_path / "reference"
    (reference / "old").mkdir(parents=True)
    (reference / "deviations.csv").write_text("kept\n")
    written = {path.relative_to(reference).as_posix() for path in renew(run, reference)}
    assert {"cells.csv", "trials.parquet", "config.json", "data/support.json", "chosen/support/soden.json"} <= written
    assert not any(name.startswith(("trials/", "splits/")) or name == "data/support.npz" for name in written)
    assert (reference / "deviations.csv").read_text() == "kept\n"
    assert not (reference / "old").exists()
    assert {p.relative_to(reference).as_posix() for p in reference.rglob("*") if p.is_file()} == written


def test_curves_are_kept_of_what_is_drawn_and_no_longer_than_a_figure_shows(run: Path, tmp_path: Path) -> None:
    """Risk groups are drawn of SODEN alone; of the others the test stays."""
    for model in ("cox", "soden"):
        group = {"model": model, "p_value": 0.123456789, "grid": [0.0, 1.0], "high": [1.0, 0.5], "low": [1.0, 0.7]}
        found = {"curves": [{"predicted": 0.123456789}], "risk_groups": [group | {"all": [1.0, 0.6]}]}
        (run / "scores" / "support" / f"{model}.json").write_text(json.dumps(found))
    renew(run, tmp_path / "reference")
    kept = {m: json.loads((tmp_path / "reference/scores/support" / f"{m}.json").read_text()) for m in ("cox", "soden")}
    assert [kept[m]["curves"] for m in kept] == [[{"predicted": 0.12346}]] * 2
    assert kept["cox"]["risk_groups"] == [{"model": "cox", "p_value": 0.12346}]
    assert kept["soden"]["risk_groups"][0]["high"] == [1.0, 0.5]


def test_rows_beyond_the_run_are_kept_for_those_who_go_on(run: Path, tmp_path: Path) -> None:
    identity = str(pd.read_parquet(run / "trials.parquet")["identity"].iloc[0])
    journal = Journal(run / "trials" / "support" / "soden" / "0000.jsonl")
    good = ROW | {"identity": identity}
    journal.append(good | {"trial": 0}, good | {"trial": 57}, good | {"trial": 58, "status": "failed"})
    journal.append(ROW | {"trial": 59, "identity": "of other settings"})
    renew(run, tmp_path / "reference")
    assert list(pd.read_parquet(tmp_path / "reference" / FURTHER)["trial"]) == [57]  # trial 0 is among the run's own
    trials = [row["trial"] for row in known_rows(tmp_path / "reference", "support", "soden")]
    assert 57 in trials
    assert len(trials) == 31


def test_an_unfinished_run_leaves_the_reference_as_it_is(run: Path, tmp_path: Path) -> None:
    renew(run, tmp_path / "reference")
    (run / "claims.csv").unlink()
    (tmp_path / "reference" / "mine").write_text("still here")
    with pytest.raises(FileNotFoundError, match=r"the run has no .*claims\.csv; let it come to its end first"):
        renew(run, tmp_path / "reference")
    assert (tmp_path / "reference" / "mine").read_text() == "still here"


@pytest.mark.parametrize(
    ("kept", "known", "taken"),
    [("beyond", "results/reference", ["reference", None]), ("reference", "", None)],
)
def test_rows_of_another_kept_run_stay_marked_and_no_path_is_kept(
    run: Path, tmp_path: Path, kept: str, known: str, taken: list[str | None] | None
) -> None:
    """A run's own past and folders of a machine are nobody's business; that beyond stands on the reference is."""
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps(config | {"known": "/home/somebody/clone/results/reference"}))
    trials = pd.read_parquet(run / "trials.parquet").head(2).assign(taken_from=["reference", "mine"])
    trials.to_parquet(run / "trials.parquet", index=False)
    renew(run, tmp_path / kept)
    found = pd.read_parquet(tmp_path / kept / "trials.parquet")
    assert json.loads((tmp_path / kept / "config.json").read_text())["known"] == known
    assert (list(found["taken_from"]) if "taken_from" in found else None) == taken


def test_figures_are_replaced_and_others_stay(tmp_path: Path) -> None:
    for folder, names in (("new", ("headline.png", "index.json", "notes.txt")), ("reference", ("library.png",))):
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / name).write_text(folder)
    renew_figures(tmp_path / "new", tmp_path / "reference")
    assert {p.name for p in (tmp_path / "reference").iterdir()} == {"headline.png", "index.json", "library.png"}
