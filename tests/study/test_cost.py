"""What a run is said to cost: from measured means, by arithmetic anybody can redo."""

import math
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.__main__ import main
from benchmarks.config import Resources, resolve
from benchmarks.results.folder import read_trials
from benchmarks.studies import costs as study
from benchmarks.studies import mimic_costs
from benchmarks.studies.__main__ import main as studies
from benchmarks.study import cost, plan, reference

PAPER = resolve({"tier": "paper"})
SMALL = replace(PAPER, resources=Resources(mem_mb=100))
KEPT = pd.read_csv(cost.MEASURED)
FEW = "dataset,model,seconds,peak_mb,trials\nsupport,cox,1.0,300,5\nsupport,soden,10.0,500,5\n"


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    """Costs of two models on one data set."""
    (tmp_path / "few.csv").write_text(FEW)
    return tmp_path / "few.csv"


def by_key(costs: pd.DataFrame) -> pd.DataFrame:
    return costs.set_index(["dataset", "model"])


def test_the_full_protocol_has_the_papers_number_of_trials() -> None:
    """(10 + 10 + 5) splits x 7 models x 100 trials, 5 x 6 x 100 for MIMIC-SEQ, and Cox once per split elsewhere."""
    costs = cost.expected(PAPER)
    cox = costs["model"] == "cox"
    assert (costs[~cox]["trials"].sum(), costs[cox]["trials"].sum()) == (20_500, 25)
    assert costs["seconds"].notna().all()
    assert (costs["scaled_from"] == "").all()


def test_the_references_totals_are_forecast_within_a_factor_of_two() -> None:
    """Of each data set and of each model, whatever table was copied."""
    trials = read_trials(reference.FOLDER)
    costs = cost.expected(replace(PAPER, datasets=("support", "metabric")))
    costs["total"] = costs["seconds"] * costs["trials"]
    for group in ("dataset", "model"):
        ratio = costs.groupby(group)["total"].sum() / trials.groupby(group)["cpu_seconds"].sum()
        assert ratio.between(0.5, 2).all(), ratio


def test_fewer_epochs_make_networks_cheaper_and_nothing_else(measured: Path) -> None:
    costs = by_key(cost.expected(resolve({"tier": "small", "training": {"max_epochs": 20}}), measured))
    assert costs.loc[("support", "soden"), "seconds"] == pytest.approx(2.0)
    assert costs.loc[("support", "cox"), "seconds"] == pytest.approx(1.0)


def test_a_set_that_was_never_measured_is_scaled_by_its_size_and_says_so(measured: Path) -> None:
    costs = by_key(cost.expected(PAPER, measured, ["support", "flchain"]))
    assert costs.loc[("flchain", "soden"), "seconds"] == pytest.approx(10 * 7874 / 8873)
    assert costs.loc[("flchain", "soden"), "scaled_from"] == "support"
    assert costs.loc[("support", "soden"), "scaled_from"] == ""
    assert math.isnan(costs.loc[("support", "deephit"), "seconds"])
    assert costs.loc[("support", "deephit"), "scaled_from"] == "not measured"


def test_invented_tables_cost_their_share() -> None:
    whole, part = (resolve({"tier": "paper", "data": {"mimic": {"synthetic_patients": n}}}) for n in (0, 4652))
    of_all, of_a_tenth = (cost.expected(config, datasets=["mimic"]) for config in (whole, part))
    assert of_a_tenth["seconds"].tolist() == pytest.approx((of_all["seconds"] / 10).tolist())


def test_jobs_ask_for_what_the_widest_measured_network_needs() -> None:
    measured = pd.read_csv(mimic_costs.TABLE)
    assert (measured["width"].max(), measured["gru_width"].max()) == (127, 255)  # the corner of the space
    for config, least in ((PAPER, 2000), (SMALL, 100)):
        for row in measured.itertuples():
            assert cost.job_mb(config, row.dataset, row.model) >= max(least, row.peak_mb)
    assert cost.job_mb(SMALL, "mimic_seq", "nnet_survival") == 1800  # 1421 * 1.25
    assert cost.job_mb(PAPER, "support", "brand_new") == 2000


