"""What a dishonest author could change in a kept run, and which command finds it."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmarks.__main__ import main
from benchmarks.config import Config
from benchmarks.results.folder import kept_runs, read_results
from benchmarks.results.types import Trial, read_trials, trials_frame
from benchmarks.study import stored, verify
from benchmarks.study.evaluate import choose
from benchmarks.study.store import CODES

CONFIG = {
    "run": "tiny", "datasets": ["simulated"], "models": ["cox", "deepsurv", "soden"], "splits": {"simulated": 2},
    "trials": 3, "chunk": 3, "training": {"max_epochs": 2}, "device": "cpu", "data": {"simulated_n": 150},
    "compare_with": "deepsurv",
}  # fmt: skip


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of fourteen trials, with its manifest."""
    run = tmp_path_factory.mktemp("stored") / "results" / "tiny"
    run.mkdir(parents=True)
    (run / "config.json").write_text(json.dumps(Config.of(CONFIG).plain()))
    models = ("deepsurv", "soden")
    steps = ["data simulated", "splits simulated", "tune simulated/cox/0000"]
    steps += [f"tune simulated/{model}/{chunk}" for model in models for chunk in ("0000", "0001")]
    steps += [f"evaluate simulated/{model}" for model in ("cox", *models)]
    for step in (*steps, "gather "):
        name, key = step.split(" ")
        assert main(["step", name, str(run), *([key] if key else [])]) == 0, step
    asked = Config.of(CONFIG)
    assert list(stored.stale(run, asked, ["simulated"])) == []
    other = replace(asked, training=replace(asked.training, patience=3))
    assert "simulated/soden/1/0: the settings changed" in stored.stale(run, other, ["simulated"])
    assert "4 trials are missing, first simulated/deepsurv/1/3" in stored.stale(
        run, replace(asked, trials=4), ["simulated"]
    )
    for name in ("trials", "splits", "scores"):
        shutil.rmtree(run / name)
    (run / "data" / "simulated.npz").unlink()
    stored.write_manifest(run)
    return run


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "results" / "tiny"))


def found(run: Path) -> str:
    """What is said of a run whose manifest the author has written anew."""
    stored.write_manifest(run)
    return "\n".join(stored.wrong(run))


def trials_of(run: Path) -> list[Trial]:
    return list(read_trials(pd.read_parquet(run / "trials.parquet")))


def rewrite(run: Path, change: Callable[[list[Trial]], list[Trial]]) -> None:
    """Other trials, with digests that fit; choices and tables as they follow from them."""
    trials_frame(change(trials_of(run))).to_parquet(run / "trials.parquet", index=False)


def first(trials: list[Trial], **changes: Any) -> list[Trial]:
    """SODEN's first trial, changed."""
    i = next(i for i, trial in enumerate(trials) if trial.model == "soden")
    return [*trials[:i], replace(trials[i], **changes), *trials[i + 1 :]]


def part(trials: list[Trial], **changes: Any) -> list[Trial]:
    one = next(trial for trial in trials if trial.model == "soden")
    return first(trials, parts=replace(one.parts, **changes))


@pytest.mark.parametrize("kept", kept_runs(), ids=lambda path: path.name)
def test_the_files_of_a_kept_run_are_those_of_its_manifest(kept: Path) -> None:
    """Where this fails, a kept file was changed: on purpose? Then `python -m benchmarks reference seal`."""
    assert list(stored.manifest_differences(kept)) == []


def test_an_honest_run_contradicts_nothing(run: Path) -> None:
    assert list(stored.wrong(run)) == []


FORGERIES: dict[str, tuple[Callable[[list[Trial]], list[Trial]], str]] = {
    "a trial is dropped": (lambda t: t[:-1], "1 trials are missing, first simulated/soden/2/2"),
    "a trial is added": (lambda t: [*t, replace(t[-1], trial=3)], "1 trials are in no plan"),
    "a trial is there twice": (lambda t: [*t, t[-1]], "simulated/soden/2/2 is there 2 times"),
    "another seed": (lambda t: first(t, seed=1), "soden/1/0: its seed does not follow"),
    "other hyper-parameters": (lambda t: first(t, hyper={"lr": 99.0}), "its hyper-parameters do not follow"),
    "another root seed": (lambda t: part(t, root_seed=1), "the seed is not this run's"),
    "other settings": (lambda t: part(t, settings="0" * 12), "the settings is not this run's"),
    "other code": (lambda t: part(t, code="0" * 12), "the code is not this run's"),
    "other numerics, for a tolerance": (lambda t: part(t, numerics="native"), "the numerics is not this run's"),
    "other data": (lambda t: part(t, data="0" * 64), "simulated: the trials are not of this data set"),
    "another split": (lambda t: part(t, split_rows="0" * 12), "the trials of split 1 are not of this split"),
    "a winner by its score alone": (
        lambda t: first(t, score=99.0), "simulated/soden/1: the chosen trial is not the one with the best"
    ),
}  # fmt: skip


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_trial_is_found_without_training(forgery: str, run: Path) -> None:
    change, text = FORGERIES[forgery]
    rewrite(run, change)
    if forgery == "a winner by its score alone":
        best = choose(t for t in trials_of(run) if t.model == "soden")[1]
        if read_results(run).chosen[-2].trial == best.trial:
            pytest.skip("it was the winner before")
    assert text in found(run)


