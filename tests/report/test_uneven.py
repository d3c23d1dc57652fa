"""Uneven weights from the test part to the page: recorded by evaluation, gathered, marked in tables and page."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from support.run_folder import write_run
from test_report_page import NOTHING

from benchmarks.commands import report as command
from benchmarks.data import Dataset
from benchmarks.data.splits import make_split
from benchmarks.metrics.base import CONVENTIONS
from benchmarks.report.html import build
from benchmarks.report.wording import uneven
from benchmarks.results.folder import read_results
from benchmarks.results.published import published_cells
from benchmarks.study.evaluate import weights_of
from benchmarks.study.gather import WEIGHTS, gather
from soden.types import SurvivalData


def studied(split: int) -> SurvivalData:
    """One event per week, and everybody else censored when the study ends after 52 weeks."""
    time = np.concatenate([np.arange(1.0, 21.0 + (split == 1)), np.full(65, 52.0)])
    return SurvivalData(time, np.arange(len(time)) < 20 + (split == 1), np.zeros((len(time), 1)))


def test_what_is_notable_is_printed_when_it_is_scored(capsys: pytest.CaptureFixture[str]) -> None:
    rows = weights_of(studied(1), "rossi", 1)
    assert {row["convention"] for row in rows} == set(CONVENTIONS)
    printed = capsys.readouterr().out.splitlines()
    assert "rossi, split 1: by the published convention ibs 1e-8 leaves out 75.6% of the subjects" in printed[0]
    assert not any("by the text convention" in line for line in printed)


def test_tables_and_page_mark_it_and_only_where_it_is(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "made", datasets=("support", "metabric"), n=2)
    rows = [
        {**row, "dataset": name}
        for split in (1, 2)
        for name, test in (("support", studied(split)), ("metabric", SurvivalData(*_all_seen())))
        for row in weights_of(test, name, split)
    ]
    pd.DataFrame(rows, columns=WEIGHTS).to_csv(folder / "weights.csv", index=False)
    run = read_results(folder)
    assert uneven(run) == {"support": "up to 76% of the subjects are left out of IBLL, IBS (2 of 2 splits)"}
    page = build(run, tmp_path / "none", published_cells(), NOTHING).page
    assert "SUPPORT: up to 76% of the subjects are left out of IBLL, IBS (2 of 2 splits)." in page
    command.tables(run, tmp_path / "tables")
    assert (
        r"SUPPORT: up to 76\% of the subjects are left out of IBLL, IBS"
        in (tmp_path / "tables/support.tex").read_text()
    )
    assert "Weights are uneven" not in (tmp_path / "tables/metabric.tex").read_text()
    by_text = replace(run, datasets=run.datasets.assign(convention="text"))
    assert uneven(by_text) == {}


def _all_seen() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.arange(1.0, 101.0), np.ones(100, dtype=bool), np.zeros((100, 1))


@pytest.mark.parametrize("name", ["reference", "beyond"])
def test_kept_weights_are_those_of_the_data(name: str, load_public: Callable[[str], Dataset]) -> None:
    run, dataset = read_results(ROOT / "results" / name), load_public("metabric")
    kept = run.weights[run.weights["dataset"] == "metabric"]
    for split in (1, 7):
        test = dataset.take(make_split(dataset, "released", split).test)
        rows = pd.DataFrame(weights_of(SurvivalData(test.time, test.event, test.x), "metabric", split))
        pd.testing.assert_frame_equal(rows, kept[kept["split"] == split].reset_index(drop=True), rtol=1e-12)


def test_beyond_scores_its_own_sets_as_the_formulas_read_and_the_papers_as_published(tmp_path: Path) -> None:
    """Its tables of numbers follow from the scores of both conventions, which it keeps."""
    beyond = ROOT / "results" / "beyond"
    run = read_results(beyond)
    assert {run.convention(d) for d in ("flchain", "gbsg2", "whas500", "aids")} == {"text"}
    assert {run.convention(d) for d in ("support", "metabric")} == {"published"}
    scores = pd.read_csv(beyond / "conventions.csv", dtype={"g_tau": str}, keep_default_na=False)
    scores["value"] = pd.to_numeric(scores["value"])
    shutil.copy(beyond / "datasets.csv", tmp_path)
    gather(scores, run.trials, "auto", pd.read_csv(beyond / "planned.csv"), tmp_path)
    for file in ("scores.csv", "tests.csv", "cells.csv"):
        again, kept = (pd.read_csv(folder / file) for folder in (tmp_path, beyond))
        pd.testing.assert_frame_equal(again, kept, rtol=1e-9)
