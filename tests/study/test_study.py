"""Trials, chunks, selection and evaluation: what a row says, what changes nothing, and that test rows are not read."""

import contextlib
import json
import math
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from baselines.contract import TrialOptions
from baselines.cox import Cox
from baselines.space import resolve
from benchmarks import data, registry
from benchmarks.config import Config
from benchmarks.data.preprocess import prepared
from benchmarks.data.simulated import simulate
from benchmarks.data.splits import Split, make_split
from benchmarks.results.types import Parts, Trial
from benchmarks.study import evaluate, search, store
from benchmarks.study.trial import Key, hyper_parameters, run_trial
from soden.types import SurvivalData

TRAINING = {"max_epochs": 2, "patience": 10}
TIMING = ("seconds", "cpu_seconds", "peak_mb")


@pytest.fixture
def dataset() -> data.Dataset:
    return simulate(300, seed=5)


@pytest.fixture
def splits(tmp_path: Path, dataset: data.Dataset) -> Path:
    for number in (1, 2):
        make_split(dataset, "drawn", number, seed=7).save(tmp_path / "splits" / f"{number}.npz")
    return tmp_path / "splits"


def searching(
    run: Path, dataset: data.Dataset, splits: Path, model: str = "deepsurv", seed: int = 3, **changes: Any
) -> search.Search:
    dataset.save(run / "data" / "simulated.npz")
    (run / "splits").mkdir(exist_ok=True)
    if not (run / "splits" / "simulated").exists():
        (run / "splits" / "simulated").symlink_to(splits)
    config = Config.of({"seed": seed, "training": TRAINING | changes, "device": "cpu"})
    return search.Search(store.Store(run, config), "simulated", model)


def drawn(key: Key, root: int = 0) -> dict[str, Any]:
    space = resolve(registry.model(key.model).space, data.module(key.dataset).SEARCH)
    return hyper_parameters(root, key, space, "truncate")


def plain(trials: list[Trial]) -> str:
    """Rows as text, without what a clock says, and without the state, which a chunk keeps of its best trial."""
    rows = (trial.to_row() for trial in trials)
    return json.dumps(
        [{k: v for k, v in row.items() if k not in (*TIMING, "digest", "state")} for row in rows], sort_keys=True
    )


PAIRS = [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)]


def test_a_trial_is_the_same_alone_in_any_chunk_and_any_order(
    tmp_path: Path, dataset: data.Dataset, splits: Path
) -> None:
    whole = searching(tmp_path / "a", dataset, splits).run("0000", PAIRS)
    for size in (1, 3):
        pieces = [PAIRS[i : i + size] for i in range(0, len(PAIRS), size)]
        rows = [
            r for i, p in enumerate(pieces) for r in searching(tmp_path / f"b{size}", dataset, splits).run(f"{i}", p)
        ]
        assert plain(rows) == plain(whole)
    backwards = searching(tmp_path / "c", dataset, splits).run("0000", PAIRS[::-1])
    assert plain(backwards[::-1]) == plain(whole)


def test_draws_stay_in_the_papers_ranges() -> None:
    many = [drawn(Key("metabric", "deephit", 1, t)) for t in range(300)]
    assert {d["layers"] for d in many} == {1, 2, 4}
    assert {d["batch_size"] for d in many} == {32, 64, 128, 256}
    assert {d["intervals"] for d in many} == {10, 50, 100, 200, 400}
    assert {d["sigma"] for d in many} == {0.25, 1, 5}
    assert min(d["width"] for d in many) >= 4
    assert max(d["width"] for d in many) <= 128
    assert all(10**-4.5 <= d["lr"] <= 10**-1.5 and 0.85 <= d["momentum"] <= 0.99 for d in many)
    # log10(lr) is uniform on [-4.5, -1.5]: mean -3, sd 3 / sqrt(12); 300 draws stay within 4 standard errors.
    assert abs(np.mean([math.log10(d["lr"]) for d in many]) + 3) < 4 * 3 / math.sqrt(12 * 300)


def test_a_killed_chunk_goes_on_where_it_was(
    tmp_path: Path, dataset: data.Dataset, splits: Path, monkeypatch: Any
) -> None:
    whole = searching(tmp_path / "a", dataset, splits).run("0000", PAIRS)
    searching(tmp_path / "b", dataset, splits).run("0000", PAIRS[:4])
    path = tmp_path / "b" / "trials/simulated/deepsurv" / "0000.jsonl"
    path.write_bytes(path.read_bytes()[:-7])  # the fourth line is torn
    ran = []
    monkeypatch.setattr(search, "run_trial", lambda *a, **k: ran.append(a[1]) or run_trial(*a, **k))
    rows = searching(tmp_path / "b", dataset, splits).run("0000", PAIRS)
    assert [(k.split, k.trial) for k in ran] == PAIRS[3:]
    assert plain(rows) == plain(whole)
    # Chunks of another size use the finished trials.
    rows = [r for i, pair in enumerate(PAIRS) for r in searching(tmp_path / "b", dataset, splits).run(f"{i}", [pair])]
    assert plain(rows) == plain(whole)
    assert len(ran) == 3


@pytest.mark.parametrize("change", [{"patience": 3}, {"seed": 4}])
def test_a_changed_setting_never_meets_an_old_row(
    tmp_path: Path, dataset: data.Dataset, splits: Path, change: Any
) -> None:
    old = searching(tmp_path / "a", dataset, splits).run("0000", PAIRS[:2])
    new = searching(tmp_path / "a", dataset, splits, **change).run("0000", PAIRS[:2])
    assert {r.identity for r in old}.isdisjoint(r.identity for r in new)
    assert len(list(store.read_journal(tmp_path / "a" / "trials/simulated/deepsurv" / "0000.jsonl"))) == 4
    back = searching(tmp_path / "a", dataset, splits).run("0000", PAIRS[:2])
    assert [trial.to_row() for trial in back] == [trial.to_row() for trial in old]  # nothing finished is lost


