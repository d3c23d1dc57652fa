"""Agreement with the published cells: closed forms, and the paper's own cells against themselves."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.run_folder import write_run

from benchmarks.report.agreement import agreement, counts, distance, signed_differences, yardsticks
from benchmarks.results.folder import read_results
from benchmarks.results.published import published_cells

KEY = {"table": "main", "dataset": "support", "model": "cox", "metric": "ctd", "g_tau": "0.4"}


def one(mean: float, error: float, *, status: str = "ok", mark: str = "", n: int = 10) -> pd.Series:
    """The row for a published cell of 0 ± 0.375 and ours."""
    paper = pd.DataFrame([{**KEY, "mean": 0.0, "standard_error": 0.375}])
    ours = {
        **KEY,
        "mean": mean,
        "standard_error": error,
        "n_splits": n,
        "n_planned": 10,
        "n_trials": 5,
        "status": status,
    }
    return agreement(paper, pd.DataFrame([ours]), {"support": mark} if mark else {}).iloc[0]


@pytest.mark.parametrize(
    ("mean", "verdict"),
    [(1.25, "agrees"), (-1.25, "agrees"), (1.26, "drifts"), (2.5, "drifts"), (-2.5, "drifts"), (2.51, "differs")],
)
def test_verdicts_change_at_two_and_four_combined_standard_errors(mean: float, verdict: str) -> None:
    """Errors of 0.375 and 0.5 combine to 0.625 (3-4-5), exact in binary."""
    row = one(mean, 0.5)
    assert row["verdict"] == verdict
    assert row["difference"] == mean
    assert row["standard_errors"] == pytest.approx(mean / 0.625, abs=1e-15)


@pytest.mark.parametrize(
    ("changes", "verdict", "why"),
    [
        ({"status": "failed"}, "failed", "no trial of this model gave a score"),
        ({"status": "missing"}, "not run", ""),
        ({"status": "not_applicable"}, "not run", ""),
        ({"mark": "synthetic"}, "not comparable", "made from synthetic data"),
        ({"status": "partial", "n": 7}, "agrees", "on 7 of 10 planned splits"),
    ],
)
def test_what_cannot_be_compared_says_why(changes: dict[str, object], verdict: str, why: str) -> None:
    row = one(0.0, 0.5, **changes)  # type: ignore[arg-type]
    assert (row["verdict"], row["why"]) == (verdict, why)
    assert math.isnan(row["difference"]) == (verdict != "agrees")


def test_one_split_has_no_error_bar_and_no_verdict() -> None:
    assert tuple(one(0.0, math.nan, n=1)[["verdict", "why"]]) == ("not comparable", "one split has no error bar")


def test_the_paper_agrees_with_itself_and_the_counts_are_its_tables() -> None:
    table = counts(agreement(published_cells(), published_cells(), {})).set_index("table")
    # Models by truncations by metrics; the ablation has 4 rows for 2 variants, and for 3 on three data sets.
    expected = {"MIMIC-SEQ": 5 * 9, "MIMIC": 6 * 9, "SUPPORT": 6 * 9, "METABRIC": 6 * 9, "Ablation": 4 * 2 + 3 * 4 * 3}
    assert table["agrees"].to_dict() == expected | {"All": 251}
    assert table["largest_gap"].max() == 0


def test_cells_of_a_run_are_counted_and_marked_data_never(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "made", ("support", "mimic"), n=5, marks={"mimic": "synthetic"})
    run = read_results(folder)
    table = counts(agreement(published_cells(), run.cells, run.marks)).set_index("table")
    assert table.loc["SUPPORT", "agrees"] == 54
    assert table.loc["SUPPORT", "largest_gap"] == pytest.approx(0, abs=1e-12)
    assert table.loc["MIMIC", "not comparable"] == 54
    assert table.loc["METABRIC", "not run"] == 54
    assert table.loc["Ablation", ["agrees", "not comparable", "not run"]].tolist() == [12, 12, 20]
    assert table.loc["All", "agrees"] == 54 + 12


def test_a_shifted_cell_drifts_by_what_it_was_shifted(tmp_path: Path) -> None:
    shift = 3 * math.hypot(0.003, 0.003)  # SODEN's C on SUPPORT is published as 0.627 ± 0.003
    run = read_results(write_run(tmp_path / "made", shift={("support", "soden", "ctd", "1e-8"): shift}))
    rows = agreement(published_cells(), run.cells, {})
    moved = rows[rows["verdict"] == "drifts"]
    assert moved["table"].tolist() == ["main", "ablation"]
    assert moved["standard_errors"].tolist() == pytest.approx([3, 3])
    assert moved["n_splits"].tolist() == [10, 10]
    assert moved["n_trials"].tolist() == [3, 3]


@pytest.mark.parametrize(
    ("gap", "word"), [(0.005, "close"), (-0.0050001, "near"), (0.01, "near"), (-0.0101, "far"), (float("nan"), "")]
)
def test_the_difference_itself_is_a_yardstick(gap: float, word: str) -> None:
    assert distance(gap) == word


def test_three_yardsticks_are_counted_and_a_model_off_throughout_is_one_finding() -> None:
    cells = published_cells()
    ours = cells.assign(status="ok", mean=cells["mean"] + np.where(cells["model"] == "cox_time", 0.008, 0.0))
    keys = ["dataset", "model", "metric", "g_tau"]
    search = cells.drop_duplicates(keys)[keys].assign(search_error=0.002)
    search = search[search["dataset"] == "support"]
    rows = agreement(cells, ours, {}, search)
    found = yardsticks(rows)
    n_off = int((cells["model"] == "cox_time").sum())
    assert (found["compared"], found["near"], found["far"]) == (251, n_off, 0)
    assert found["close"] == 251 - n_off
    on_support = cells["dataset"] == "support"
    assert found["searched"] == int(on_support.sum())
    # 0.008 is more than 2 sqrt(2) x 0.002, nothing else is off.
    assert found["searched"] - found["within_search"] == int((on_support & (cells["model"] == "cox_time")).sum())
    signed = signed_differences(rows).set_index(["dataset", "model"])
    assert signed.loc[("support", "cox_time"), ["ctd", "ibll", "ibs"]].to_numpy(float) == pytest.approx([0.008] * 3)
    assert abs(signed.drop(index="cox_time", level="model")["ctd"].dropna()).max() < 1e-12
