"""Means, standard errors, marks and t-tests: against scipy, closed forms worked by hand, and the paper's own marks."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from benchmarks.results.published import published_cells
from benchmarks.results.statistics import CELLS, TESTS, compare, paired_t, summarise
from benchmarks.results.tidy import canonical_g_tau, read_table, tidy_scores

COLUMNS = ["dataset", "model", "split", "metric", "g_tau", "value"]


def scores_of(values: dict[str, list[float]], metric: str = "ctd", g_tau: str = "0.2", dataset: str = "support"):
    """One row per model and split; splits count from 1."""
    rows = [(dataset, m, i, metric, g_tau, v) for m, vs in values.items() for i, v in enumerate(vs, start=1)]
    return pd.DataFrame(rows, columns=COLUMNS)


def cell(cells: pd.DataFrame, model: str, table: str = "main", **where: str) -> pd.Series:
    chosen = cells[(cells["model"] == model) & (cells["table"] == table)]
    for name, value in where.items():
        chosen = chosen[chosen[name] == value]
    assert len(chosen) == 1
    return chosen.iloc[0]


def trials_of(rows: list[tuple[str, int, int, str]]) -> pd.DataFrame:
    return pd.DataFrame([("support", *r) for r in rows], columns=["dataset", "model", "split", "trial", "status"])


values = st.lists(st.tuples(*[st.floats(-1, 1)] * 2), min_size=3, max_size=12)


@settings(deadline=None, max_examples=50)
@given(pairs=values, ratio=st.floats(0, 1))
def test_the_paired_t_test_is_scipys(pairs: list[tuple[float, float]], ratio: float) -> None:
    a, b = np.round(np.array(pairs), 3).T  # scores differ in the third decimal, not by rounding noise
    assume(np.ptp(a - b) > 1e-9)  # the constant cases have their own test
    mean, t, df, p, corrected = paired_t(a - b, ratio)
    expected = stats.ttest_rel(a, b)
    assert (mean, df) == (pytest.approx(float((a - b).mean())), len(a) - 1)
    assert (t, p) == (pytest.approx(expected.statistic, rel=1e-6), pytest.approx(expected.pvalue, rel=1e-6, abs=1e-300))
    assert corrected >= p  # a larger variance can only weaken the evidence


def test_nadeau_bengio_by_hand() -> None:
    """Differences 1, 2, 3: mean 2, variance 1; with two degrees of freedom p = 1 - |t| / sqrt(t^2 + 2)."""
    mean, t, df, p, corrected = paired_t(np.array([1.0, 2.0, 3.0]), 1 / 3)
    assert (mean, df) == (2.0, 2)
    assert t == pytest.approx(math.sqrt(12))  # 2 / sqrt(1/3)
    assert p == pytest.approx(1 - math.sqrt(12 / 14))
    assert corrected == pytest.approx(1 - math.sqrt(6 / 8))  # t = 2 / sqrt(1/3 + 1/3) = sqrt(6)


def test_equal_constant_and_too_few_differences() -> None:
    assert paired_t(np.zeros(4)) == (0.0, 0.0, 3, 1.0, 1.0)
    assert paired_t(np.full(4, 0.5)) == (0.5, math.inf, 3, 0.0, 0.0)
    mean, t, df, p, corrected = paired_t(np.array([0.5]))
    assert (mean, df) == (0.5, 0)
    assert all(map(math.isnan, (t, p, corrected)))
    assert math.isnan(paired_t(np.array([]))[0])


def test_compare_pairs_only_common_splits() -> None:
    scores = scores_of({"soden": [0.60, 0.61, 0.64, 0.66], "cox": [0.58, 0.60, math.nan, 0.61]})
    scores = pd.concat([scores, scores_of({"deephit": [0.7]})])
    tests = compare(scores).set_index("model")
    expected = stats.ttest_rel([0.58, 0.60, 0.61], [0.60, 0.61, 0.66])
    assert list(tests.reset_index()[TESTS].columns) == TESTS
    assert tests.loc["cox", "n_splits"] == 3
    assert tests.loc["cox", "difference"] == pytest.approx(-0.08 / 3)
    assert tests.loc["cox", "p_value"] == pytest.approx(expected.pvalue)
    assert tests.loc["deephit", "n_splits"] == 1
    assert math.isnan(tests.loc["deephit", "p_value"])
    assert "soden" not in tests.index


def test_without_the_reference_there_are_no_tests() -> None:
    scores = scores_of({"cox": [0.5, 0.6]})
    assert compare(scores).empty
    assert math.isnan(cell(summarise(scores), "cox")["p_value"])


def test_mean_standard_error_and_significance_by_hand() -> None:
    cells = summarise(scores_of({"soden": [0.6, 0.7, 0.8], "cox": [0.5, 0.6, 0.69]}))
    assert list(cells.columns) == CELLS
    ours = cell(cells, "soden")
    assert ours["mean"] == pytest.approx(0.7)
    assert ours["standard_error"] == pytest.approx(0.1 / math.sqrt(3))  # sd with ddof 1 is 0.1
    assert not ours["significant"]
    assert math.isnan(ours["p_value"])
    cox = cell(cells, "cox")
    assert cox["significant"]
    assert cox["p_value"] == pytest.approx(stats.ttest_rel([0.5, 0.6, 0.69], [0.6, 0.7, 0.8]).pvalue)
    assert cox["p_corrected"] > cox["p_value"]


def test_the_asterisk_is_the_plain_test_as_in_the_paper() -> None:
    """t = 4.12 with three degrees of freedom is significant, its corrected 2.70 is not."""
    cells = summarise(scores_of({"soden": [0.6, 0.6, 0.6, 0.6], "cox": [0.61, 0.62, 0.635, 0.62]}))
    cox = cell(cells, "cox")
    assert cox["p_value"] < 0.05 < cox["p_corrected"]
    assert cox["significant"]


def test_marks_equal_the_papers_in_all_251_cells() -> None:
    """The published means, as scores of a single split, are marked as the paper marks them."""
    paper = published_cells()
    scores = paper.assign(value=paper["mean"], split=1)[COLUMNS].drop_duplicates()
    key = ["table", "dataset", "model", "metric", "g_tau"]
    both = paper.merge(summarise(scores), on=key, suffixes=("_paper", ""))
    assert len(both) == 251
    assert (both["mark"] == both["mark_paper"]).all()


def test_marks_follow_the_printed_digits_and_the_direction() -> None:
    near = {"soden": [0.6874], "deephit": [0.6866], "cox": [0.6]}  # both print 0.687: two best, no second
    assert list(summarise(scores_of(near)).query("table == 'main'").sort_values("model")["mark"]) == [
        "",
        "best",
        "best",
    ]
    lower = summarise(scores_of({"soden": [0.2], "cox": [0.1]}, metric="ibs"))
    assert (cell(lower, "cox")["mark"], cell(lower, "soden")["mark"]) == ("best", "second")
    unknown = summarise(scores_of({"soden": [0.2], "cox": [0.1]}, metric="something_new"))
    assert set(unknown["mark"]) == {""}


def test_likelihoods_are_ranked_in_the_ablation_only() -> None:
    cells = summarise(scores_of({"soden": [0.4], "soden_ph": [0.5], "deephit": [3.0]}, metric="nll", g_tau=""))
    assert set(cells[cells["table"] == "main"]["mark"]) == {""}
    assert cell(cells, "soden", "ablation")["mark"] == "best"
    assert cell(cells, "soden_ph", "ablation")["mark"] == "second"
    assert "soden_ph" not in set(cells[cells["table"] == "main"]["model"])


def test_nothing_is_dropped_or_averaged_in_silently() -> None:
    scores = pd.concat(
        [
            scores_of({"soden": [0.6, 0.7, 0.8], "cox": [0.5, math.nan, 0.6], "deephit": [math.nan] * 3}),
            scores_of({"soden": [0.4, 0.5, 0.6]}, metric="nll", g_tau=""),
        ]
    )
    trials = trials_of([("cox_time", s, t, "diverged") for s in (1, 2) for t in (0, 1)] + [("deepsurv", 1, 0, "ok")])
    planned = pd.DataFrame({"dataset": ["support"], "model": ["nnet_survival"], "n_splits": [3]})
    cells = summarise(scores, trials, planned=planned)
    found = {m: cell(cells, m, metric="ctd") for m in set(cells["model"])}
    assert {m: c["status"] for m, c in found.items()} == {
        "soden": "ok",
        "cox": "partial",
        "deephit": "failed",  # scored, never with a number
        "cox_time": "failed",  # tried, and every trial diverged
        "deepsurv": "missing",  # tried, not scored yet
        "nnet_survival": "missing",  # planned, never tried
    }
    assert (found["cox"]["n_splits"], found["cox"]["n_planned"]) == (2, 3)
    assert found["cox"]["mean"] == pytest.approx(0.55)
    assert math.isnan(found["deephit"]["mean"])
    assert found["deephit"]["mark"] == ""
    assert cell(cells, "cox", metric="nll")["status"] == "not_applicable"


def test_a_data_set_without_any_score_still_has_its_cells() -> None:
    trials = trials_of([("cox", 1, 0, "failed")])
    empty = pd.DataFrame(columns=COLUMNS)
    cells = summarise(empty, trials)
    assert len(cells) == 10  # three metrics at three truncations, and nll
    assert set(cells["status"]) == {"failed"}


def test_trials_are_counted_on_the_split_that_had_fewest() -> None:
    rows = [("soden", 1, t, "ok") for t in range(5)] + [("soden", 2, t, "diverged") for t in range(3)]
    rows += [("soden", 3, 0, "ok")]  # running, not scored: it says nothing about the cell
    cells = summarise(scores_of({"soden": [0.6, 0.7]}), trials_of(rows))
    assert cell(cells, "soden")["n_trials"] == 3
    assert cell(cells, "soden")["status"] == "partial"
    assert math.isnan(cell(summarise(scores_of({"soden": [0.6]})), "soden")["n_trials"])


def test_row_order_does_not_matter() -> None:
    scores = scores_of({"soden": [0.61, 0.72, 0.8], "cox": [0.5, 0.6, 0.69]})
    key = ["table", "model"]
    first, second = (summarise(s).sort_values(key).reset_index(drop=True) for s in (scores, scores.iloc[::-1]))
    pd.testing.assert_frame_equal(first, second)


def test_scores_are_checked_at_the_door() -> None:
    scores = scores_of({"soden": [0.6]})
    with pytest.raises(ValueError, match=r"scores lack the columns g_tau; wanted dataset, .*value, got dataset, model"):
        tidy_scores(scores.drop(columns="g_tau"))
    with pytest.raises(ValueError, match=r"1 rows that name a score a second time \(first: dataset='support'.*one row"):
        tidy_scores(pd.concat([scores, scores]))
    with pytest.raises(ValueError, match="trials lack the columns trial"):
        summarise(scores, pd.DataFrame(columns=["dataset", "model", "split"]))
    with pytest.raises(ValueError, match="planned runs lack the columns n_splits"):
        summarise(scores, planned=pd.DataFrame(columns=["dataset", "model"]))


@pytest.mark.parametrize(
    ("given", "wanted"), [(1e-8, "1e-8"), ("1e-08", "1e-8"), ("0.20", "0.2"), (0.4, "0.4"), (math.nan, ""), ("", "")]
)
def test_truncations_have_one_spelling(given: object, wanted: str) -> None:
    assert canonical_g_tau(given) == wanted


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_tables_survive_a_round_trip_through_files(tmp_path: Path, suffix: str) -> None:
    scores = pd.concat([scores_of({"soden": [0.6, 0.7]}, g_tau="1e-8"), scores_of({"soden": [1.0, 2.0]}, "nll", "")])
    path = tmp_path / f"scores{suffix}"
    scores.to_csv(path, index=False) if suffix == ".csv" else scores.to_parquet(path, index=False)
    pd.testing.assert_frame_equal(tidy_scores(read_table(path)), tidy_scores(scores.reset_index(drop=True)))
