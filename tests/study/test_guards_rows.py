"""Which rows may be used again: every field of a row's identity, rows of other models, runs and code."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from support.uneven import poisoned, tuner_of, uneven

from baselines.space import Choice, draw
from benchmarks import data
from benchmarks.data.splits import Split
from benchmarks.study import journal, rows, tune
from benchmarks.study.trial import run_trial
from benchmarks.study.tune import Tuner

DATA, SPLIT = uneven()
FIELDS = ("root_seed", "data", "dataset", "model", "split_rows", "settings", "space", "code", "numerics", "device")


def tuner(folder: Path, model: str = "deepsurv", dataset: Any = DATA, split: Any = SPLIT, **settings: Any) -> Tuner:
    return tuner_of(folder, dataset, {1: split, 2: SPLIT}, model, **settings)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The keys of every trial that runs."""
    seen: list[Any] = []
    monkeypatch.setattr(tune, "run_trial", lambda *a: seen.append(a[1]) or run_trial(*a))
    return seen


# The identity of a row


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_is_part_of_the_identity_and_has_a_name(field: str) -> None:
    parts: dict[str, Any] = {name: f"{name} then" for name in FIELDS}
    now = parts | {field: "now"}
    assert rows.identity(parts) != rows.identity(now)
    assert rows.identity(parts) == rows.identity(dict(reversed(parts.items())) | {"seconds": 3.0})
    assert len(rows.changed(parts, now)) == 1
    assert rows.changed(parts, parts) == []


