"""The reference run: its tables follow from its rows, its verdicts from its tables, and its rows come out again."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT

from benchmarks import code
from benchmarks.config import Config
from benchmarks.data import Dataset
from benchmarks.report.agreement import judge as judge_cells
from benchmarks.report.claims.check import check_claims, kept_replications
from benchmarks.results.folder import kept_runs, read_results
from benchmarks.results.published import published_cells
from benchmarks.results.replications import COMMITS, read_searches
from benchmarks.results.types import read_trials
from benchmarks.studies import commits as study
from benchmarks.study.gather import gather
from benchmarks.study.store import Store
from benchmarks.study.verify import Again, named

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
    cells = judge_cells(run, published_cells())
    kept = pd.read_csv(REFERENCE / "agreement.csv", dtype={"g_tau": str}, keep_default_na=False)
    assert list(cells.columns) == list(kept.columns)
    assert list(cells["verdict"]) == list(kept["verdict"])
    claims = pd.read_csv(REFERENCE / "claims.csv")
    again = check_claims(run, published_cells(), kept_replications())
    assert list(again["verdict"]) == list(claims["verdict"])
    assert list(again["passed"]) == list(claims["passed"])


def test_trials_scored_after_the_choice_include_the_chosen_ones() -> None:
    """Their scores are those of the cells but for rounding: they were made before `portable_functions`."""
    run, searches = read_results(REFERENCE), read_searches([REFERENCE])
    means = run.cells.drop_duplicates(["dataset", "model", "metric", "g_tau"])
    means = means.set_index(["dataset", "model", "metric", "g_tau"])["mean"]
    for dataset, model in searches.searched:
        pool, cells = searches.pool(dataset, model)
        assert pool.valid.shape == (10, 100)
        expected = [means[(dataset, model, *cell)] for cell in cells]
        np.testing.assert_allclose(pool.mean(), expected, rtol=1e-7)


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


@pytest.mark.parametrize("kept", kept_runs(), ids=lambda path: path.name)
def test_every_kept_trial_may_be_used_again(kept: Path, tmp_path: Path) -> None:
    """By proofs of any kept run. Where this fails, a model was edited: `reference adopt` proves its rows the same."""
    config = replace(Config.of_run(kept), known=str(kept), known_numerics="any", device="cpu")
    store = Store(tmp_path, config)
    whys = Counter(map(store.why_not, read_trials(pd.read_parquet(kept / "trials.parquet"))))
    assert set(whys) == {""}, whys


def test_every_code_identity_is_a_commit(tmp_path: Path) -> None:
    """Of each kept run; the last one's files are unpacked and must give the fingerprint."""
    for folder in (REFERENCE, REFERENCE.with_name("beyond")):
        rows = pd.read_parquet(folder / "trials.parquet", columns=["model", "code"]).drop_duplicates()
        commits = pd.read_csv(folder / COMMITS).set_index("code")
        assert set(rows["code"]) == set(commits.index)
    one = rows.iloc[0]
    if not study._unpack(commits.loc[one["code"], "commit"], tmp_path):
        pytest.skip("this clone lacks the history")
    assert code.of_model(one["model"], root=tmp_path) == one["code"]


@pytest.mark.parametrize("key", TRIALS)
def test_a_trial_gives_its_row_again_to_the_last_bit(
    key: str, load_public: Callable[[str], Dataset], tmp_path: Path
) -> None:
    load_public("metabric")
    then = named(trials(), key)
    now = Again(REFERENCE, tmp_path).trial(then)
    if now.parts.numerics != "portable":
        pytest.skip(f"this machine computes {now.parts.numerics}")
    assert then.judge(now) == "identical"
    assert now.parts.data == then.parts.data
