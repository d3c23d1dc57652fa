"""The reference run: its tables follow from its rows, its verdicts from its tables, and its rows come out again."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT

from benchmarks import code
from benchmarks.data import Dataset
from benchmarks.report.agreement import agreement
from benchmarks.report.claims.check import check_claims
from benchmarks.results.folder import read_results
from benchmarks.results.published import published_cells
from benchmarks.results.search_noise import search_errors
from benchmarks.study.audit import Again, named
from benchmarks.study.gather import gather
from benchmarks.study.rows import equal_codes, judge

REFERENCE = ROOT / "results" / "reference"
# Short trials of every kind of model; SODEN's with the solver's error control at work.
TRIALS = (
    *("metabric/cox/1/0", "metabric/deepsurv/1/0", "metabric/cox_time/5/3", "metabric/deephit/2/6"),
    *("metabric/nnet_survival/3/1", "metabric/soden/5/3", "metabric/soden_ph/4/2", "metabric/soden_cox/7/5"),
)


def trials() -> pd.DataFrame:
    return pd.read_parquet(REFERENCE / "trials.parquet")


def test_cells_and_tests_follow_from_the_scores(tmp_path: Path) -> None:
    scores = pd.read_csv(REFERENCE / "conventions.csv", dtype={"g_tau": str}, keep_default_na=False)
    scores["value"] = scores["value"].astype(float)
    gather(scores, trials(), "published", pd.read_csv(REFERENCE / "planned.csv"), tmp_path)
    for name in ("scores.csv", "tests.csv", "cells.csv"):
        again, kept = (pd.read_csv(folder / name) for folder in (tmp_path, REFERENCE))
        pd.testing.assert_frame_equal(again, kept, rtol=1e-9)


def test_verdicts_follow_from_the_cells() -> None:
    run = read_results(REFERENCE)
    search = None if run.hindsight is None else search_errors(run.hindsight)
    cells = agreement(published_cells(), run.cells, run.marks, search)
    kept = pd.read_csv(REFERENCE / "agreement.csv", dtype={"g_tau": str}, keep_default_na=False)
    for column in ("verdict", "distance"):
        assert list(cells[column]) == list(kept[column])
    errors = pd.to_numeric(kept["search_error"]).to_numpy(float)  # of every searched model: hindsight is complete
    np.testing.assert_allclose(errors, cells["search_error"].to_numpy(float), rtol=1e-9)
    compared = kept["verdict"].isin(("agrees", "drifts", "differs")).to_numpy() & (kept["model"] != "cox").to_numpy()
    assert np.isfinite(errors[compared]).all()
    assert {"agrees", "not run"} <= set(kept["verdict"])
    claims = pd.read_csv(REFERENCE / "claims.csv")
    assert list(check_claims(run, published_cells())["verdict"]) == list(claims["verdict"])


def test_the_protocol_is_the_papers_on_the_authors_splits_with_portable_bits() -> None:
    config, rows = json.loads((REFERENCE / "config.json").read_text()), trials()
    searched = rows[rows["model"] != "cox"].groupby(["dataset", "model", "split"]).size()
    assert len(searched) == 2 * 7 * 10
    assert set(searched) == {config["trials"]}
    assert (rows["model"] == "cox").sum() == 2 * 10
    assert set(pd.read_csv(REFERENCE / "datasets.csv")["splits"]) == {"released"}
    assert set(rows["numerics"]) == {"portable"}
    assert set(rows["device"]) == {"cpu"}
    assert "failed" not in set(rows["status"])


def test_every_row_was_made_by_this_code_or_by_code_proven_equal() -> None:
    """Where this fails, a model was edited: `python -m benchmarks adopt` proves that its rows are the same."""
    for (model, then), _ in trials().groupby(["model", "code"]):
        assert then in equal_codes(REFERENCE, str(model), code.of_model(str(model))), model


@pytest.mark.parametrize("key", TRIALS)
def test_a_trial_gives_its_row_again_to_the_last_bit(
    key: str, load_public: Callable[[str], Dataset], tmp_path: Path
) -> None:
    load_public("metabric")
    then = named(trials(), key)
    again = Again(REFERENCE, tmp_path)
    now = again.row(then)
    if now["numerics"] != "portable":
        pytest.skip(f"this machine computes {now['numerics']}")
    assert judge(then, now) == "identical"
    assert now["data"] == then["data"]