def test_a_broken_trial_is_a_row(tmp_path: Path, dataset: data.Dataset, splits: Path, monkeypatch: Any) -> None:
    def broken(*args: Any) -> None:
        raise RuntimeError("no such luck")

    monkeypatch.setattr(registry.model("deepsurv"), "fit", broken)
    found = searching(tmp_path / "a", dataset, splits).run("0000", PAIRS[:2])
    assert [r.status for r in found] == ["failed", "failed"]
    assert found[0].message == "RuntimeError: no such luck"
    assert evaluate.choose(found) == {}
    out = evaluate.evaluate_model(searching(tmp_path / "a", dataset, splits), found)
    assert out.scores == []
    assert out.chosen[0].to_row() == {
        "dataset": "simulated",
        "model": "deepsurv",
        "split": 1,
        "trial": None,
        "n_trials": 2,
        "n_ok": 0,
        "n_diverged": 0,
        "n_failed": 2,
    }


def test_the_best_score_is_chosen_and_ties_go_to_the_earlier_trial() -> None:
    parts = Parts(3, "simulated", "soden", *("data", "settings", "space", "code", "portable", "cpu", "split"))

    def row(trial: int, score: float, status: str = "ok") -> Trial:
        return Trial(parts, 1, trial, 7, {}, status, score)

    rows = [row(0, 0.5), row(1, 0.7), row(2, 0.7), row(3, 0.9, "diverged"), row(4, math.nan)]
    assert evaluate.choose(rows)[1].trial == 1
    assert evaluate.choose(rows[::-1])[1].trial == 1
    assert not row(0, 1.0, "failed").beats(None)
    assert evaluate.choose([row(0, math.nan)])[1].trial == 0  # Cox: one fit, no score


def test_a_lost_or_damaged_state_is_fitted_again_and_compared(
    tmp_path: Path, dataset: data.Dataset, splits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = searching(tmp_path / "a", dataset, splits)
    found = made.run("0000", PAIRS[:2])
    first = evaluate.evaluate_model(made, found)
    assert first.chosen[0].refit == ""
    (path,) = (made.folder / "states").iterdir()
    content = path.read_bytes()
    for position in range(100, len(content), len(content) // 7):  # weights, mostly
        path.write_bytes(content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :])
        again = evaluate.evaluate_model(made, found)
        assert (again.scores, again.chosen[0].refit) == (first.scores, "identical")
        said = capsys.readouterr().out
        assert "is damaged, so it is fitted again" in said
        assert "refitted: identical" in said
        path.with_suffix(".json").unlink()
    path.unlink()
    assert evaluate.evaluate_model(made, found).chosen[0].refit == "identical"
    for path in (made.folder / "states").iterdir():
        path.unlink()
    best = evaluate.choose(found)[1]
    found[found.index(best)] = replace(best, valid_loss=math.nextafter(best.valid_loss, math.inf))
    assert evaluate.evaluate_model(made, found).chosen[0].refit.startswith("different: valid_loss")


@pytest.mark.parametrize("stopped_at", range(4))
def test_a_stop_between_any_two_writes_changes_no_verdict(
    stopped_at: int, tmp_path: Path, dataset: data.Dataset, splits: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """States and verdicts are written one after the other: whichever is the last, the next attempt says the same."""
    made = searching(tmp_path / "a", dataset, splits)
    found = [replace(trial, state="") for trial in made.run("0000", PAIRS)]  # as those of another run, taken over
    shutil.rmtree(made.folder / "states")
    moves = []

    def replace_file(part: Any, path: Any, real: Any = os.replace) -> None:
        moves.append(path)
        if len(moves) > stopped_at:
            raise KeyboardInterrupt
        real(part, path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace_file)
        with contextlib.suppress(KeyboardInterrupt):
            evaluate.evaluate_model(made, found)
    assert len(moves) == min(stopped_at + 1, 4)  # two splits, a state and a verdict each
    for _ in range(2):
        assert [row.refit for row in evaluate.evaluate_model(made, found).chosen] == ["identical"] * 2


def test_risk_groups_of_an_oracle_are_apart(dataset: data.Dataset) -> None:
    """A model that knows the event times: all of the high-risk half die before the cut, lifelines gives the p-value."""
    from lifelines.statistics import logrank_test

    time = np.arange(1.0, 101.0)
    test = SurvivalData(time, np.ones(100), np.zeros((100, 1)))

    class Oracle:
        def predict_survival(self, features: Any, times: Any) -> Any:
            return np.repeat((time / 200)[:, None], len(times), axis=1)

    groups = evaluate.risk_groups(Oracle(), test)
    half = len(groups["grid"]) // 2
    assert groups["high"][half + 1] == 0.0
    assert groups["low"][half - 1] == 1.0
    expected = logrank_test(time[:50], time[50:], np.ones(50), np.ones(50)).p_value
    assert groups["p_value"] == pytest.approx(expected, rel=1e-6)


class ByEvents(Cox):
    """A model that is chosen by a score of its own: the share of events in the validation part."""

    name, select_by = "by_events", "events"

    def events(self, valid: SurvivalData) -> float:
        return float(valid.event.mean())


def test_a_model_may_be_chosen_by_its_own_score(dataset: data.Dataset, splits: Path) -> None:
    parts = prepared(dataset, Split.load(splits / "1.npz"), "train", "valid")
    row, _ = run_trial(ByEvents, Key("simulated", "by_events", 1, 0), 1, {}, *parts, TrialOptions())
    assert row["status"] == "ok"
    assert row["score"] == parts[1].event.mean()
