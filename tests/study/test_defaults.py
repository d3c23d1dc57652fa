"""The study behind the defaults: its tables are made from its rows, its winner is what `SODEN()` is."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT

from benchmarks.defaults import study, table
from benchmarks.defaults.sets import LOOKED_AT, SETS, load, parts
from benchmarks.defaults.settings import OLD, TRIED
from soden import SODEN

FOLDER = ROOT / "benchmarks" / "defaults"
ROWS = pd.read_csv(FOLDER / "rows.csv")


def test_the_tables_are_made_from_the_rows(tmp_path: Path) -> None:
    table.write(FOLDER / "rows.csv", tmp_path)
    for name in ("chosen.csv", "confirmed.csv"):
        assert (tmp_path / name).read_text() == (FOLDER / name).read_text()


def test_the_best_of_those_tried_are_the_defaults() -> None:
    best = pd.read_csv(FOLDER / "chosen.csv")["settings"].iloc[0]
    params = SODEN().get_params()
    assert {name: params[name] for name in TRIED[best]} == TRIED[best]
    assert set(ROWS.loc[ROWS["model"] == "old", "settings"]) == {json.dumps(OLD, sort_keys=True)}


def test_every_set_was_confirmed_on_twenty_splits() -> None:
    confirmed = pd.read_csv(FOLDER / "confirmed.csv")
    assert confirmed["set"].tolist() == list(SETS)
    assert (confirmed["splits"] == 20).all()
    assert set(confirmed.loc[confirmed["seen"] == "yes", "set"]) == set(LOOKED_AT)


def test_splits_of_the_two_stages_are_others_and_parts_do_not_meet() -> None:
    dataset = load("whas500")
    (train, test), (other, _) = (parts("whas500", dataset, stage, 0) for stage in ("choose", "confirm"))
    assert len(train) + len(test) == len(dataset) == 500
    assert not np.array_equal(train.time, other.time)
    assert sorted([*train.time, *test.time]) == sorted(dataset.time)


def test_a_row_of_the_study_is_what_it_says(tmp_path: Path) -> None:
    """Cox on one split again: the row that is there. C against scikit-survival's Harrell's C of the same model."""
    from sksurv.linear_model import CoxPHSurvivalAnalysis
    from sksurv.metrics import concordance_index_censored
    from sksurv.util import Surv

    path = tmp_path / "rows.csv"
    study.run(path, "confirm", ["veterans"], 1, {})
    study.run(path, "confirm", ["veterans"], 1, {})  # nothing is run twice
    found = pd.read_csv(path)
    assert len(found) == 1
    key = (ROWS["stage"] == "confirm") & (ROWS["set"] == "veterans") & (ROWS["split"] == 0) & (ROWS["model"] == "cox")
    assert found.loc[0, ["c", "ibs"]].tolist() == pytest.approx(ROWS.loc[key, ["c", "ibs"]].iloc[0].tolist(), abs=1e-5)
    train, test = parts("veterans", load("veterans"), "confirm", 0)
    cox = CoxPHSurvivalAnalysis(alpha=1e-4, ties="breslow").fit(train.x, Surv.from_arrays(train.event, train.time))
    expected = concordance_index_censored(test.event, test.time, cox.predict(test.x))[0]
    # A step function is 1 for all before the first training event: ties that Harrell's C does not have.
    assert found.loc[0, "c"] == pytest.approx(expected, abs=5e-3)
