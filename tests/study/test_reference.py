"""The reference run: its tables follow from its rows, its verdicts from its tables."""

from pathlib import Path

import pandas as pd
from conftest import ROOT

from benchmarks.report.agreement import agreement
from benchmarks.report.claims.check import check_claims
from benchmarks.results.folder import read_results
from benchmarks.results.published import published_cells
from benchmarks.study.gather import gather

REFERENCE = ROOT / "results" / "reference"


def test_cells_and_tests_follow_from_the_scores(tmp_path: Path) -> None:
    scores = pd.read_csv(REFERENCE / "conventions.csv", dtype={"g_tau": str}, keep_default_na=False)
    scores["value"] = scores["value"].astype(float)
    trials = pd.read_parquet(REFERENCE / "trials.parquet")
    gather(scores, trials, "published", pd.read_csv(REFERENCE / "planned.csv"), tmp_path)
    for name in ("scores.csv", "tests.csv", "cells.csv"):
        again, kept = (pd.read_csv(folder / name) for folder in (tmp_path, REFERENCE))
        pd.testing.assert_frame_equal(again, kept, rtol=1e-9)


def test_verdicts_follow_from_the_cells() -> None:
    run = read_results(REFERENCE)
    cells = agreement(published_cells(), run.cells, run.marks)
    kept = pd.read_csv(REFERENCE / "agreement.csv", dtype={"g_tau": str}, keep_default_na=False)
    assert list(cells["verdict"]) == list(kept["verdict"])
    assert {"agrees", "drifts", "not run"} == set(kept["verdict"])
    claims = pd.read_csv(REFERENCE / "claims.csv")
    assert list(check_claims(run, published_cells())["verdict"]) == list(claims["verdict"])


def test_the_protocol_is_the_small_tier_on_the_authors_splits() -> None:
    trials = pd.read_parquet(REFERENCE / "trials.parquet")
    searched = trials[trials["model"] != "cox"].groupby(["dataset", "model", "split"]).size()
    assert len(searched) == 2 * 7 * 10
    assert set(searched) == {10}
    assert (trials["model"] == "cox").sum() == 2 * 10
    assert set(pd.read_csv(REFERENCE / "datasets.csv")["splits"]) == {"released"}
