"""How far a run is: hours left from what was measured, tables that a terminal of 80 columns shows whole."""

import json
import math
import re
from pathlib import Path

import pandas as pd
import pytest
from conftest import ROOT
from rich.console import Console

from benchmarks.__main__ import main
from benchmarks.commands._snakemake import step_text, steps
from benchmarks.config import resolve
from benchmarks.study.status import Progress, headline, pace, table

TWO = {"tier": "paper", "datasets": ["support", "metabric"], "run": "begun"}


def begun(folder: Path) -> None:
    """A run that has its configuration and nothing else."""
    (folder / "results" / "begun").mkdir(parents=True)
    (folder / "results" / "begun" / "config.json").write_text(json.dumps(resolve(TWO).plain()))


def test_of_a_run_that_has_not_begun_status_and_plan_say_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begun(tmp_path)
    (tmp_path / "two.yaml").write_text(json.dumps(TWO))
    assert main(["plan", "--configfile", str(tmp_path / "two.yaml"), "--cores", "2"]) == 0
    planned = re.search(r"trials, (\S+ \S+) of CPU time", capsys.readouterr().out)
    assert main(["status", "begun", "--directory", str(tmp_path), "--cores", "1"]) == 0
    left = re.search(r"0/14020 trials, about (\S+ \S+) of training left", capsys.readouterr().out)
    assert planned is not None
    assert left is not None
    assert left[1] == planned[1]


def test_a_model_that_has_not_begun_takes_what_was_measured_at_this_machines_pace() -> None:
    """Not what the others take: 100 trials of 10 s are not 100 of 2 s, and this machine takes twice as long."""
    entries = [
        Progress("support", "deepsurv", 100, expected=1.0, done=50, seconds=100.0),
        Progress("support", "soden", 100, expected=10.0),
    ]
    assert pace(entries) == 2.0
    assert [entry.seconds_left(pace(entries)) for entry in entries] == [100.0, 2000.0]
    assert headline(entries) == "50/200 trials, about 35 min of training left by the clock"
    never_measured = Progress("support", "my_model", 100)
    assert math.isnan(never_measured.seconds_left(2.0))
    assert headline([*entries, never_measured]) == "50/300 trials"


def test_where_nothing_is_left_to_train_the_steps_are_counted() -> None:
    """25 of 100 steps in 60 s leave 75, three times as long."""
    log = "Finished jobid: 3 (Rule: tune)\n1 of 100 steps (1%) done\nfoo\n25 of 100 steps (25%) done\n"
    assert steps(log) == (25, 100)
    assert steps("Building DAG of jobs...\n") == (0, 0)
    assert "25 of 100 steps" in step_text(25, 100, 60.0)
    assert step_text(25, 100, 60.0).endswith(", about 3 min left")
    assert "left" not in step_text(0, 0, 5.0).removeprefix("no trial left to run")


def test_the_reference_is_counted_from_the_table_it_kept(capsys: pytest.CaptureFixture[str]) -> None:
    n = len(pd.read_parquet(ROOT / "results" / "reference" / "trials.parquet", columns=["split"]))
    assert main(["status", "reference"]) == 0
    assert f"run reference: {n}/{n} trials" in capsys.readouterr().out


def test_nothing_is_cut_off_in_80_columns() -> None:
    longest = [("mimic_seq", name) for name in ("soden_cox", "soden_ph", "gradient_boosting")]
    entries = [Progress(*key, total=1000, done=1000, diverged=13, seconds=900, best=-0.1037) for key in longest]
    console = Console(width=80)
    with console.capture() as shown:
        console.print(table(entries))
    lines = shown.get().splitlines()
    assert "…" not in shown.get()
    for _, model in longest:
        [line] = [line for line in lines if f" {model} " in line]
        assert line.split() == ["mimic_seq", model, "1000/1000", "13", "0.9", "done", "-0.1037"]
