"""What a run is said to cost: from measured trials, by arithmetic anybody can redo."""

import math
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.__main__ import main
from benchmarks.study import cost
from benchmarks.study.config import resolve

MEASURED = pd.DataFrame(
    {"dataset": ["support"] * 2, "model": ["cox", "soden"], "seconds": [1.0, 10.0], "peak_mb": [300, 500], "trials": 5}
)


def by_key(costs: list[cost.Cost]) -> dict[tuple[str, str], cost.Cost]:
    return {(c.dataset, c.model): c for c in costs}


def test_the_full_protocol_has_the_papers_number_of_trials() -> None:
    """(10 + 10 + 5) splits x 7 models x 100 trials, 5 x 6 x 100 for MIMIC-SEQ, and Cox once per split elsewhere."""
    costs = cost.expected(resolve({"tier": "paper"}), pd.read_csv(cost.MEASURED))
    assert sum(c.trials for c in costs if c.model != "cox") == 20_500
    assert sum(c.trials for c in costs if c.model == "cox") == 25
    assert not any(math.isnan(c.seconds) for c in costs)


def test_fewer_epochs_make_networks_cheaper_and_nothing_else() -> None:
    found = by_key(cost.expected(resolve({"tier": "small", "training": {"max_epochs": 20}}), MEASURED))
    assert found["support", "soden"].seconds == pytest.approx(2.0)
    assert found["support", "cox"].seconds == pytest.approx(1.0)


def test_a_set_that_was_never_measured_is_scaled_by_its_size_and_says_so() -> None:
    found = by_key(cost.expected(resolve({"tier": "paper"}), MEASURED, ["support", "flchain"]))
    assert found["flchain", "soden"].seconds == pytest.approx(10 * 7874 / 8873)
    assert found["flchain", "soden"].scaled_from == "support"
    assert found["support", "soden"].scaled_from == ""
    assert math.isnan(found["support", "deephit"].seconds)
    assert found["support", "deephit"].scaled_from == "not measured"


def test_costs_are_measured_from_trials_that_ended_well(tmp_path: Path) -> None:
    rows = pd.DataFrame({"dataset": "support", "model": "soden", "trial": [0, 1, 2]})
    rows = rows.assign(status=["ok", "ok", "diverged"], cpu_seconds=[1.0, 3.0, 99.0], peak_mb=[100, 300, 900])
    rows.to_parquet(tmp_path / "trials.parquet")
    (row,) = cost.measure(tmp_path).to_dict("records")
    assert (row["seconds"], row["peak_mb"], row["trials"]) == (2.0, 300, 2)


def test_measured_costs_are_printed_or_written_and_the_projects_own_stay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = cost.MEASURED.read_bytes()
    rows = pd.DataFrame({"dataset": "support", "model": "soden", "trial": [0, 1], "status": "ok"})
    rows.assign(cpu_seconds=[1.0, 3.0], peak_mb=[100, 300]).to_parquet(tmp_path / "trials.parquet")
    table = "dataset,model,seconds,peak_mb,trials\nsupport,soden,2.0,300,2\n"  # the mean, the largest, the number
    assert main(["plan", "--measure", str(tmp_path)]) == 0
    assert capsys.readouterr().out == table
    assert main(["plan", "--measure", str(tmp_path), "--out", str(tmp_path / "new" / "costs.csv")]) == 0
    assert "`plan` reads benchmarks/study/measured_costs.csv" in capsys.readouterr().out
    assert (tmp_path / "new" / "costs.csv").read_text() == table
    assert cost.MEASURED.read_bytes() == before


def test_plan_prints_jobs_hours_memory_and_disk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "small", "--cores", "4"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("small: 30 tuning jobs, 1420 trials")  # 2 sets x (7 models x 100 / 50 + 1 job of Cox)
    assert "on 4 cores; memory up to" in last
    mine = tmp_path / "mine.yaml"
    mine.write_text("tier: small\ntrials: 1\n")
    assert main(["plan", "--configfile", str(mine)]) == 0
    assert "160 trials" in capsys.readouterr().out  # 2 sets x 8 models x 10 splits
    mine.write_text("trails: 3\n")
    assert main(["plan", "--configfile", str(mine)]) == 1
    assert "unknown key 'trails'" in capsys.readouterr().err


def test_what_was_never_measured_is_said_not_to_be_in_the_hours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = pd.read_csv(cost.MEASURED)
    measured[measured["model"] != "soden"].to_csv(tmp_path / "costs.csv", index=False)
    monkeypatch.setattr("benchmarks.commands.plan.MEASURED", tmp_path / "costs.csv")
    assert main(["plan", "small"]) == 0
    said = capsys.readouterr().out
    assert "Without 200 trials of models that were never measured: these hours are a lower bound." in said
    assert "…" not in said  # of 80 columns, nothing is cut off