def test_costs_are_measured_from_trials_that_ended_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The mean, the largest, the number; printed, or written anywhere but into the project."""
    rows = pd.DataFrame({"dataset": "support", "model": "soden", "trial": [0, 1, 2]})
    rows = rows.assign(status=["ok", "ok", "diverged"], cpu_seconds=[1.0, 3.0, 99.0], peak_mb=[100, 300, 900])
    rows.to_parquet(tmp_path / "trials.parquet")
    table = "dataset,model,seconds,peak_mb,trials\nsupport,soden,2.0,300,2\n"
    assert study.measure(tmp_path).to_csv(index=False) == table
    assert studies(["costs", "--run", str(tmp_path), "--out", str(tmp_path / "new" / "costs.csv")]) == 0
    assert (tmp_path / "new" / "costs.csv").read_text() == table
    capsys.readouterr()
    with pytest.raises(SystemExit):
        studies(["costs", "--run", str(tmp_path), "--out", str(cost.MEASURED)])
    assert "belongs to the project" in capsys.readouterr().err


def test_plan_prints_jobs_hours_memory_and_disk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "small", "--cores", "4"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("small: ")
    assert ", 1420 trials, " in last
    assert "by the clock on 4 cores, start-ups included, the longest job" in last
    mine = tmp_path / "mine.yaml"
    mine.write_text("tier: small\ntrials: 1\n")
    assert main(["plan", "--configfile", str(mine)]) == 0
    assert "160 trials" in capsys.readouterr().out  # 2 sets x 8 models x 10 splits
    assert main(["plan", "paper", "--cores", "2"]) == 0
    # 155 s to build; 5 splits x 14 models x 10.8 s to score.
    besides = "MIMIC besides: 3 min of CPU time and 1475 MB to build it, 13 min and 2551 MB to score the chosen models."
    assert besides in capsys.readouterr().out


def test_what_was_never_measured_is_said_not_to_be_in_the_hours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    KEPT[KEPT["model"] != "soden"].to_csv(tmp_path / "costs.csv", index=False)
    monkeypatch.setattr("benchmarks.study.cost.MEASURED", tmp_path / "costs.csv")
    assert main(["plan", "small"]) == 0
    printed = capsys.readouterr().out
    assert "Without 200 trials of models that were never measured: these hours are a lower bound." in printed
    assert "…" not in printed  # of 80 columns, nothing is cut off


def test_a_plan_loads_no_model() -> None:
    """Snakemake makes it whenever it reads the rules."""
    code = "import sys; from benchmarks.study import cost; from benchmarks.config import resolve; "
    code += "cost.expected_seconds(resolve({'tier': 'paper'})); sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_jobs_take_about_as_long_as_is_asked_for() -> None:
    """Every trial once, in pieces whose expected seconds are near chunk_seconds; a fixed number can be asked for."""
    for dataset, model in (("support", "soden"), ("mimic_seq", "soden"), ("metabric", "cox")):
        chunks, each = plan.chunks(PAPER, dataset, model), cost.trial(PAPER, dataset, model).seconds
        pairs = [pair for chunk in chunks for pair in chunk.trials]
        assert pairs == sorted(set(pairs))
        assert len(pairs) == plan.n_splits(PAPER, dataset) * plan.n_trials(PAPER, model)
        assert all(len(c.trials) * each <= 1.5 * 300 or len(c.trials) == 1 for c in chunks)
        assert len(chunks) == 1 or len(chunks[0].trials) * each >= 0.5 * 300
    assert {len(c.trials) for c in plan.chunks(replace(PAPER, chunk=10), "support", "soden")} == {10}
    assert cost.trials_in(300, PAPER, "support", "brand_new") == 25  # nobody knows


def test_the_clock_of_a_schedule_is_that_of_its_busiest_core() -> None:
    start = cost.START_SECONDS
    assert cost.by_the_clock([10, 20, 30], 1) == 60 + 3 * start
    assert cost.by_the_clock([10, 20, 30], 2) == 30 + 2 * start  # 30 | 20 and 10
    assert cost.by_the_clock([10, 20, 30], 400) == 30 + start  # more cores than jobs: the longest


def test_on_many_cores_the_paper_waits_for_no_long_job() -> None:
    """47 minutes on 400 cores when every job had 25 trials; 10 is what 43 CPU hours and starts leave room for."""
    jobs = [len(c.trials) * cost.trial(PAPER, c.dataset, c.model).seconds for c in plan.plan(PAPER)]
    assert cost.by_the_clock(jobs, 400) < 15 * 60
    assert sum(seconds < 30 for seconds in jobs) < 0.1 * len(jobs)


def test_the_first_lines_say_what_is_run_for_how_long_and_without_what(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MIMIC_III", raising=False)
    what, without, small, _ = cost.opening(PAPER, 8, Path("results/paper"))
    assert re.match(r"Tier paper: 8 models on SUPPORT, METABRIC, 14020 trials; about \d+ min on 8 cores", what)
    assert without.startswith("Without MIMIC and MIMIC-SEQ: the tables of MIMIC-III need credentialed access")
    assert "`make quick`, or --config tier=quick" in small
    monkeypatch.setenv("MIMIC_III", "there")
    lines = list(cost.opening(PAPER, 8, Path("results/paper")))
    assert re.search(r"MIMIC, MIMIC-SEQ, 20525 trials; about \d+\.\d h on 8 cores", lines[0])
    assert not any(line.startswith("Without") for line in lines)