def edited(run: Path, name: str, column: str, value: Any) -> None:
    frame = pd.read_csv(run / name)
    frame.loc[frame.index[frame[column].notna()][0], column] = value
    frame.to_csv(run / name, index=False)


@pytest.mark.parametrize(
    ("name", "column"),
    [
        *(("cells.csv", column) for column in ("mean", "standard_error", "p_value", "p_corrected", "n_splits")),
        *(("tests.csv", column) for column in ("difference", "t", "p_value", "p_corrected", "n_splits")),
        ("scores.csv", "value"),
    ],
)
def test_every_column_of_the_tables_is_recomputed(name: str, column: str, run: Path) -> None:
    edited(run, name, column, 1e-9 if column.startswith("p_") else 77)
    assert f"{name}: {column} differs in 1 of" in found(run)


@pytest.mark.parametrize("name", ["cells", "tests", "scores", "conventions"])
def test_a_table_that_was_cut_is_found(name: str, run: Path) -> None:
    pd.read_csv(run / f"{name}.csv").head(3).to_csv(run / f"{name}.csv", index=False)
    assert name in found(run)


@pytest.mark.parametrize("name", stored.FINISHED)
def test_absent_files_fail(name: str, run: Path) -> None:
    (run / name).unlink()
    assert f"tiny lacks {name}" in found(run)


def test_a_reference_without_any_table_is_not_one_in_progress(run: Path) -> None:
    for name in stored.FINISHED:
        (run / name).unlink()
    assert "lacks cells.csv, scores.csv, conventions.csv, tests.csv" in found(run.rename(run.with_name("beyond")))


@pytest.mark.parametrize("rows", [[], ["simulated/soden/9/9"], ["simulated/soden/1/0"]])
def test_equal_code_needs_a_proof_by_trials_of_that_code(rows: list[str], run: Path) -> None:
    proof = {"code": trials_of(run)[-1].parts.code, "equals": "0" * 12, "when": "", "rows": rows}
    (run / CODES).write_text(json.dumps({"soden": [proof]}))
    assert "is not proven by its trials" in found(run)


def test_a_damaged_table_and_an_edited_manifest_are_found(run: Path) -> None:
    with (run / "datasets.csv").open("a") as file:
        file.write("\n")
    assert list(stored.manifest_differences(run)) == ["datasets.csv is not as the manifest says"]
    (run / "extra").write_text("x")
    (run / "planned.csv").unlink()
    assert "extra is not in the manifest" in stored.manifest_differences(run)
    assert "planned.csv is in the manifest and not there" in stored.manifest_differences(run)


def test_a_demoted_winner_is_found_by_refitting_all_others(run: Path, tmp_path: Path) -> None:
    """The one forgery that no recomputation sees: the best trial gets a lower score, all else follows from that."""
    results = read_results(run)
    winner = next(row for row in results.chosen if (row.model, row.split) == ("soden", 1))

    def demote(trials: list[Trial]) -> list[Trial]:
        return [
            replace(t, score=-99.0, valid_loss=99.0)
            if (t.model, *t.pair) == ("soden", 1, winner.trial) else t for t in trials
        ]  # fmt: skip

    rewrite(run, demote)
    best = choose(t for t in trials_of(run) if t.model == "soden")[1]
    path = run / "chosen" / "simulated" / "soden.json"
    rows = json.loads(path.read_text())
    one = next(row for row in rows if row["split"] == 1)
    one |= {"trial": best.trial, "score": best.score, "seed": best.seed, "hyper": dict(best.hyper)}
    path.write_text(json.dumps(rows))
    assert found(run) == ""  # nothing is contradicted
    results = read_results(run)
    picked = verify.sample(results.trials, results, None, seed=1)
    assert len(picked) == 8  # of each search of three, one per split was chosen; Cox has one
    again = verify.fit_again(run, picked, jobs=1)
    bad = [then.key for then, now in zip(picked, again, strict=True) if then.judge(now) != "identical"]
    assert bad == [f"simulated/soden/1/{winner.trial}"]


def test_the_sample_is_spread_over_splits_and_its_power_is_computed(finished: Path) -> None:
    results = read_results(finished)
    picked = verify.sample(results.trials, results, 2, seed=1)
    assert sorted((t.model, t.split) for t in picked) == [(m, s) for m in ("deepsurv", "soden") for s in (1, 2)]
    assert not {(t.model, *t.pair) for t in picked} & {(row.model, row.split, row.trial) for row in results.chosen}
    # 1 % of 1,000 trials is one per split; 20 or 75 of the 990 that were not chosen are fitted again.
    assert [round(stored.found_with(k, 990, n), 2) for n in (20, 75) for k in (10, 40)] == [0.19, 0.57, 0.55, 0.96]
    assert stored.found_with(10, 990, stored.sample_for(10, 990)) >= 0.95
    assert stored.found_with(10, 990, stored.sample_for(10, 990) - 1) < 0.95
    assert stored.found_with(1, 4, 1) == 0.25
    assert stored.found_with(1, 4, 4) == 1.0
    assert "found: 1 % with probability" in verify.power(results.trials, picked, 6)
