"""Which rows may be used again: every field of a row's identity, rows of other models, runs and code."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.uneven import poisoned, search_of, uneven

from baselines.space import Choice, draw
from benchmarks import data
from benchmarks.data.splits import Split
from benchmarks.results.types import Parts, Trial
from benchmarks.study import search, store
from benchmarks.study.trial import run_trial

DATA, SPLIT = uneven()
FIELDS = ("root_seed", "data", "dataset", "model", "split_rows", "settings", "space", "code", "numerics", "device")


def searching(
    folder: Path, model: str = "deepsurv", dataset: Any = DATA, split: Any = SPLIT, **keys: Any
) -> search.Search:
    return search_of(folder, dataset, {1: split, 2: SPLIT}, model, **keys)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The keys of every trial that runs."""
    seen: list[Any] = []
    monkeypatch.setattr(search, "run_trial", lambda *a: seen.append(a[1]) or run_trial(*a))
    return seen


# The identity of a row


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_is_part_of_the_identity_and_has_a_name(field: str) -> None:
    parts = Parts(**{name: f"{name} then" for name in FIELDS})  # type: ignore[arg-type]
    now = replace(parts, **{field: "now"})  # type: ignore[arg-type]
    assert parts.identity != now.identity
    assert len(parts.changed(now)) == 1
    assert parts.changed(parts) == []


