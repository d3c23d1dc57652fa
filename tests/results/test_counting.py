"""Counted tests, ranks and their figures: against closed forms, scipy, published tables and the paper's asterisks."""

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from support.fake_run import write_run

from benchmarks.config import resolve
from benchmarks.report.figures import critical_difference as diagram
from benchmarks.report.figures import differences, heat_map
from benchmarks.report.figures.style import NothingToDraw, save, styled
from benchmarks.report.figures.view import View
from benchmarks.report.latex import Style
from benchmarks.report.page_context import mean_ranks
from benchmarks.report.summary_tables import rank_rows, render_ranks
from benchmarks.report.tables import write_all
from benchmarks.results.counting import corrected_interval, counted, counts, gains, holm
from benchmarks.results.folder import read_results
from benchmarks.results.names import model_order
from benchmarks.results.published import published_cells
from benchmarks.results.ranks import TooFew, critical_difference, rank_models
from benchmarks.results.statistics import compare, paired_t
from benchmarks.results.tidy import read_table

SIX = dict.fromkeys(("support", "metabric", "flchain", "gbsg2", "whas500", "aids"), "")
ALL = tuple(model_order(resolve({"tier": "beyond"}).models))


def view(folder: Path) -> View:
    return View(read_results(folder), published_cells())


def scores_of(values: dict[str, list[float]], metric: str = "ctd", g_tau: str = "1e-8", dataset: str = "support"):
    rows = [(dataset, m, i, metric, g_tau, v) for m, vs in values.items() for i, v in enumerate(vs, start=1)]
    return pd.DataFrame(rows, columns=["dataset", "model", "split", "metric", "g_tau", "value"])


