"""Verdicts on published values: closed forms, the paper's own cells against themselves, and what gets no verdict."""

import math
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from support.run_folder import write_run

from benchmarks.report import agreement as module
from benchmarks.report.agreement import Yardstick, agreement, counts, judge, signed_differences, tally
from benchmarks.results import yardstick
from benchmarks.results.folder import read_results
from benchmarks.results.pool import Interval
from benchmarks.results.published import published_cells

KEY = {"table": "main", "dataset": "support", "model": "soden", "metric": "ctd", "g_tau": "0.4"}


def intervals(published: pd.DataFrame, n: int = 5, **columns: float) -> pd.DataFrame:
    """Intervals around the published values, but for what is given."""
    cells = published.drop_duplicates(yardstick.KEY)
    made = cells[yardstick.KEY].assign(replications=n, mean_between=cells["mean"], sd_between=0.002)
    for end in ("", "_per_split"):
        made[f"centre{end}"] = cells["mean"]
        made[f"low{end}"], made[f"high{end}"] = cells["mean"] - 0.004, cells["mean"] + 0.004
    return made.assign(**columns)[yardstick.COLUMNS]


def one(published: float = 0.65, by: Yardstick | None = None, mark: str = "", **ours: object) -> pd.Series:
    """The row of a published cell and ours, judged by five replications that give .645 to .656 unless told."""
    paper = pd.DataFrame([{**KEY, "mean": published, "standard_error": 0.003}])
    cell = {**KEY, "mean": 0.652, "standard_error": 0.004, "n_splits": 10, "n_planned": 10, "n_trials": 100}
    cell |= {"status": "ok", **ours}
    paper = paper.assign(**{k: v for k, v in ours.items() if k in KEY})
    each = {"centre_per_split": 0.65, "low_per_split": 0.649, "high_per_split": 0.6505}
    made = intervals(paper, centre=0.65, low=0.645, high=0.656, **each)
    by = by or Yardstick(made, 5, {("support", "soden", "ctd", "0.4"): 83.0})
    return agreement(paper, pd.DataFrame([cell]), {"support": mark} if mark else {}, by).iloc[0]


@pytest.mark.parametrize(
    ("published", "verdict"),
    [(0.645, "reproduced"), (0.656, "reproduced"), (0.6449, "different"), (0.657, "different"), (0.639, "different")],
)
def test_the_published_value_is_judged_by_the_interval_of_the_replications(published: float, verdict: str) -> None:
    row = one(published)
    assert row["verdict"] == verdict
    assert row["half_width"] == pytest.approx(0.006)
    assert row["difference"] == pytest.approx(0.652 - published)
    assert row["standard_errors"] == pytest.approx((0.652 - published) / 0.005)  # errors of .003 and .004
    assert (row["percentile"], row["replications"]) == (83.0, 5)
    assert row["verdict_per_split"] == ("close" if published == 0.645 else "different")


def test_the_runs_own_value_does_not_move_the_verdict() -> None:
    assert one(mean=0.9)["verdict"] == one()["verdict"] == "reproduced"


def test_a_wide_interval_is_no_agreement() -> None:
    paper = pd.DataFrame([{**KEY, "mean": 0.65}])
    wide = Yardstick(intervals(paper, centre=0.65, low=0.6, high=0.7), 5)
    assert one(0.65, wide)["verdict"] == "cannot tell"


@pytest.mark.parametrize(
    ("ours", "verdict", "why"),
    [
        ({"status": "failed"}, "failed", "no trial of this model gave a score"),
        ({"status": "missing"}, "not run", ""),
        ({"status": "missing", "dataset": "mimic"}, "not run", "needs credentialed data"),
        ({"mark": "synthetic"}, "not comparable", "made from synthetic data"),
        ({"n_trials": 10}, "no verdict", "10 trials instead of 100"),
        ({"n_splits": 2, "n_planned": 2}, "no verdict", "2 splits instead of 10"),
        ({"n_splits": 7, "n_trials": 3}, "no verdict", "3 trials instead of 100; 7 splits instead of 10"),
    ],
)
def test_what_gets_no_verdict_says_why(ours: dict[str, object], verdict: str, why: str) -> None:
    row = one(**ours)  # type: ignore[arg-type]
    assert (row["verdict"], row["why"]) == (verdict, why)
    assert math.isnan(row["difference"]) == (verdict != "no verdict")


@pytest.mark.parametrize("kept", [0, 1, 4])
def test_with_fewer_than_five_replications_there_is_a_difference_and_no_verdict(kept: int) -> None:
    row = one(by=Yardstick(replications=kept))
    assert (row["verdict"], row["why"]) == ("no verdict", f"{kept} of 5 replications")
    assert row["difference"] == pytest.approx(0.002)