CHANGES: dict[str, dict[str, Any]] = {
    "root_seed": {"seed": 4},
    "data": {"dataset": poisoned(DATA, np.arange(3))},
    "dataset": {"dataset": replace(DATA, name="flchain")},
    "model": {"model": "nnet_survival"},
    "split_rows": {"split": uneven(seed=1)[1]},
    "settings": {"training": {"max_epochs": 2, "patience": 9}},
    "settings, by rounding": {"width_rounding": "nearest"},
    "space": {},
    "code": {},
    "numerics": {},
    "device": {"device": "cuda:1"},
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_a_row_depends_on_changes_its_identity(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = searching(tmp_path / "a").parts(1)
    if change == "space":
        monkeypatch.setitem(data.module("simulated").SEARCH, "batch_size", (64,))
    if change == "code":
        monkeypatch.setattr(store.code, "of_model", lambda name, series: "0" * 12)
    if change == "numerics":
        monkeypatch.setattr(store.numerics, "kind", lambda: "native")
    new = searching(tmp_path / "b", **CHANGES[change]).parts(1)
    field = change.split(",")[0]
    differ = {name for name in FIELDS if getattr(new, name) != getattr(old, name)}
    # Another model searches another space in other code; other names are other content.
    others = {"model": {"space", "code"}, "dataset": {"data", "space"}}.get(field, set())
    assert field in differ <= {field, *others}


def test_a_row_carries_the_parts_of_its_identity(tmp_path: Path) -> None:
    made = searching(tmp_path)
    for trial, split in zip(made.run("0000", [(1, 0), (2, 0)]), (1, 2), strict=True):
        assert trial.parts == made.parts(split)
        assert trial.to_row()["identity"] == made.parts(split).identity
    assert made.parts(1).data == DATA.sha256()
    assert made.parts(1).split_rows == SPLIT.sha256()[:12]


def test_the_hash_of_a_split_is_of_all_its_parts() -> None:
    one, other = Split(SPLIT.train, SPLIT.valid, SPLIT.test), Split(SPLIT.train, SPLIT.test, SPLIT.valid)
    assert SPLIT.sha256() == one.sha256() != other.sha256()


# Rows of another run


def publish(folder: Path, trials: list[Trial]) -> str:
    store.write_chunk(trials, folder / "trials.parquet")
    return str(folder)


def test_known_rows_are_taken_where_the_identity_is_the_same(tmp_path: Path, ran: list[Any]) -> None:
    theirs = searching(tmp_path / "theirs").run("0000", [(1, 0), (1, 1), (2, 0)])
    theirs[1] = replace(theirs[1], parts=replace(theirs[1].parts, code="f" * 12))
    theirs[2] = replace(theirs[2], status="failed")
    known = publish(tmp_path / "reference", theirs)
    ran.clear()
    found = searching(tmp_path / "ours", known=known).run("0000", [(1, 0), (1, 1), (2, 0)])
    assert [(key.split, key.trial) for key in ran] == [(1, 1), (2, 0)]
    assert [trial.taken_from for trial in found] == ["reference", "", ""]
    assert theirs[0].differences(found[0]) == []
    with pytest.raises(
        FileNotFoundError, match=r"known: .* holds no trials.parquet; name the folder of a finished run"
    ):
        searching(tmp_path / "none", known=str(tmp_path / "empty")).run("0000", [(1, 0)])


def test_rows_of_code_proven_equal_count_and_others_do_not(tmp_path: Path, ran: list[Any]) -> None:
    made = searching(tmp_path / "theirs")
    now, folder, proof = made.parts(1).code, tmp_path / "reference", {"when": "", "rows": ["simulated/deepsurv/1/0"]}
    trial = made.run("0000", [(1, 0)])[0]
    known = publish(folder, [replace(trial, parts=replace(trial.parts, code="c0ffee"))])
    ran.clear()
    searching(tmp_path / "a", known=known).run("0000", [(1, 0)])
    assert len(ran) == 1
    store.add_code(folder, "nnet_survival", proof | {"code": now, "equals": "c0ffee"})
    store.add_code(folder, "deepsurv", {"code": now, "equals": "c0ffee", "when": "", "rows": []})
    searching(tmp_path / "b", known=known).run("0000", [(1, 0)])
    assert len(ran) == 2  # proven for another model, or without a trial that was run again
    store.add_code(folder, "deepsurv", proof | {"code": now, "equals": "between"})
    store.add_code(folder, "deepsurv", proof | {"code": "between", "equals": "c0ffee"})
    assert {now, "between", "c0ffee"} <= set(store.equal_codes([folder], "deepsurv", now))
    assert store.equal_codes([folder], "deepsurv", "c0ffee") == ["c0ffee"]  # new code gives old rows, not the reverse
    searching(tmp_path / "c", known=known).run("0000", [(1, 0)])
    assert len(ran) == 2


PARTS = Parts(3, "simulated", "soden", *("data", "settings", "space", "code", "portable", "cpu", "split"))
TRIAL = Trial(PARTS, 1, 0, 1, {"lr": 0.1}, "ok", -0.5, 0.5, 9, 4, "patience", seconds=1.0, peak_mb=5)


def test_differences_are_of_everything_a_trial_decides() -> None:
    assert TRIAL.differences(replace(TRIAL, seconds=2.0, peak_mb=6)) == []
    others = {"seed": 2, "status": "diverged", "epochs": 8, "best_epoch": 3, "stopped_by": "max_epochs"}
    others |= {"valid_loss": math.nextafter(0.5, 1), "score": -0.25, "solver_error": 1e-4, "hyper": {"lr": 0.2}}
    for name, value in others.items():
        assert len(TRIAL.differences(replace(TRIAL, **{name: value}))) == 1, name  # type: ignore[arg-type]
    assert TRIAL.differences(replace(TRIAL, hyper={"lr": 0.1, "new": 1})) == ["new 'absent' then, 1 now"]


def test_three_verdicts_on_a_trial_fitted_again() -> None:
    other = replace(TRIAL, score=-0.5001, valid_loss=0.5001)
    assert TRIAL.judge(replace(TRIAL)) == "identical"
    assert TRIAL.judge(other, spread=1.0).startswith("different: valid_loss 0.5 then, 0.5001 now")
    native = replace(other, parts=replace(PARTS, numerics="native"))  # only other arithmetic may explain other digits
    assert TRIAL.judge(native, spread=2e-4).startswith("equivalent: the validation score is 0.0001 off")
    assert TRIAL.judge(native, spread=5e-5).startswith("different: ")
    assert TRIAL.judge(native).startswith("different: ")  # nobody has measured the spread
    assert TRIAL.judge(replace(native, score=math.nan), spread=1.0).startswith("different: ")


def test_a_choice_of_mixed_types_survives_the_writing_of_trials(tmp_path: Path) -> None:
    space = {"features": Choice(("sqrt", 0.5, 3, None, True))}
    drawn = [draw(space, lambda name, t=t: np.random.default_rng(t), "truncate") for t in range(40)]
    trials = [replace(TRIAL, trial=t, hyper=hyper) for t, hyper in enumerate(drawn)]
    assert len({repr(hyper["features"]) for hyper in drawn}) == 5
    store.write_chunk(trials, tmp_path / "a.parquet")
    store.Journal(tmp_path / "a.jsonl").append(*(trial.to_row() for trial in trials))
    for back in (store.read_chunks([tmp_path / "a.parquet"]), list(store.read_journal(tmp_path / "a.jsonl"))):
        assert [repr(trial.hyper) for trial in back] == [repr(hyper) for hyper in drawn]


def test_trials_are_read_in_the_order_of_split_and_number(tmp_path: Path) -> None:
    for i, (split, number) in enumerate(((2, 0), (1, 10), (1, 9))):
        store.write_chunk([replace(TRIAL, split=split, trial=number, hyper={"lr": number})], tmp_path / f"{i}.parquet")
    back = store.read_chunks(sorted(tmp_path.iterdir()))
    assert [trial.pair for trial in back] == [(1, 9), (1, 10), (2, 0)]
    assert json.dumps(back[0].hyper) == '{"lr": 9}'
    one, two, three = ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1, "b": 3})
    assert store.short_hash(one) == store.short_hash(two) != store.short_hash(three)