def test_holm_by_hand() -> None:
    """Holm (1979): 4 x .01, 3 x .02 at least the former, 2 x .03, 1 x .04 raised to the one before."""
    np.testing.assert_allclose(holm([0.03, 0.01, 0.04, 0.02]), [0.06, 0.04, 0.06, 0.06])
    np.testing.assert_allclose(holm([0.5, np.nan, 0.9]), [1.0, np.nan, 1.0])
    assert len(holm([])) == 0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_rejects_what_its_step_down_rule_rejects(p: list[float]) -> None:
    """The k-th smallest is rejected while p_(k) < alpha / (m - k + 1); all after the first that is not are kept."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    rejected = set()
    for k, i in enumerate(order):
        if p[i] * (len(p) - k) >= 0.05:
            break
        rejected.add(i)
    assert {i for i, q in enumerate(holm(p)) if q < 0.05} == rejected


def test_the_interval_holds_zero_just_when_the_corrected_test_is_not_significant() -> None:
    rng = np.random.default_rng(0)
    for shift in np.linspace(0, 3, 40):
        values = rng.normal(shift, 1, 10)
        mean, low, high = corrected_interval(values)
        assert (low + high) / 2 == pytest.approx(mean)
        assert (low <= 0 <= high) == (paired_t(values)[4] >= 0.05)
    assert math.isnan(corrected_interval(np.array([0.1]))[1])


def test_gains_have_the_direction_of_the_metric() -> None:
    both = pd.concat(
        [scores_of({"soden": [0.6], "cox": [0.5]}), scores_of({"soden": [0.2], "cox": [0.1]}, metric="ibs")]
    )
    assert gains(both)["gain"].round(9).tolist() == [-0.1, 0.1]


def test_wins_ties_and_losses_are_per_split() -> None:
    scores = scores_of({"soden": [0.5, 0.6, 0.7, 0.8], "cox": [0.6, 0.6004, 0.6, math.nan]})
    row = counted(scores).iloc[0]
    assert (row["wins"], row["ties"], row["losses"], row["n_splits"]) == (1, 1, 1, 3)


def test_asterisks_are_counted_by_table() -> None:
    """Five baselines: 45 tests per data set, of which an asterisk each where the t-test says so; ablation 8 per set."""
    tests = counted(read_table(ROOT / "results" / "reference" / "scores.csv"))
    found = counts(tests).set_index("table")
    assert set(found.index) == {"metabric", "support", "ablation"}
    assert found.loc["support", "tests"] == found.loc["metabric", "tests"] == 45
    assert found.loc["ablation", "tests"] == 16
    cells = read_table(ROOT / "results" / "reference" / "cells.csv")
    for dataset in ("support", "metabric"):
        printed = cells[(cells["table"] == "main") & (cells["dataset"] == dataset)]
        printed = printed[printed["metric"].isin(["ctd", "ibll", "ibs"])]
        assert found.loc[dataset, "plain"] == printed["significant"].sum()
        assert found.loc[dataset, ["wins", "ties", "losses"]].sum() == 45 * 10
    assert (found["both"] <= found["corrected"]).all()
    assert (found["corrected"] <= found["plain"]).all()
    assert (found["holm"] <= found["plain"]).all()


def test_p_values_of_a_table_are_corrected_within_it() -> None:
    rng = np.random.default_rng(1)
    sets = []
    for dataset in ("support", "metabric"):
        soden = rng.normal(0.6, 0.01, 10)
        models = {
            m: list(soden + rng.normal(0.004 * k, 0.005, 10)) for k, m in enumerate(("cox", "deephit", "deepsurv"))
        }
        sets.append(scores_of({"soden": list(soden), **models}, dataset=dataset))
    scores = pd.concat(sets)
    tests = counted(scores)
    for dataset, part in tests.groupby("dataset"):
        theirs = compare(scores)
        plain = theirs[theirs["dataset"] == dataset].set_index("model")["p_value"]
        expected = dict(zip(plain.index, holm(plain), strict=True))
        assert part.set_index("model")["p_holm"].to_dict() == pytest.approx(expected)
    assert set(tests["table"]) == {"support", "metabric"}


def test_counting_is_written_as_csv_and_latex(tmp_path: Path) -> None:
    write_run(tmp_path / "run", {"support": "", "gbsg2": ""}, models=ALL, splits=4)
    run = read_results(tmp_path / "run")
    assert write_all(tmp_path / "out", run.cells, None, {}, run.scores)[-1] == "counting"
    tests = pd.read_csv(tmp_path / "out" / "counted_tests.csv")
    # On two data sets: 5 baselines x 9, ablation 2 x 4; beyond 13 x (3 metrics and NLL) each.
    assert tests.groupby("table").size().to_dict() == {"support": 45, "gbsg2": 45, "ablation": 16, "beyond": 104}
    assert list(pd.read_csv(tmp_path / "out" / "counting.csv")["table"]) == ["gbsg2", "support", "ablation", "beyond"]
    latex = (tmp_path / "out" / "counting.tex").read_text()
    assert re.search(r"GBSG2 & 45 & \d+ \(\d+\) & \d+ \(\d+\)", latex)
    assert "All models & 104 &" in latex


@pytest.mark.parametrize(
    ("models", "q"),
    # Demsar (2006), table 5(a): q_0.05 of the two-tailed Nemenyi test.
    [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (6, 2.850), (7, 2.949), (8, 3.031), (9, 3.102), (10, 3.164)],
)
def test_critical_differences_are_demsars(models: int, q: float) -> None:
    # The table has three decimals; its 2.850 and 2.949 are rounded in the last.
    assert critical_difference(models, 1) == pytest.approx(q * math.sqrt(models * (models + 1) / 6), abs=2e-3 * models)


def cells_of(means: dict[str, list[float]], metric: str = "ibs", g_tau: str = "1e-8") -> pd.DataFrame:
    rows = [(f"set{k}", model, metric, g_tau, v) for model, values in means.items() for k, v in enumerate(values)]
    return pd.DataFrame(rows, columns=["dataset", "model", "metric", "g_tau", "mean"])


def test_demsars_example() -> None:
    """Demsar (2006), table 6, four classifiers on 14 sets: ranks 3.143, 2, 2.893, 1.964, chi2 9.28, F 3.69, CD 1.25.

    Two values that both print .975 have ranks 2 and 3 there; a fourth decimal tells them apart here.
    """
    auc = {
        "c45": [0.763, 0.599, 0.954, 0.628, 0.882, 0.936, 0.661, 0.583, 0.775, 1.0, 0.94, 0.619, 0.972, 0.957],
        "c45_m": [0.768, 0.591, 0.971, 0.661, 0.888, 0.931, 0.668, 0.583, 0.838, 1.0, 0.962, 0.666, 0.981, 0.978],
        "c45_cf": [0.771, 0.590, 0.968, 0.654, 0.886, 0.916, 0.609, 0.563, 0.866, 1.0, 0.965, 0.614, 0.9751, 0.946],
        "c45_m_cf": [0.798, 0.569, 0.967, 0.657, 0.898, 0.931, 0.685, 0.625, 0.875, 1.0, 0.962, 0.669, 0.975, 0.970],
    }
    found = rank_models(cells_of(auc, metric="ctd"), "ctd")
    assert found.mean_ranks == pytest.approx(
        {"c45_m_cf": 1.964, "c45_m": 2.000, "c45_cf": 2.893, "c45": 3.143}, abs=1e-3
    )
    n, k = 14, 4
    # His formulas have no correction for ties, which scipy's has.
    plain = 12 * n / (k * (k + 1)) * (sum(r * r for r in found.mean_ranks.values()) - k * (k + 1) ** 2 / 4)
    assert plain == pytest.approx(9.28, abs=0.01)
    assert (n - 1) * plain / (n * (k - 1) - plain) == pytest.approx(3.69, abs=0.01)
    assert found.chi2 == pytest.approx(stats.friedmanchisquare(*auc.values()).statistic)
    assert 0.005 < found.p_value < stats.f.sf(3.69, 3, 39)
    assert found.critical_difference == pytest.approx(2.569 * math.sqrt(4 * 5 / (6 * 14)), abs=1e-3)


def test_ranks_follow_the_direction_and_share_ties() -> None:
    means = {"cox": [0.2, 0.2, 0.2], "soden": [0.1, 0.1, 0.2], "deephit": [0.3, 0.3, 0.3], "mtlr": [0.1, 0.2, np.nan]}
    found = rank_models(cells_of(means), "ibs")
    assert found.without == ("mtlr",)
    assert found.mean_ranks == pytest.approx({"soden": (1 + 1 + 1.5) / 3, "cox": (2 + 2 + 1.5) / 3, "deephit": 3.0})
    assert next(iter(found.mean_ranks)) == "soden"
    upwards = rank_models(cells_of(means, metric="ctd"), "ctd")
    assert list(upwards.mean_ranks) == ["deephit", "cox", "soden"]


def test_the_table_of_ranks_by_hand() -> None:
    """Three models always in the same order on three sets: ranks 1, 2, 3; CD 2.343 sqrt(12 / 18) = 1.91."""
    means = {"soden": [0.1, 0.1, 0.1], "cox": [0.2, 0.2, 0.2], "random_forest": [0.3, 0.3, 0.3]}
    cells = cells_of(means).assign(table="beyond")
    rows = rank_rows(cells)
    assert rows[["model", "mean_rank"]].values.tolist() == [["soden", 1.0], ["cox", 2.0], ["random_forest", 3.0]]
    assert rows["critical_difference"].iloc[0] == pytest.approx(1.913, abs=1e-3)
    latex = render_ranks(cells, Style())
    assert r"Cox & 2.0 \\" in latex
    assert r"SODEN & \textbf{1.0} \\" in latex
    assert r"critical difference & 1.9 \\" in latex
    with pytest.raises(ValueError, match=r"no ranks: .*ranks need at least 3 on 3"):
        rank_rows(cells[cells["model"] != "cox"])


def test_the_floor_alone_makes_no_difference_among_the_others() -> None:
    """Three models that take turns at being best have equal mean ranks, F = 0; with a floor below them p is small."""
    turns = {"cox": [0.1, 0.2, 0.3] * 2, "soden": [0.2, 0.3, 0.1] * 2, "deephit": [0.3, 0.1, 0.2] * 2}
    found = rank_models(cells_of(turns | {"kaplan_meier": [0.9] * 6}), "ibs")
    assert found.p_value < 0.01
    assert found.p_contenders == pytest.approx(1.0)
    alone = rank_models(cells_of(turns), "ibs")
    assert alone.p_value == alone.p_contenders


def test_the_page_ranks_models_where_some_are_not_the_papers(tmp_path: Path) -> None:
    """Only then: a run of the paper's own models has no section of ranks."""
    run = read_results(write_run(tmp_path / "run", SIX, models=ALL, splits=5, trials=2))
    found = mean_ranks(run)
    assert found is not None
    assert found["n"] == len(SIX)
    assert [row["model"] for row in found["rows"]][:2] == ["cox", "deepsurv"]
    for column, head in enumerate(found["heads"]):
        best = min(
            (row["cells"][column]["rank"], row["model"]) for row in found["rows"] if row["cells"][column]["rank"]
        )
        assert best[0] == pytest.approx(min(head["of"].mean_ranks.values()))
    paper = replace(run, cells=run.cells[run.cells["table"] != "beyond"])
    assert mean_ranks(paper) is None


