"""Trials scored after the choice: which ones, that they come out as their rows say, that a stopped study goes on."""

import argparse
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from support.replications import write_replications

from benchmarks.data import Dataset
from benchmarks.results.replications import BEST_TRIALS, read_replications
from benchmarks.studies import best_trials, steps

REFERENCE = ROOT / "results" / "reference"


def test_wanted_are_the_best_of_the_pool_and_of_each_search(tmp_path: Path) -> None:
    searches = read_replications(write_replications(tmp_path, 3, models=("soden",), size=20))
    found = best_trials.wanted(searches, 4, 2)
    split = found[found["split"] == 5]
    trials = searches.trials[searches.trials["split"] == 5].sort_values("score", ascending=False)
    pool = set(trials.head(4)[["run", "trial"]].itertuples(index=False, name=None))
    own = set(trials.groupby("run").head(2)[["run", "trial"]].itertuples(index=False, name=None))
    assert set(split[["run", "trial"]].itertuples(index=False, name=None)) == pool | own


@pytest.fixture
def small(tmp_path: Path, load_public: Callable[[str], Dataset]) -> Path:
    """The reference cut down to five quick trials of one model on one split."""
    load_public("metabric")
    folder = tmp_path / "results" / "small"
    folder.mkdir(parents=True)
    for name in ("config.json", "datasets.csv", "conventions.csv"):
        shutil.copy(REFERENCE / name, folder / name)
    trials = pd.read_parquet(REFERENCE / "trials.parquet")
    trials = trials.query("dataset == 'metabric' and model == 'deepsurv' and split == 3").nsmallest(5, "cpu_seconds")
    trials.to_parquet(folder / "trials.parquet", index=False)
    return folder


def run(folder: Path, best: int) -> pd.DataFrame:
    parser = argparse.ArgumentParser()
    best_trials.add_arguments(parser)
    words = ["--run", str(folder), "--of-search", str(best), "--of-pool", str(best), "--jobs", "1"]
    assert best_trials.run(parser.parse_args(words)) == 0
    return pd.read_parquet(folder / BEST_TRIALS)


def test_trials_are_scored_by_both_conventions_once(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trials = pd.read_parquet(small / "trials.parquet").set_index("trial")
    first = run(small, 1)
    assert first["trial"].tolist() == [trials["score"].idxmax()]
    assert {name.split("/")[0] for name in first.columns if "/" in name} == {"published", "text"}
    both = run(small, 2)
    assert "1 trials to score, 1 are there already" in capsys.readouterr().out
    assert set(both["trial"]) == set(trials["score"].nlargest(2).index)
    again = both[both["trial"] == first["trial"].iloc[0]].reset_index(drop=True)
    pd.testing.assert_frame_equal(again, first)
    kept = pd.read_parquet(REFERENCE / BEST_TRIALS).merge(both, on=best_trials.TRIAL, suffixes=("", "_now"))
    for name in (c for c in kept.columns if c.endswith("_now")):  # those of the reference that were scored before
        np.testing.assert_allclose(kept[name], kept[name.removesuffix("_now")], rtol=1e-7)


def test_a_trial_that_comes_out_otherwise_is_not_scored(small: Path) -> None:
    trials = pd.read_parquet(small / "trials.parquet")
    trials["score"] += 0.01
    trials.to_parquet(small / "trials.parquet", index=False)
    with pytest.raises(ValueError, match=r"metabric/deepsurv/3/\d+ came out otherwise: different: .*score"):
        run(small, 1)


def test_a_step_function_is_constant_from_cut_to_cut() -> None:
    cuts = np.array([0.0, 1.0, 2.0])
    times = np.array([0.0, 0.3, 0.999, 1.0, 1.5, 2.0, 7.0])
    np.testing.assert_array_equal(steps.last_cut(cuts, times), [0, 0, 0, 1, 1, 2, 2])
