"""What a MIMIC trial is said to cost: for the draws of the trial itself, with memory that suffices."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from baselines.space import resolve as searched
from benchmarks import data, registry
from benchmarks.__main__ import main
from benchmarks.study import cost, cost_model, measure_costs, plan
from benchmarks.study.config import resolve
from benchmarks.study.trial import Key, hyper_parameters

PAPER = resolve({"tier": "paper"})
TABLE = pd.read_csv(cost_model.TABLE)
MEASURED = [(d, m) for d in ("mimic", "mimic_seq") for m in plan.models_for(PAPER, d)]


def test_every_model_of_both_data_sets_was_measured() -> None:
    assert all(cost_model.known(*pair) for pair in MEASURED)
    assert not cost_model.known("support", "soden")


@pytest.mark.parametrize(("dataset", "model"), [("mimic", "deephit"), ("mimic_seq", "soden")])
def test_the_configuration_is_the_one_the_trial_draws(dataset: str, model: str) -> None:
    """Drawn by the trial from its model's whole space, here without loading the model."""
    space = searched(registry.model(model).space, data.module(dataset).SEARCH)
    for trial in (0, 7, 99):
        wanted = hyper_parameters(2022, Key(dataset, model, 3, trial), space, "truncate")
        found = cost_model.configuration(2022, dataset, model, 3, trial, "truncate")
        assert {name: wanted[name] for name in found if name in wanted} == {
            n: v for n, v in found.items() if n in wanted
        }
        assert set(found) - set(wanted) <= {"intervals"}


def test_known_weights_are_found_again() -> None:
    """Seconds made from the very features: constant 2 ms, 1e-9 per product with the first layer, nothing else."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {
            "layers": rng.choice([1, 2, 4], 12),
            "width": rng.integers(4, 127, 12),
            "gru_width": rng.integers(8, 255, 12),
            "batch_size": rng.choice([512, 1024], 12),
            "intervals": 0,
            "examples": 20_000,
        }
    )
    rows["step_s"] = 2e-3 + 1e-9 * rows["batch_size"] * rows["width"] * 26
    rows["valid_s"], rows["once_s"], rows["peak_mb"] = (
        0.5,
        1.0,
        400 + 1e-3 * rows["batch_size"] * rows["width"] * rows["layers"],
    )
    fitted = cost_model.fit("mimic", rows)
    assert fitted.weights[0][:2] == pytest.approx([2e-3, 1e-9], rel=1e-6)
    assert fitted.error < 1e-9
    assert fitted.examples == 20_000


@pytest.mark.parametrize(("dataset", "model"), MEASURED)
def test_the_model_is_near_what_was_measured(dataset: str, model: str) -> None:
    """Memory asked for suffices for every measured configuration, the largest of the space among them."""
    rows = TABLE[(TABLE["dataset"] == dataset) & (TABLE["model"] == model)]
    for row in rows.fillna(0).to_dict("records"):
        found = cost_model.estimate(dataset, model, row)
        assert cost_model.request_mb(found.peak_mb) >= row["peak_mb"]
    if registry.is_searched(model):
        seconds = rows["examples"] // rows["batch_size"] * rows["step_s"] + rows["valid_s"]
        estimates = [
            cost_model.estimate(dataset, model, row).epoch_seconds for row in rows.fillna(0).to_dict("records")
        ]
        assert sum(estimates) == pytest.approx(seconds.sum(), rel=0.3)  # as near as a plan is meant to be


def test_whole_trials_say_how_far_the_prediction_is_off() -> None:
    """Twice the predicted seconds at half the epochs of the table."""
    hyper = {"hp_layers": 2, "hp_width": 16, "hp_gru_width": 20, "hp_batch_size": 512}
    found = cost_model.estimate("mimic_seq", "soden", {name.removeprefix("hp_"): v for name, v in hyper.items()})
    seconds = [2 * (found.once_seconds + n * found.epoch_seconds) for n in (10, 30)]
    trials = pd.DataFrame([hyper, hyper]).assign(epochs=[10, 30], cpu_seconds=seconds)
    assert measure_costs.whole("mimic_seq", "soden", trials) == {"epochs": 20.0, "trials": 2, "factor": 2.0}


def test_intervals_cost_only_models_that_have_them() -> None:
    hyper = {"layers": 2, "width": 16, "gru_width": 20, "batch_size": 512}
    for model, dearer in (("soden", False), ("deephit", True)):
        few, many = (cost_model.estimate("mimic_seq", model, hyper | {"intervals": n}) for n in (50, 800))
        assert (many.epoch_seconds > few.epoch_seconds) == dearer


def test_the_mean_over_draws_is_far_below_the_largest_configuration() -> None:
    for dataset, model in MEASURED:
        if registry.is_searched(model):
            rows = TABLE[(TABLE["dataset"] == dataset) & (TABLE["model"] == model)]
            most = (rows["examples"] // rows["batch_size"] * rows["step_s"] + rows["valid_s"]).max()
            draws = [cost_model.configuration(1, dataset, model, 1, t, "truncate") for t in range(50)]
            assert np.mean([cost_model.estimate(dataset, model, h).epoch_seconds for h in draws]) < most / 2


def test_jobs_ask_for_what_their_configurations_need() -> None:
    chunks = plan.chunks(PAPER, "mimic_seq", "deepsurv")
    asked = [cost.job_mb(PAPER, "mimic_seq", "deepsurv", chunk.trials) for chunk in chunks]
    draws = [
        [cost_model.configuration(2022, "mimic_seq", "deepsurv", s, t, "truncate") for s, t in chunk.trials]
        for chunk in chunks
    ]
    peaks = [max(cost_model.estimate("mimic_seq", "deepsurv", hyper).peak_mb for hyper in drawn) for drawn in draws]
    assert all(mb >= max(2000, peak) for mb, peak in zip(asked, peaks, strict=True))
    assert cost.job_mb(PAPER, "support", "soden", chunks[0].trials) == 2000
    tiny = resolve({"tier": "quick"})  # 400 invented patients
    assert cost.job_mb(tiny, "mimic_seq", "deepsurv", chunks[0].trials) == 2000


def test_invented_tables_cost_their_share() -> None:
    whole, part = (resolve({"tier": "paper", "data": {"mimic": {"synthetic_patients": n}}}) for n in (0, 4652))
    costs = [cost.expected(config, pd.read_csv(cost.MEASURED), ["mimic"]) for config in (whole, part)]
    for one, tenth in zip(*costs, strict=True):
        assert tenth.seconds == pytest.approx(one.seconds / 10)


def test_a_plan_says_what_building_and_scoring_take(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "paper", "--cores", "2"]) == 0
    assert re.search(
        r"MIMIC besides: 3 min .* 1475 MB to build it, \d+ min and 2\d{3} MB to score", capsys.readouterr().out
    )
    assert max(cost_model.evaluation(*pair)[1] for pair in MEASURED) < 4000  # what rule evaluate asks for


def test_a_plan_loads_no_model() -> None:
    """Snakemake makes it whenever it reads the rules."""
    code = "import sys; from benchmarks.study import cost, cost_model; from benchmarks.study.config import resolve; "
    code += "import pandas as pd; cost.expected(resolve({'tier': 'paper'}), pd.read_csv(cost.MEASURED)); "
    subprocess.run([sys.executable, "-c", code + "sys.exit('torch' in sys.modules)"], check=True)


def test_measuring_writes_where_it_is_told_and_leaves_the_projects_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The copies have the new rows of what was measured and the old ones of all else."""
    before = {path: path.read_bytes() for path in (cost_model.TABLE, cost_model.WHOLE)}
    (tmp_path / "run" / "data").mkdir(parents=True)
    for name in ("data/mimic.npz", "trials.parquet"):
        (tmp_path / "run" / name).write_text("")
    row = TABLE[(TABLE["dataset"] == "mimic") & (TABLE["model"] == "soden")].iloc[:1].assign(peak_mb=1)
    whole = pd.read_csv(cost_model.WHOLE)
    new = whole[(whole["dataset"] == "mimic") & (whole["model"] == "soden")].assign(epochs=1.5)
    monkeypatch.setattr(measure_costs, "measure", lambda run, dataset, *_: row.to_dict("records"))
    monkeypatch.setattr(measure_costs, "measure_whole", lambda run, table: new)
    out = tmp_path / "new"
    assert main(["plan", "--measure-mimic", str(tmp_path / "run"), "--out", str(out)]) == 0
    assert "cost_whole.csv; `plan` reads benchmarks/study/cost_whole.csv" in capsys.readouterr().out
    found = pd.read_csv(out / "cost_model.csv")
    own = (found["dataset"] == "mimic") & (found["model"] == "soden")
    assert found[own]["peak_mb"].tolist() == [1]
    others = ~((TABLE["dataset"] == "mimic") & (TABLE["model"] == "soden"))
    assert len(found[~own]) == others.sum()
    assert (pd.read_csv(out / "cost_whole.csv")["epochs"] == 1.5).sum() == 1
    assert {path: path.read_bytes() for path in before} == before