def test_too_few_are_not_ranked() -> None:
    with pytest.raises(TooFew, match="ibs: 2 models have a score on all of 3 data sets; ranks need at least 3 on 3"):
        rank_models(cells_of({"cox": [0.1, 0.2, 0.3], "soden": [0.1, 0.2, 0.3]}), "ibs")


def test_cliques_are_the_largest_groups_within_the_critical_difference() -> None:
    """Four models always in the same order on three sets: ranks 1 to 4, CD 2.569 sqrt(20 / 18) = 2.71."""
    means = {name: [0.1 * k, 0.1 * k, 0.1 * k] for k, name in enumerate("abcd", start=1)}
    found = rank_models(cells_of(means), "ibs")
    assert found.critical_difference == pytest.approx(2.708, abs=1e-3)
    assert found.cliques == [("a", "b", "c"), ("b", "c", "d")]


@pytest.fixture(scope="module")
def six(tmp_path_factory: pytest.TempPathFactory) -> View:
    folder = write_run(tmp_path_factory.mktemp("run"), SIX, models=ALL, splits=5, trials=2)
    return view(folder)


def texts(drawing) -> str:
    return " ".join(t.get_text() for axes in drawing.figure.axes for t in axes.texts)


def test_differences_show_every_split(six: View) -> None:
    with styled():
        drawings = differences.draw(six)
    assert [d.name for d in drawings] == [f"differences_{name}" for name in SIX]
    panel = drawings[0].figure.axes[0]
    assert [label.get_text() for label in panel.get_yticklabels()][5:8] == ["GBM", "Kaplan-Meier", "MTLR"]
    dots = [line for line in panel.lines if line.get_marker() == "o"]
    assert len(dots) == len(ALL) - 2  # SODEN itself, and Kaplan-Meier off the scale
    assert all(len(line.get_xdata()) == 5 for line in dots)
    gained = gains(six.scores).query("dataset == 'support' and metric == 'ctd' and g_tau == '1e-8' and model == 'cox'")
    np.testing.assert_allclose(dots[0].get_xdata(), gained["gain"])


