"""Renewing the reference: what is copied, what is never copied, and rows beyond those that were used."""

import contextlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.run_folder import write_run

from benchmarks.results.types import read_trials, trials_frame
from benchmarks.study.reference import renew, renew_figures
from benchmarks.study.store import FURTHER, Journal, read_known
from benchmarks.study.stored import MANIFEST, manifest_differences


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = write_run(tmp_path / "run")
    for name in ("agreement.csv", "claims.csv", "rankings.csv", "measured_costs.csv", "weights.csv"):
        (folder / name).write_text("a\n1\n")
    np.savez(folder / "data" / "support.npz", x=np.zeros(3))  # patients: never copied
    (folder / "trials" / "support" / "soden" / "states").mkdir(parents=True)
    (folder / "trials" / "support" / "soden" / "states" / "1-0.pt").write_bytes(b"weights")
    (folder / "splits" / "support").mkdir(parents=True)
    (folder / "splits" / "support" / "1.npz").write_bytes(b"rows")
    (folder / ".gitignore").write_text("*\n")  # of every run, and of none that is kept
    return folder


def test_small_files_are_copied_and_data_splits_and_states_are_not(run: Path, tmp_path: Path) -> None:
    reference = tmp_path / "reference"
    (reference / "old").mkdir(parents=True)
    (reference / "deviations.csv").write_text("kept\n")
    written = {path.relative_to(reference).as_posix() for path in renew(run, reference)} | {MANIFEST}
    assert {"cells.csv", "trials.parquet", "config.json", "data/support.json", "chosen/support/soden.json"} <= written
    assert not any(name.startswith(("trials/", "splits/")) or name == "data/support.npz" for name in written)
    assert (reference / "deviations.csv").read_text() == "kept\n"
    assert not (reference / "old").exists()
    assert {p.relative_to(reference).as_posix() for p in reference.rglob("*") if p.is_file()} == written
    assert ".gitignore" not in written


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
    first = next(t for t in read_trials(pd.read_parquet(run / "trials.parquet")) if t.model == "soden")
    more = [replace(first, trial=57), replace(first, trial=58, status="failed")]
    other = replace(first, trial=59, parts=replace(first.parts, settings="other"))
    journal = Journal(run / "trials" / "support" / "soden" / "0000.jsonl")
    journal.append(*(trial.to_row() for trial in (first, *more, other)))
    renew(run, tmp_path / "reference")
    assert list(pd.read_parquet(tmp_path / "reference" / FURTHER)["trial"]) == [57]  # the first is among the run's own
    trials = [trial.trial for trial in read_known(tmp_path / "reference", "support", "soden")]
    assert 57 in trials
    assert len(trials) == 31


@pytest.mark.parametrize("stopped_at", range(4))
def test_a_stopped_renewal_leaves_a_whole_reference(
    stopped_at: int, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped at any of the moves: the old or the new one is there, and the next attempt ends well."""
    reference = tmp_path / "reference"
    renew(run, reference)
    (reference / "deviations.csv").write_text("kept\n")
    moves: list[Path] = []

    def rename(path: Path, target: Path, real: Any = Path.rename) -> Path:
        moves.append(path)
        if len(moves) > stopped_at:
            raise KeyboardInterrupt
        return Path(real(path, target))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", rename)
        with contextlib.suppress(KeyboardInterrupt):
            renew(run, reference)
    renew(run, reference)
    assert (reference / "deviations.csv").read_text() == "kept\n"
    assert list(manifest_differences(reference)) == []
    assert not list(tmp_path.glob(".reference*"))


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
    trials = list(read_trials(pd.read_parquet(run / "trials.parquet").head(2)))
    marked = [replace(trial, taken_from=name) for trial, name in zip(trials, ("reference", "mine"), strict=True)]
    trials_frame(marked).to_parquet(run / "trials.parquet", index=False)
    renew(run, tmp_path / kept)
    found = pd.read_parquet(tmp_path / kept / "trials.parquet")
    assert json.loads((tmp_path / kept / "config.json").read_text())["known"] == known
    assert (list(found["taken_from"]) if "taken_from" in found else None) == taken
    assert len(list(read_trials(found))) == 2  # their digests fit


def test_figures_are_replaced_and_others_stay(tmp_path: Path) -> None:
    for folder, names in (("new", ("headline.png", "index.json", "notes.txt")), ("reference", ("library.png",))):
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / name).write_text(folder)
    renew_figures(tmp_path / "new", tmp_path / "reference")
    assert {p.name for p in (tmp_path / "reference").iterdir()} == {"headline.png", "index.json", "library.png"}