def test_whole_trials_can_be_measured_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No configuration is timed; only MIMIC's trials that ended well count; what the run lacks stays as it was."""
    run, out = tmp_path / "run", tmp_path / "new"
    (run / "data").mkdir(parents=True)
    (run / "data" / "mimic.npz").write_text("")
    ask = ["plan", "--measure-mimic", str(run), "--configurations", "0", "--out", str(out)]
    assert main(ask) == 1
    assert "holds no trials.parquet; name the folder of a finished run" in capsys.readouterr().err
    hyper = {"hp_layers": 2, "hp_width": 16, "hp_gru_width": 20, "hp_batch_size": 512}
    trials = pd.DataFrame([hyper] * 4).assign(dataset=["mimic"] * 3 + ["support"], model="soden", cpu_seconds=1.0)
    trials.assign(status=["ok", "ok", "diverged", "ok"], epochs=[10, 20, 99, 99]).to_parquet(run / "trials.parquet")
    monkeypatch.setattr(measure_costs, "measure", None)
    monkeypatch.setattr(measure_costs, "_evaluate", lambda *_: {"evaluate_s": 7.0, "evaluate_mb": 8})
    assert main(ask) == 0
    assert [path.name for path in out.iterdir()] == ["cost_whole.csv"]
    found = pd.read_csv(out / "cost_whole.csv").set_index(["dataset", "model"])
    assert found.loc[("mimic", "soden"), ["epochs", "trials", "evaluate_s", "evaluate_mb"]].tolist() == [15, 2, 7, 8]
    before = pd.read_csv(cost_model.WHOLE).set_index(["dataset", "model"])
    pd.testing.assert_frame_equal(*(table.drop(("mimic", "soden")) for table in (found, before)), check_like=True)
