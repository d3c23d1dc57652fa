"""Tables of metrics that the paper does not have: by hand-made scores whose best and direction are known."""

from pathlib import Path

import pandas as pd
from support.run_folder import write_run

from benchmarks.report.grid import metric_grid, other_metrics
from benchmarks.report.latex import Style
from benchmarks.report.page_context import metric_tables
from benchmarks.report.tables import contents, render, twin
from benchmarks.results.folder import read_results
from benchmarks.results.statistics import summarise


def cells() -> pd.DataFrame:
    """SODEN, a variant and a model of nobody's; D-calibration (lower is better), Uno's C (higher) twice truncated."""
    rows = [
        ("support", model, split, metric, g_tau, value + 0.01 * split)
        for model, shift in {"soden": 0.0, "mine": 0.1, "soden_ph": 0.05}.items()
        for metric, g_tau, value in (("dcal", "", 5 + shift), ("uno", "0.2", 0.6 + shift), ("uno", "0.4", 0.5 + shift))
        for split in (1, 2)
    ]
    return summarise(pd.DataFrame(rows, columns=["dataset", "model", "split", "metric", "g_tau", "value"]))


def test_every_metric_beyond_the_papers_has_a_table() -> None:
    assert other_metrics(pd.concat([cells(), cells().assign(metric="ctd")])) == ["dcal", "uno"]
    found = contents(cells(), None, {})
    assert [name for name in found if name.startswith("metric_")] == ["metric_dcal", "metric_uno"]


def test_marks_follow_the_direction_of_the_metric() -> None:
    marks = {name: dict(metric_grid(name).rows(cells())[["model", "mark"]].to_numpy()) for name in ("dcal", "uno")}
    assert marks == {
        "dcal": {"mine": "", "soden": "best", "soden_ph": "second"},
        "uno": {"mine": "best", "soden": "", "soden_ph": "second"},
    }
    main = cells().query("table != 'beyond'")  # without the other model: the main tables', which have no variants
    assert dict(metric_grid("uno").rows(main)[["model", "mark"]].to_numpy()) == {"soden": "best"}


def test_the_latex_has_a_block_per_truncation_and_says_what_is_better() -> None:
    text = render(cells(), "metric_uno", Style(labels={"mine": "A_b"}))
    assert r"$0.2$ & A\_b & $\textbf{0.715} \pm \small{.005*}$ \\" in text
    assert r"$0.4$ & A\_b" in text
    assert "Uno C (higher is better)" in text
    assert "D-calibration (lower is better)" in render(cells(), "metric_dcal")
    assert list(twin(cells(), "metric_uno")["g_tau"].unique()) == ["0.2", "0.4"]


def test_the_page_has_what_the_run_has_and_d_calibration_elsewhere(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "made", n=3, marks={"metabric": "demo"})
    assert metric_tables(read_results(folder)) == []
    cells().to_csv(folder / "cells.csv", index=False)
    [table] = metric_tables(read_results(folder))
    assert (table["label"], table["arrow"]) == ("Uno C", "↑")
    assert table["heads"][0] == {"dataset": "SUPPORT", "mark": "", "g_tau": "0.2"}
    assert [row["model"] for row in table["body"]] == ["mine", "SODEN", "SODEN-PH"]
    first = table["body"][0]["cells"][0]
    assert (first["text"], first["mark"]) == ("0.715 ±.005*", "best")  # on both splits by the same .1: p = 0