CHANGES: dict[str, dict[str, Any]] = {
    "root_seed": {"seed": 4},
    "data": {"dataset": poisoned(DATA, np.arange(3))},
    "dataset": {"dataset": replace(DATA, name="flchain")},
    "model": {"model": "nnet_survival"},
    "split_rows": {"split": uneven(seed=1)[1]},
    "settings": {"training": {"max_epochs": 2, "patience": 9}},
    "settings, by rounding": {"rounding": "nearest"},
    "space": {},
    "code": {},
    "numerics": {},
    "device": {},
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_a_row_depends_on_changes_its_identity(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tuner(tmp_path / "a")
    old = before.parts(1)
    if change == "space":
        monkeypatch.setitem(data.module("simulated").SEARCH, "batch_size", (64,))
    if change == "code":
        monkeypatch.setattr(tune.code, "of_model", lambda name, series: "0" * 12)
    if change == "numerics":
        monkeypatch.setattr(tune.numerics, "kind", lambda: "native")
    if change == "device":
        monkeypatch.setattr(tune, "resolve_device", lambda name: torch.device("meta"))
    after = tuner(tmp_path / "b", **CHANGES[change])
    field = change.split(",")[0]
    assert set(old) == set(FIELDS)
    assert after.parts(1)[field] != old[field]
    assert rows.identity(old | {field: after.parts(1)[field]}) != before.identity(1)
    # Another model searches another space in other code; other names are other content.
    others = {"model": {"space", "code"}, "dataset": {"data", "space"}}.get(field, set())
    assert {name for name in FIELDS if after.parts(1)[name] != old[name]} <= {field, *others}


def test_a_row_carries_the_parts_of_its_identity(tmp_path: Path) -> None:
    made = tuner(tmp_path)
    for row, split in zip(made.run("0000", [(1, 0), (2, 0)]), (1, 2), strict=True):
        assert {name: row[name] for name in FIELDS} == made.parts(split)
        assert row["identity"] == rows.identity({name: row[name] for name in FIELDS}) == made.identity(split)
    assert made.parts(1)["data"] == DATA.sha256()
    assert made.parts(1)["split_rows"] == SPLIT.sha256()[:12]


def test_a_second_model_in_the_first_one_s_folder_gets_its_own_rows(tmp_path: Path, ran: list[Any]) -> None:
    pairs = [(1, 0), (1, 1)]
    first = tuner(tmp_path)
    first.run("0000", pairs)
    second = Tuner(first.folder, DATA, first.splits, "nnet_survival", first.settings)
    found = second.run("0000", pairs)
    assert [key.model for key in ran] == ["deepsurv"] * 2 + ["nnet_survival"] * 2
    assert {r["model"] for r in found} == {"nnet_survival"}
    alone = tuner(tmp_path / "alone", "nnet_survival").run("0000", pairs)
    assert all(rows.differences(a, b) == [] for a, b in zip(alone, found, strict=True))
    assert {r["model"] for r in first.run("0000", pairs)} == {"deepsurv"}
    assert len(ran) == 6  # the first model's rows are still there


def test_the_hash_of_a_split_is_of_all_its_parts() -> None:
    one, other = Split(SPLIT.train, SPLIT.valid, SPLIT.test), Split(SPLIT.train, SPLIT.test, SPLIT.valid)
    assert SPLIT.sha256() == one.sha256() != other.sha256()


def test_a_split_of_the_same_number_but_other_rows_is_another(tmp_path: Path, ran: list[Any]) -> None:
    tuner(tmp_path).run("0000", [(1, 0)])
    tuner(tmp_path, split=uneven(seed=1)[1]).run("0000", [(1, 0)])
    tuner(tmp_path).run("0000", [(1, 0)])
    assert len(ran) == 2


def test_a_failed_trial_is_tried_again_and_a_diverged_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ran: list[Any]
) -> None:
    made = tuner(tmp_path)
    fit = made.model_class.fit
    monkeypatch.setattr(made.model_class, "fit", lambda *a: 1 / 0)
    assert made.run("0000", [(1, 0)])[0]["status"] == "failed"
    monkeypatch.setattr(made.model_class, "fit", fit)
    (good,) = made.run("0000", [(1, 0)])
    assert good["status"] == "ok"
    writer = journal.Journal(made.folder / "0001.jsonl")
    writer.append(good | {"trial": 1, "status": "diverged"})
    assert made.run("0000", [(1, 0), (1, 1)])[1]["status"] == "diverged"
    assert len(ran) == 2


# Rows of another run


def publish(folder: Path, found: list[dict[str, Any]]) -> Path:
    rows.write_table(found, folder / "trials.parquet")
    return folder


def test_known_rows_are_taken_where_the_identity_is_the_same(tmp_path: Path, ran: list[Any]) -> None:
    theirs = tuner(tmp_path / "theirs").run("0000", [(1, 0), (1, 1), (2, 0)])
    theirs[1]["identity"] = "f" * 16  # made by other code
    theirs[2]["status"] = "failed"
    known = publish(tmp_path / "reference", theirs)
    ran.clear()
    found = tuner(tmp_path / "ours", known=known).run("0000", [(1, 0), (1, 1), (2, 0)])
    assert [(key.split, key.trial) for key in ran] == [(1, 1), (2, 0)]
    assert [r.get("taken_from") for r in found] == ["reference", None, None]
    assert rows.differences(theirs[0], found[0]) == []
    with pytest.raises(
        FileNotFoundError, match=r"known: .* holds no trials.parquet; name the folder of a finished run"
    ):
        tuner(tmp_path / "none", known=tmp_path / "empty").run("0000", [(1, 0)])


def test_rows_of_code_proven_equal_count_and_others_do_not(tmp_path: Path, ran: list[Any]) -> None:
    made = tuner(tmp_path / "theirs")
    old = made.parts(1) | {"code": "c0ffee"}
    row = made.run("0000", [(1, 0)])[0] | old | {"identity": rows.identity(old)}
    known = publish(tmp_path / "reference", [row])
    ran.clear()
    tuner(tmp_path / "a", known=known).run("0000", [(1, 0)])
    assert len(ran) == 1
    rows.add_code(known, "nnet_survival", {"code": made.code, "equals": "c0ffee", "when": "", "rows": []})
    tuner(tmp_path / "b", known=known).run("0000", [(1, 0)])
    assert len(ran) == 2  # proven for another model
    rows.add_code(known, "deepsurv", {"code": made.code, "equals": "between", "when": "", "rows": []})
    rows.add_code(known, "deepsurv", {"code": "between", "equals": "c0ffee", "when": "", "rows": []})
    assert rows.equal_codes(known, "deepsurv", made.code) == [made.code, "between", "c0ffee"]
    assert rows.equal_codes(known, "deepsurv", "c0ffee") == ["c0ffee"]  # new code gives old rows, not the reverse
    tuner(tmp_path / "c", known=known).run("0000", [(1, 0)])
    assert len(ran) == 2


def test_differences_are_of_everything_a_trial_decides() -> None:
    row = {"seed": 1, "status": "ok", "epochs": 9, "best_epoch": 4, "stopped_by": "patience", "valid_loss": 0.5}
    row |= {"score": -0.5, "solver_error": math.nan, "hyper": {"lr": 0.1}, "seconds": 1.0, "peak_mb": 5}
    assert rows.differences(row, row | {"seconds": 2.0, "peak_mb": 6, "solver_error": None}) == []
    others = {"seed": 2, "status": "diverged", "epochs": 8, "best_epoch": 3, "stopped_by": "max_epochs"}
    others |= {"valid_loss": math.nextafter(0.5, 1), "score": -0.25, "solver_error": 1e-4, "hyper": {"lr": 0.2}}
    for name, value in others.items():
        assert len(rows.differences(row, row | {name: value})) == 1, name
    assert rows.differences(row, row | {"hyper": {"lr": 0.1, "new": 1}}) == ["new 'absent' then, 1 now"]


def test_a_choice_of_mixed_types_survives_the_writing_of_rows(tmp_path: Path) -> None:
    space = {"features": Choice(("sqrt", 0.5, 3, None, True))}
    found = [
        {"split": 1, "trial": t, "hyper": draw(space, lambda name, t=t: np.random.default_rng(t))} for t in range(40)
    ]
    assert len({repr(r["hyper"]["features"]) for r in found}) == 5
    rows.write_table(found, tmp_path / "a.parquet")
    journal.Journal(tmp_path / "a.jsonl").append(*found)
    for back in (rows.read_tables([tmp_path / "a.parquet"]), list(journal.read(tmp_path / "a.jsonl"))):
        assert [repr(r["hyper"]) for r in back] == [repr(r["hyper"]) for r in found]


def test_rows_are_read_in_the_order_of_split_and_trial(tmp_path: Path) -> None:
    made = [{"split": s, "trial": t, "hyper": {"lr": t}} for s, t in ((2, 0), (1, 10), (1, 9))]
    for i, row in enumerate(made):
        rows.write_table([row], tmp_path / f"{i}.parquet")
    back = rows.read_tables(sorted(tmp_path.iterdir()))
    assert [(r["split"], r["trial"]) for r in back] == [(1, 9), (1, 10), (2, 0)]
    assert json.dumps(back[0]["hyper"]) == '{"lr": 9}'
    assert rows.short_hash({"a": 1, "b": 2}) == rows.short_hash({"b": 2, "a": 1}) != rows.short_hash({"a": 1, "b": 3})
    assert len(pd.read_parquet(tmp_path / "0.parquet")) == 1
