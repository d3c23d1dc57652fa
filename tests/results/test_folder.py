"""The reader of a run's folder: what it counts, and what it says of files that are damaged or not there."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from conftest import ROOT
from support.run_folder import write_run

from benchmarks.report.figures.view import View
from benchmarks.report.page_context import shortfalls
from benchmarks.report.wording import effort
from benchmarks.results import KEPT
from benchmarks.results.files import damaged, read_json
from benchmarks.results.folder import NEEDED, Results, find_run, read_results
from benchmarks.results.published import published_cells


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three trials per split, Cox one."""
    return write_run(tmp_path_factory.mktemp("results") / "made", n=5)


def said(run: Results) -> tuple[int, str]:
    return effort(run, "support").trials, View(run, published_cells()).effort("support")


def test_page_and_figures_say_the_same_number_of_trials(made: Path) -> None:
    run = read_results(made)
    assert said(run) == (3, "5 splits, 3 trials each")
    cox = run.cells[run.cells["model"] == "cox"]
    # Another model without search, which no list of names knows: still three trials.
    added = replace(run, cells=pd.concat([run.cells, cox.assign(model="my_model")]))
    assert said(added) == (3, "5 splits, 3 trials each")
    assert shortfalls(added)[0] == "3 trials per split instead of 100"


def test_a_search_that_was_cut_short_counts_and_one_trial_each_is_one(made: Path) -> None:
    run = read_results(made)
    fewer = run.cells.copy()
    fewer.loc[(fewer["model"] == "deephit") & (fewer["dataset"] == "support"), "n_trials"] = 2
    assert said(replace(run, cells=fewer)) == (2, "5 splits, 2 trials each")
    assert said(replace(run, cells=run.cells.assign(n_trials=1.0))) == (1, "5 splits, 1 trial each")
    assert said(replace(run, cells=run.cells.assign(n_trials=float("nan")))) == (0, "5 splits")


@pytest.mark.parametrize("name", [*NEEDED, "environment.json", "data/support.json", "chosen/support/cox.json"])
def test_a_file_cut_short_is_named_with_what_mends_it(made: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(made, tmp_path / "run")
    path = tmp_path / "run" / name
    content = path.read_bytes()
    path.write_bytes(content[:1] if path.suffix != ".csv" else b"")
    with pytest.raises(ValueError, match=r"is not readable .*; delete it and give the run's command again") as error:
        read_results(tmp_path / "run")
    assert str(path) in str(error.value)


@pytest.mark.parametrize("name", NEEDED)
def test_what_a_finished_run_must_have(made: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(made, tmp_path / "run")
    (tmp_path / "run" / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"is not the folder of a finished run: it has no {name}"):
        read_results(tmp_path / "run")


def test_the_projects_own_files_come_back_from_git() -> None:
    for folder in KEPT:
        text = str(damaged(ROOT / "results" / folder / "cells.csv", "cut short"))
        assert text.endswith(f"is not readable (cut short); `git checkout -- results/{folder}` brings it back")


def test_json_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    for content in ([1], {"seed": 1}):
        path.write_text(json.dumps(content))
        with pytest.raises(ValueError, match="wanted a JSON map with tier"):
            read_json(path, ["tier"])


def test_runs_are_found_by_name_or_folder(made: Path) -> None:
    assert find_run("made", made.parent) == find_run(str(made), made.parent) == find_run(None, made.parent) == made
    with pytest.raises(FileNotFoundError, match=r"no run mde in .*; finished runs: made"):
        find_run("mde", made.parent)
