"""Replications as they are kept: finished ones whole, one in progress as the trials that its run goes on from."""

import argparse
import json
from pathlib import Path

import pandas as pd
import pytest
from support.run_folder import write_run

from benchmarks.results.replications import how_many, replication_folders
from benchmarks.results.types import Parts, Trial
from benchmarks.studies import keep_replication as study
from benchmarks.study.store import Journal, read_known


def keep(source: Path, folder: Path) -> int:
    parser = argparse.ArgumentParser()
    study.add_arguments(parser)
    return study.run(parser.parse_args([str(source), "--folder", str(folder)]))


def row(trial: int, status: str = "ok", code: str = "a") -> dict[str, object]:
    parts = Parts(4, "support", "soden", *("data", "settings", "space", code, "portable", "cpu", "split"))
    return Trial(parts, 2, trial, 7, {"layers": 2}, status, -0.5, taken_from="x").to_row()


@pytest.fixture
def started(tmp_path: Path) -> Path:
    """Two chunks, one of them cut off in the middle of a line; a trial that failed; one that stands in both."""
    folder = tmp_path / "run"
    trials = folder / "trials" / "support" / "soden"
    Journal(trials / "0000.jsonl").append(row(3), row(1), row(2, status="failed"))
    Journal(trials / "0001.jsonl").append(row(3))
    with (trials / "0001.jsonl").open("a") as file:
        file.write('{"dataset": "supp')
    (folder / "config.json").write_text(json.dumps({"seed": 4, "trials": 100, "known": "/somewhere"}))
    return folder


def test_a_run_in_progress_is_kept_as_rows_that_can_be_taken_over(started: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    assert keep(started, kept) == 0
    rows = list(read_known(kept / "4", "support", "soden"))
    assert [trial.trial for trial in rows] == [1, 3]
    assert rows[0].hyper == {"layers": 2}
    assert rows[0].taken_from == ""
    assert json.loads((kept / "4" / "config.json").read_text()) == {"seed": 4, "trials": 100, "known": ""}
    assert sorted(path.name for path in (kept / "4").iterdir()) == ["config.json", "trials.parquet"]
    assert replication_folders(kept) == []
    assert how_many(kept) == "0 of 5 replications; 4 is unfinished (2 trials)"


def test_rows_of_two_identities_are_not_mixed(started: Path, tmp_path: Path) -> None:
    Journal(started / "trials" / "support" / "soden" / "0002.jsonl").append(row(1, code="b"))
    with pytest.raises(ValueError, match="two versions of support/soden/2/1"):
        keep(started, tmp_path / "kept")


def test_a_run_without_trials_is_not_kept(started: Path, tmp_path: Path) -> None:
    for path in started.rglob("*.jsonl"):
        path.unlink()
    with pytest.raises(ValueError, match="has no finished trial yet"):
        keep(started, tmp_path / "kept")


def test_a_finished_run_is_kept_whole_and_not_replaced_by_one_in_progress(started: Path, tmp_path: Path) -> None:
    run, kept = write_run(tmp_path / "made", trials=100), tmp_path / "kept"
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps(config | {"seed": 4}))
    for name in (
        "agreement.csv",
        "claims.csv",
        "rankings.csv",
        "measured_costs.csv",
        "weights.csv",
        "environment.json",
    ):
        if not (run / name).is_file():
            (run / name).write_text("{}\n")
    assert keep(started, kept) == 0
    assert keep(run, kept) == 0  # the finished one replaces it
    assert [path.name for path in replication_folders(kept)] == ["4"]
    pd.testing.assert_frame_equal(pd.read_csv(kept / "4" / "cells.csv"), pd.read_csv(run / "cells.csv"))
    with pytest.raises(ValueError, match="4 is a finished replication"):
        keep(started, kept)
