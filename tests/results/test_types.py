"""Rows as types: every kept run reads, what is written reads back to the last bit, and a damaged row is found."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.results import KEPT_RUNS
from benchmarks.results.files import read_any_json
from benchmarks.results.tidy import read_table
from benchmarks.results.types import Cell, Chosen, DamagedRow, Parts, Score, Trial, read_trials, trials_frame

KEPT = [ROOT / "results" / name for name in KEPT_RUNS]
KEPT += sorted(path.parent for path in (ROOT / "results" / "replications").glob("*/trials.parquet"))
PARTS = Parts(3, "simulated", "soden", *("data", "settings", "space", "code", "portable", "cpu", "split"))
TRIAL = Trial(PARTS, 1, 0, 2**62, {"lr": 0.1, "width": 8, "features": None}, "ok", -0.5, 0.5, message="naïve\n")


@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.name)
def test_kept_rows_read_and_are_written_as_they_were(folder: Path) -> None:
    table = pd.read_parquet(folder / "trials.parquet")
    trials = list(read_trials(table))
    again = trials_frame(trials).drop(columns="digest").astype(table.dtypes)
    pd.testing.assert_frame_equal(again.fillna({"taken_from": ""}), table.fillna({"taken_from": ""}))
    lines = [json.dumps(trial.to_row()) for trial in trials]
    assert [Trial.from_row(json.loads(line)).to_row() == t.to_row() for line, t in zip(lines, trials, strict=True)]
    for path in (folder / "chosen").glob("*/*.json"):
        rows = read_any_json(path)
        assert [Chosen.from_row(row).to_row() for row in rows] == rows
    if not (folder / "cells.csv").is_file():  # a replication in progress
        return
    for kind, name in ((Cell, "cells"), (Score, "conventions")):
        kept = read_table(folder / f"{name}.csv")
        back = pd.DataFrame([kind.from_row(row).to_row() for row in kept.to_dict("records")])
        pd.testing.assert_frame_equal(back[list(kept)].astype(kept.dtypes), kept)


def test_what_is_missing_in_a_table_is_the_default() -> None:
    failed = replace(TRIAL, status="failed", score=math.nan, message="broken", traceback="line 1")
    first, second = read_trials(trials_frame([TRIAL, failed]))
    assert first.to_row() == TRIAL.to_row()
    assert (second.traceback, second.epochs, first.traceback) == ("line 1", 0, "")
    assert math.isnan(second.score)
    assert "traceback" not in first.to_row()


@given(st.sampled_from(sorted(TRIAL.to_row())), st.integers(0, 10**6))
def test_a_row_that_was_changed_anywhere_is_damaged(name: str, other: int) -> None:
    row = TRIAL.to_row()
    changed = row | {name: {"lr": other} if name == "hyper" else other if name in ("split", "trial") else f"x{other}"}
    if name == "trial" and other == 0:
        return
    with pytest.raises(DamagedRow):
        Trial.from_row(changed if name != "split" or other != 1 else row | {"score": 1.0})


def test_a_row_without_a_digest_must_still_fit_its_identity() -> None:
    row = {name: value for name, value in TRIAL.to_row().items() if name != "digest"}
    assert Trial.from_row(row) == TRIAL
    for name in ("root_seed", "data", "split_rows", "settings", "space", "code", "numerics", "device"):
        with pytest.raises(DamagedRow, match="its identity is"):
            Trial.from_row(row | {name: 4 if name == "root_seed" else "other"})
    with pytest.raises(DamagedRow, match="not a row of a trial"):
        Trial.from_row({"split": 1})