def test_training_other_than_the_replications_gets_no_verdict() -> None:
    by = Yardstick(intervals(pd.DataFrame([{**KEY, "mean": 0.65}])), 5, departures=("max_epochs 3 instead of 100",))
    assert tuple(one(by=by)[["verdict", "why"]]) == ("no verdict", "max_epochs 3 instead of 100")


@pytest.mark.parametrize(("gap", "verdict"), [(0.0015, "reproduced"), (0.0016, "close"), (0.0051, "different")])
def test_cox_has_no_search_and_is_judged_by_itself(gap: float, verdict: str) -> None:
    """Also without replications, and whatever their intervals are."""
    for by in (None, Yardstick()):
        assert one(0.65, by, model="cox", mean=0.65 + gap, n_trials=1)["verdict"] == verdict


def test_data_without_replications_are_judged_by_draws_from_one_search() -> None:
    here = {"dataset": "mimic", "n_splits": 5, "n_planned": 5}
    where = Interval(0.651, 0.648, 0.655, 0.0)
    own = Yardstick(own={("mimic", "soden", "ctd", "0.4"): where})
    assert tuple(one(0.65, own, **here)[["verdict", "why"]]) == (
        "one search",
        "published value inside 0.648 to 0.655, of draws from this search",
    )
    assert "outside" in one(0.66, own, **here)["why"]
    assert "were not scored" in one(0.65, Yardstick(), **here)["why"]


def test_counts_are_of_distinct_values_and_cox_is_apart(tmp_path: Path) -> None:
    """Models by truncations by metrics; the ablation has 4 rows for 2 variants, and for 3 on three data sets."""
    published = published_cells()
    run = read_results(write_run(tmp_path / "made", trials=100))
    rows = agreement(published, run.cells, {}, Yardstick(intervals(published), 5))
    table = counts(rows).set_index("table")
    entries = {"MIMIC-SEQ": 5 * 9, "MIMIC": 6 * 9, "SUPPORT": 6 * 9, "METABRIC": 6 * 9, "Ablation": 4 * 2 + 3 * 4 * 3}
    assert table["cells"].to_dict() == entries | {"All": 251}
    assert table["reproduced"].to_dict() == {
        "MIMIC-SEQ": 0, "MIMIC": 0, "SUPPORT": 54, "METABRIC": 54, "Ablation": 24, "All": 132
    }  # fmt: skip
    found = tally(rows)
    assert (found.entries, found.values, found.tried, found.credentialed) == (251, 239, 126, 113)
    assert (found.searched, found.unsearched) == ({"reproduced": 108}, {"reproduced": 18})
    assert found.replications == 5


def test_a_shifted_cell_is_counted_once_and_judged_twice(tmp_path: Path) -> None:
    published = published_cells()
    made = intervals(published)
    moved = (made[yardstick.KEY] == ["support", "soden", "ctd", "1e-8"]).all(axis=1)
    made.loc[moved, ["centre", "low", "high"]] += 0.02
    run = read_results(write_run(tmp_path / "made", trials=100))
    rows = agreement(published, run.cells, {}, Yardstick(made, 5))
    assert rows.loc[rows["verdict"] == "different", "table"].tolist() == ["main", "ablation"]
    assert tally(rows).searched == {"reproduced": 107, "different": 1}


def test_the_quick_tier_gets_no_verdicts(tmp_path: Path) -> None:
    published = published_cells()
    run = read_results(write_run(tmp_path / "made", n=2, trials=2))
    rows = agreement(published, run.cells, {}, Yardstick(intervals(published), 5))
    assert set(rows["verdict"]) == {"no verdict", "not run"}
    assert rows["low"].notna().any()  # shown beside the interval


def test_a_run_is_judged_by_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = read_results(write_run(tmp_path / "made", trials=100))
    monkeypatch.setattr(module, "replication_folders", list)
    monkeypatch.setattr(yardstick, "replication_folders", lambda folder: [])
    rows = judge(run, published_cells())
    assert set(rows["verdict"]) == {"no verdict", "reproduced", "not run"}
    assert set(rows.loc[rows["verdict"] == "reproduced", "model"]) == {"cox"}
    assert tally(rows).searched == {"no verdict": 108}
    departed = replace(run, config={**run.config, "training": {**run.config["training"], "max_epochs": 3}})
    assert tally(judge(departed, published_cells())).unsearched == {"reproduced": 18}


def test_a_model_off_throughout_is_one_finding() -> None:
    cells = published_cells()
    ours = cells.assign(mean=cells["mean"] + (cells["model"] == "cox_time") * 0.008, n_trials=100)
    signed = signed_differences(agreement(cells, ours, {})).set_index(["dataset", "model"])
    assert signed.loc[("support", "cox_time"), ["ctd", "ibll", "ibs"]].to_numpy(float) == pytest.approx([0.008] * 3)
    assert abs(signed.drop(index="cox_time", level="model")["ctd"].dropna()).max() < 1e-12
