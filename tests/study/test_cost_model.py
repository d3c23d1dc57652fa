"""What a MIMIC trial is said to cost: for the draws of the trial itself, with memory that suffices."""

import json
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
from benchmarks.results.folder import read_trials
from benchmarks.study import cost, cost_model, measure_costs, plan, reference
from benchmarks.study.config import resolve
from benchmarks.study.trial import Key, hyper_parameters

PAPER = resolve({"tier": "paper"})
TABLE = pd.read_csv(cost_model.TABLE)
MEASURED = [(d, m) for d in ("mimic", "mimic_seq") for m in plan.models_for(PAPER, d)]


def test_every_model_of_both_data_sets_was_measured() -> None:
    """Steps of chosen configurations, and whole trials, without which nobody knows when they stop."""
    assert all(cost_model.known(*pair) for pair in MEASURED)
    assert not cost_model.known("support", "soden")
    whole = pd.read_csv(cost_model.WHOLE).set_index(["dataset", "model"])
    assert set(whole.index) == set(MEASURED)
    assert all(whole["trials"] >= [3 if registry.is_searched(model) else 1 for _, model in whole.index])


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
    """SODEN took twice what its steps say, DeepSurv the same; both half the usual epochs and twice, by cost."""
    hyper = {"layers": 2, "width": 16, "gru_width": 20, "batch_size": 512, "lr": 1e-3}
    models = ("deepsurv", "soden")
    costs = [cost_model.estimate("mimic_seq", model, hyper) for model in models]
    usual = [cost_model.usual_epochs(model, 1e-3) for model in models]
    epochs = [usual[0] / 2, usual[1] * 2]
    seconds = [f * (c.once_seconds + n * c.epoch_seconds) for f, c, n in zip((1, 2), costs, epochs, strict=True)]
    trials = pd.DataFrame({"dataset": "mimic_seq", "model": models, "status": "ok", "hyper": json.dumps(hyper)})
    found = measure_costs.whole(trials.assign(epochs=epochs, cpu_seconds=seconds))
    assert [(row["model"], row["trials"], row["factor"]) for row in found] == [("deepsurv", 1, 1.0), ("soden", 1, 2.0)]
    weights = [n * cost.epoch_seconds for n, cost in zip(usual, costs, strict=True)]
    assert {row["stretch"] for row in found} == {round(float(np.average([0.5, 2], weights=weights)), 2)}


def test_a_trial_stops_when_fits_of_its_learning_rate_do() -> None:
    """Between 1e-3 and 10^-2.5 half way; no trial runs longer than it may; Cox has no epochs."""
    row = pd.read_csv(cost_model.EPOCHS, index_col="model").loc["soden"]
    assert cost_model.usual_epochs("soden", 10**-2.75) == pytest.approx((row["-3.0"] + row["-2.5"]) / 2)
    hyper = {"layers": 2, "width": 16, "gru_width": 20, "batch_size": 512, "lr": 10**-3.0}
    cost = cost_model.estimate("mimic_seq", "soden", hyper)
    whole = pd.read_csv(cost_model.WHOLE).set_index(["dataset", "model"]).loc[("mimic_seq", "soden")]
    wanted = [cost.once_seconds + n * cost.epoch_seconds for n in (whole["stretch"] * row["-3.0"], 5)]
    found = [cost_model.trial_seconds("mimic_seq", "soden", hyper, most) for most in (100, 5)]
    assert found == pytest.approx([whole["factor"] * seconds for seconds in wanted])
    cox = {"layers": 0, "width": 0, "gru_width": 0, "batch_size": 1, "lr": 1e-3}
    factor = pd.read_csv(cost_model.WHOLE).set_index(["dataset", "model"]).loc[("mimic", "cox"), "factor"]
    once = cost_model.estimate("mimic", "cox", cox).once_seconds
    assert cost_model.trial_seconds("mimic", "cox", cox, 100) == pytest.approx(factor * once)


def test_epochs_by_learning_rate_are_the_references() -> None:
    found = measure_costs.epochs_by_rate(read_trials(reference.FOLDER))
    table = pd.read_csv(cost_model.EPOCHS, index_col="model")
    assert table.columns.astype(float).tolist() == found.columns.tolist()
    np.testing.assert_array_equal(table.loc[found.index], found)
    assert set(found.index) == {model for _, model in MEASURED if registry.is_searched(model)}


def test_epochs_are_averaged_by_half_decade_and_data_set() -> None:
    """1e-3 and 1.2e-3 share one; three trials of one set weigh as much as one of the other; Cox has no rate."""
    rows = [("support", "soden", 1e-3, 10), ("support", "soden", 1.2e-3, 30), ("support", "soden", 1e-3, 20)]
    rows += [("metabric", "soden", 1e-3, 40), ("metabric", "soden", 1e-2, 7)]
    trials = pd.DataFrame(rows, columns=["dataset", "model", "lr", "epochs"]).assign(status="ok")
    trials["hyper"] = [json.dumps({"lr": rate}) for rate in trials["lr"]]
    trials.loc[len(trials)] = {"dataset": "support", "model": "cox", "epochs": 0, "status": "ok", "hyper": "{}"}
    trials.loc[len(trials)] = {**trials.iloc[0], "epochs": 99, "status": "diverged"}
    assert measure_costs.epochs_by_rate(trials).to_dict("index") == {"soden": {-3.0: 30.0, -2.0: 7.0}}


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
    new = whole[(whole["dataset"] == "mimic") & (whole["model"] == "soden")].assign(stretch=1.5)
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
    assert (pd.read_csv(out / "cost_whole.csv")["stretch"] == 1.5).sum() == 1
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
    hyper = {"layers": 2, "width": 16, "batch_size": 512, "lr": 1e-3}
    trials = pd.DataFrame({"dataset": ["mimic"] * 3 + ["support"], "model": "soden", "hyper": json.dumps(hyper)})
    trials = trials.assign(status=["ok", "ok", "diverged", "ok"], cpu_seconds=1.0)
    usual = cost_model.usual_epochs("soden", 1e-3)
    trials.assign(epochs=[usual, 2 * usual, 9e9, 9e9]).to_parquet(run / "trials.parquet")
    monkeypatch.setattr(measure_costs, "measure", None)
    monkeypatch.setattr(measure_costs, "_evaluate", lambda *_: {"evaluate_s": 7.0, "evaluate_mb": 8})
    assert main(ask) == 0
    assert sorted(path.name for path in out.iterdir()) == ["cost_epochs.csv", "cost_whole.csv"]
    found = pd.read_csv(out / "cost_whole.csv").set_index(["dataset", "model"])
    assert found.loc[("mimic", "soden"), ["stretch", "trials", "evaluate_s", "evaluate_mb"]].tolist() == [1.5, 2, 7, 8]
    before = pd.read_csv(cost_model.WHOLE).set_index(["dataset", "model"])
    pd.testing.assert_frame_equal(*(table.drop(("mimic", "soden")) for table in (found, before)), check_like=True)