def test_a_model_far_off_is_named_and_does_not_flatten_the_others(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", {"gbsg2": ""}, models=ALL, splits=3, trials=1)
    with styled():
        [drawing] = differences.draw(view(folder))
    assert drawing.figure.axes[0].get_xlim()[0] > -0.2
    assert "← −0.6" in texts(drawing)


def test_ranks_are_drawn_where_there_are_data_sets_enough(six: View, tmp_path: Path) -> None:
    with styled():
        [drawing] = diagram.draw(six)
    assert len(drawing.figure.axes) == 4
    for model in ("RSF", "SuMo-net", "SODEN-Cox"):
        assert f"{model}  " in texts(drawing)
    assert "CD 8.1" in texts(drawing)  # 14 models on six sets: 3.354 sqrt(14 15 / 36)
    with pytest.raises(NothingToDraw, match="ranks need at least 3 on 3"):
        diagram.draw(view(write_run(tmp_path / "two", {"support": "", "gbsg2": ""})))


def test_the_heat_map_writes_every_mean(six: View, tmp_path: Path) -> None:
    with styled():
        [drawing] = heat_map.draw(six)
    ibs = six.cells[(six.cells["metric"] == "ibs") & (six.cells["g_tau"] == "1e-8")]
    written = [t.get_text() for t in drawing.figure.axes[0].texts]
    assert sorted(written) == sorted(f"{mean:.3f}" for mean in ibs["mean"])
    bold = [t.get_text() for t in drawing.figure.axes[0].texts if t.get_weight() == "bold"]
    assert set(bold) <= {f"{mean:.3f}" for mean in ibs.groupby("dataset")["mean"].min()}
    paths = save(drawing, tmp_path)
    assert {path.suffix for path in paths} == {".pdf", ".png"}
