"""The yardstick on invented replications: what it must accept, what it must reject, and what it cannot judge yet."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.replications import LEVEL, write_replications

from benchmarks.results import pool, yardstick
from benchmarks.results.published import published_cells
from benchmarks.results.replications import (
    BEST_TRIALS,
    enough,
    how_many,
    read_replications,
    read_searches,
    replication_folders,
    unfinished,
)
from benchmarks.studies import yardstick as study


def rates(folder: Path, *per_split: Path, junk: tuple[Path, ...] = ()) -> pd.DataFrame:
    searches = read_replications(folder)
    made = study.error_rates(searches, yardstick.make_intervals(searches), per_split, junk)
    return pd.DataFrame(made, columns=study.COLUMNS).set_index(["what", "rule"])


def cells(folder: Path, shift: float) -> Path:
    """A run whose values are those of the invented searches moved."""
    rows = published_cells().query("dataset == 'metabric' and model in ['soden', 'deepsurv']")
    level = rows["metric"].map(LEVEL) + 0.02 * (rows["model"] == "deepsurv")
    folder.mkdir(parents=True)
    rows.assign(mean=level + shift).to_csv(folder / "cells.csv", index=False)
    return folder


def test_a_pool_has_the_scores_of_all_replications_in_their_order(tmp_path: Path) -> None:
    searches = read_replications(write_replications(tmp_path, 2, size=5))
    made, names = searches.pool("metabric", "soden")
    assert searches.names == ("1", "2")
    assert made.valid.shape == (10, 10)
    assert made.test.shape == (10, 10, 10)
    for r, seed in enumerate(searches.names):
        rows = pd.read_parquet(tmp_path / seed / "trials.parquet").query("model == 'soden' and split == 3")
        np.testing.assert_array_equal(made.valid[2, 5 * r : 5 * r + 5], rows["score"])
        best = pd.read_parquet(tmp_path / seed / BEST_TRIALS).query("model == 'soden' and split == 3")
        cell = names.index(("ibs", "0.4"))
        np.testing.assert_array_equal(made.test[cell, 2, 5 * r : 5 * r + 5], best["published/ibs/0.4"])
    # Each list's own mean, as its scores say it.
    part, _ = searches.pool("metabric", "soden", names=["2"])
    expected = searches.means().loc[("metabric", *names[0], "soden"), "2"]
    assert part.mean()[0] == pytest.approx(expected)


def test_a_trial_without_a_score_is_never_chosen(tmp_path: Path) -> None:
    folder = write_replications(tmp_path, 1, size=4)
    trials = pd.read_parquet(folder / "1" / "trials.parquet")
    trials.loc[trials["trial"] < 3, "status"] = "diverged"
    trials.to_parquet(folder / "1" / "trials.parquet")
    made, _ = read_replications(folder).pool("metabric", "soden")
    assert set(pool.draw_winners(made.valid, "shared", draws=20, size=4).ravel()) == {3}


@pytest.mark.parametrize("seeds", [0, 1, 4])
def test_fewer_than_five_replications_give_no_interval_and_no_error_rates(seeds: int, tmp_path: Path) -> None:
    folder = write_replications(tmp_path, seeds, size=5)
    assert yardstick.read_intervals(folder).empty
    assert yardstick.read_error_rates(folder) is None
    assert not enough(folder)
    assert how_many(folder) == f"{seeds} of 5 replications"
    with pytest.raises(ValueError, match=f"has {seeds} finished replications; the yardstick needs 5"):
        study.run(argument(folder))


def test_a_replication_in_progress_is_named_and_judges_nothing(tmp_path: Path) -> None:
    folder = write_replications(tmp_path, 5, models=("soden",), size=4)
    (folder / "5" / "conventions.csv").unlink()
    assert [path.name for path in replication_folders(folder)] == ["1", "2", "3", "4"]
    assert read_replications(folder).names == ("1", "2", "3", "4")
    assert unfinished(folder) == {"5": 40}
    assert how_many(folder) == "4 of 5 replications; 5 is unfinished (40 trials)"
    assert yardstick.read_intervals(folder).empty


def argument(folder: Path) -> object:
    import argparse

    return argparse.Namespace(folder=folder, per_split=[], junk=[])


def test_the_study_writes_what_the_report_reads(tmp_path: Path) -> None:
    folder = write_replications(tmp_path, 5, size=100)
    assert study.run(argument(folder)) == 0  # type: ignore[arg-type]
    kept = yardstick.read_intervals(folder)
    assert set(kept["replications"]) == {5}
    assert len(kept) == 2 * 10
    means = read_replications(folder).means()
    row = kept.iloc[0]
    own = means.loc[(row["dataset"], row["metric"], row["g_tau"], row["model"])]
    assert (row["mean_between"], row["sd_between"]) == (pytest.approx(own.mean()), pytest.approx(own.std(ddof=1)))
    assert (kept["low"] < kept["centre"]).all()
    assert (kept["high_per_split"] > kept["centre_per_split"]).all()
    found = yardstick.read_error_rates(folder)
    assert found is not None
    assert found["what"].str.startswith("each replication by the other 4").sum() == len(study.RULES)
    shutil.copytree(folder / "5", folder / "6")
    with pytest.raises(ValueError, match="is not made from the 6 replications"):
        yardstick.read_intervals(folder)


@pytest.mark.slow
@pytest.mark.parametrize("common", [0.2, 0.8])
def test_it_accepts_what_is_right_and_rejects_what_is_wrong(common: float, tmp_path: Path) -> None:
    """Twelve pools of five replications; a further shared list and a list per split are judged by them."""
    inside: dict[str, list[float]] = {"others": [], "shared": [], "per_split": [], "one": []}
    for k in range(12):
        folder = write_replications(tmp_path / str(k), 5, common=common, rng=100 * k)
        table = rates(folder, junk=(cells(tmp_path / f"junk-{k}", shift=0.05),))
        assert table.loc[(f"junk-{k}: far less search", "draws"), "share"] == 0
        assert table.loc[("another model's value", "draws"), "share"] == 0
        assert table.loc[("the metrics by the other convention", "draws"), "share"] == 0
        inside["others"].append(table.loc[("each replication by the other 4", "draws"), "share"])
        inside["one"].append(table.loc[("each replication by draws of 50 from another one", "one search"), "share"])
        kept = yardstick.make_intervals(read_replications(folder))
        for kind, end in (("shared", ""), ("per_split", "_per_split")):
            path = write_replications(tmp_path / f"{k}{kind}", 1, common=common, rng=1000 + k, lists=kind)
            new = read_searches([path / "1"])
            means = new.means()["1"].rename("value").reset_index()
            both = kept.merge(means, on=yardstick.KEY)
            inside[kind].append(both["value"].between(both[f"low{end}"], both[f"high{end}"]).mean())
    shares = {name: float(np.mean(values)) for name, values in inside.items()}
    assert 0.88 <= shares["others"] <= 1, shares
    assert 0.88 <= shares["shared"] <= 1, shares
    assert 0.88 <= shares["per_split"] <= 1, shares
    assert 0.75 <= shares["one"] <= 1, shares


def test_standard_errors_count_clusters() -> None:
    """Two clusters of equal values: the error is that of a mean of two numbers, not of eight."""
    values = np.array([1.0, 1, 1, 1, 0, 0, 0, 0])
    of_two = np.std([1, 0], ddof=1) / np.sqrt(2)
    assert study.clustered_error(values, ["a"] * 4 + ["b"] * 4) == pytest.approx(of_two)
    assert study.clustered_error(values, range(8)) == pytest.approx(np.std(values, ddof=1) / np.sqrt(8))
    assert np.isnan(study.clustered_error(values[:1], ["a"]))


def test_the_simple_rule_is_a_prediction_interval() -> None:
    from scipy.stats import t

    index = pd.MultiIndex.from_tuples([("d", "ctd", "0.4", "m")])
    means = pd.DataFrame([[0.64, 0.65, 0.66, 0.65, 0.65]], index=index)
    [(key, where)] = study.simple(means, "t").items()
    half = t.ppf(0.975, 4) * np.sqrt(0.00005) * np.sqrt(1.2) + 0.0005
    assert key == ("d", "m", "ctd", "0.4")
    assert (where.low, where.high) == (pytest.approx(0.65 - half), pytest.approx(0.65 + half))


def test_folders_that_are_no_replications_of_each_other_are_refused(tmp_path: Path) -> None:
    folder = write_replications(tmp_path, 2, size=5)
    path = folder / "2" / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps(config | {"training": {"max_epochs": 3}}))
    with pytest.raises(ValueError, match=r"2 is no replication of 1: training: .*3.* instead of .*100"):
        read_replications(folder)
    path.write_text(json.dumps(config))
    trials = pd.read_parquet(folder / "2" / "trials.parquet")
    trials[trials["trial"] < 4].to_parquet(folder / "2" / "trials.parquet")
    with pytest.raises(ValueError, match="do not all have the same models, splits and trials"):
        read_replications(folder)


def test_best_trials_that_were_not_scored_are_an_error(tmp_path: Path) -> None:
    folder = write_replications(tmp_path, 2, size=100)
    best = pd.read_parquet(folder / "2" / BEST_TRIALS)
    best[best["trial"] > 50].to_parquet(folder / "2" / BEST_TRIALS)
    with pytest.raises(ValueError, match=r"a chosen trial has no test score; score more of them"):
        yardstick.make_intervals(read_replications(folder))


def test_departures_are_said_in_words() -> None:
    protocol = {"training": {"max_epochs": 100, "clip": 100.0}, "evaluation": {"convention": "published"}}
    run = {"training": {"max_epochs": 3, "clip": 100.0, "new": 1}, "evaluation": {"convention": "text"}}
    said = yardstick.departures(run, protocol)
    assert said == ["max_epochs 3 instead of 100", "convention text instead of published"]
    assert yardstick.departures(protocol, protocol) == []
