"""Which rows may be used again, and what code, numerics and registry say of them: every field of a row's identity."""

import json
import math
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import ROOT
from uneven import poisoned, tuner_of, uneven

from baselines.space import Choice, draw
from benchmarks import code, data, numerics, registry
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
    with pytest.raises(FileNotFoundError, match=r"known: .* holds no trials.parquet; name the folder of a finished run"):
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


# Fingerprints of code


def copied(folder: Path, edits: dict[str, tuple[str, str]]) -> Path:
    """The three packages' source elsewhere, with edits: file -> (old text, new text)."""
    for package in code.PACKAGES:
        shutil.copytree(
            ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__", "report", "speed", "*.npz")
        )
    for name, (old, new) in edits.items():
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1))
    return folder


def touched(folder: Path, series: bool = False, **edits: Any) -> set[str]:
    """The models whose code is another after the edit."""
    changed = copied(folder, {name.replace("__", "/") + ".py": edit for name, edit in edits.items()})
    names = registry.names()
    return {name for name in names if code.of_model(name, series, changed) != code.of_model(name, series)}


EVERYONE = {"soden", "soden_ph", "soden_cox", "cox", "deepsurv", "cox_time", "deephit", "nnet_survival"}
NEURAL = EVERYONE - {"cox"}
DISCRETE = {"deephit", "nnet_survival"}


@pytest.mark.parametrize(
    ("edits", "models"),
    [
        ({"baselines__deephit": ("EPS = 1e-7", "EPS = 1e-6")}, {"deephit"}),
        ({"baselines__deepsurv": ("EPS = 1e-7", "EPS = 1e-6")}, {"deepsurv", "cox_time"}),
        ({"baselines__cox": ("RIDGE = 1e-4", "RIDGE = 1e-3")}, {"cox"}),
        ({"soden__training": ("mul_(0.99)", "mul_(0.9)")}, NEURAL),
        ({"soden__kernels__rmsprop": ("F(0.99)", "F(0.9)")}, NEURAL),  # imported inside a function
        ({"benchmarks__study__trial": ("-valid_loss", "valid_loss")}, EVERYONE),
        ({"benchmarks__data__preprocess": ("sd == 0, 1.0", "sd == 0, 2.0")}, EVERYONE),
        ({"benchmarks__metrics__antolini": ("equal / 2", "equal / 3")}, DISCRETE),  # their validation score
        ({"soden__gru": ("last[0]", "last[-1]")}, set()),  # only data with series need it
        ({"soden__estimator": ("RISK_TIMES = 100", "RISK_TIMES = 50")}, set()),
        ({"benchmarks__metrics__ibs": ("class", "ANY = 1\n\n\nclass")}, set()),
        ({"baselines__deephit": ('"""DeepHit (', '"""Another docstring (')}, set()),
        ({"baselines__deephit": ("EPS = 1e-7", "EPS   =   1e-7  # another comment")}, set()),
    ],
)  # fmt: skip
def test_an_edit_touches_the_rows_that_depend_on_it(edits: Any, models: set[str], tmp_path: Path) -> None:
    assert touched(tmp_path, **edits) == models


def test_series_bring_their_encoder(tmp_path: Path) -> None:
    assert touched(tmp_path, series=True, soden__gru=("last[0]", "last[-1]")) >= NEURAL - {"soden_cox"}


def test_data_sets_metrics_and_the_simulation_have_their_own_code(tmp_path: Path) -> None:
    edit = {"benchmarks/data/flchain.py": ("import", "import math\nimport")}
    elsewhere = copied(tmp_path / "a", edit)
    assert code.of_dataset("flchain", elsewhere) != code.of_dataset("flchain")
    assert code.of_dataset("support", elsewhere) == code.of_dataset("support")
    scored = copied(tmp_path / "b", {"benchmarks/study/evaluate.py": ("// 2", "// 3")})
    assert code.of_metrics(scored) != code.of_metrics()
    assert code.of_model("deepsurv", False, scored) == code.of_model("deepsurv")
    queried = copied(tmp_path / "c", {})
    sql = sorted((queried / "benchmarks" / "data").rglob("*.sql"))
    assert sql, "MIMIC's features are made by SQL"
    assert code.of_mimic(queried) == code.of_mimic()
    sql[0].write_text(sql[0].read_text() + "\n-- more\n")
    code.of_mimic.cache_clear(), code.of_dataset.cache_clear(), code._content.cache_clear()
    assert code.of_mimic(queried) != code.of_mimic()
    simulated = copied(tmp_path / "d", {"benchmarks/study/simulation.py": ("VALID = 5", "VALID = 4")})
    assert code.of_simulation(simulated) != code.of_simulation()


def test_types_alone_are_no_dependency() -> None:
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import soden.gru\nelse:\n    import soden.ode\n"
    import ast

    assert "soden.gru" not in set(code._imports(ast.parse(text)))
    assert code.normalised('def f():\n    """Doc."""\n    return 1  # why\n') == code.normalised("def f(): return 1")
    assert code.normalised("x = 'a'") != code.normalised("x = 'b'")


# Numerics


@pytest.fixture
def untouched(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment that says nothing; what `set_up` changes is undone."""
    for name in (*numerics.PORTABLE, *numerics.THREADS, numerics.VARIABLE):
        monkeypatch.setenv(name, "")  # so that it is restored
        monkeypatch.delenv(name)
    return monkeypatch


def test_a_door_that_comes_too_late_says_so(untouched: pytest.MonkeyPatch) -> None:
    """Numpy and torch are loaded here, so nothing can be settled any more."""
    with pytest.raises(numerics.TooLate, match=r"numpy, torch.* came before benchmarks.numerics, .* not be portable"):
        numerics.set_up()
    assert numerics.VARIABLE not in os.environ
    with pytest.raises(numerics.TooLate, match="nobody has settled the numerics"):
        numerics.mode()
    numerics.set_up("native")  # nothing has to change for it
    assert numerics.mode() == numerics.kind() == "native"


def test_portable_holds_every_library_and_native_frees_them(untouched: pytest.MonkeyPatch) -> None:
    untouched.setattr(numerics, "LOADED_TOO_EARLY", ())
    untouched.setenv("OMP_NUM_THREADS", "3")
    numerics.set_up()
    assert numerics.mode() == "portable"
    assert {name: os.environ.get(name) for name in numerics.PORTABLE} == numerics.PORTABLE
    assert [os.environ[name] for name in numerics.THREADS] == ["3", "1", "1", "1"]
    numerics.set_up("native")
    assert not set(numerics.PORTABLE) & set(os.environ)
    untouched.setenv(numerics.VARIABLE, "fast")
    with pytest.raises(ValueError, match="SODEN_NUMERICS must be portable or native; got 'fast'"):
        numerics.set_up()


def test_what_each_library_reads_is_named() -> None:
    """By the libraries' own manuals: one variable each for torch, MKL, oneDNN, OpenBLAS, numpy and numba."""
    wanted = {"ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "COMPATIBLE", "OPENBLAS_CORETYPE": "Haswell"}
    wanted |= {"NUMBA_CPU_NAME": "haswell", "NUMBA_DISABLE_INTEL_SVML": "1"}
    assert wanted.items() <= numerics.PORTABLE.items()
    assert {"ONEDNN_MAX_CPU_ISA", "NPY_DISABLE_CPU_FEATURES", "NUMBA_CPU_FEATURES"} <= set(numerics.PORTABLE)


def test_a_processor_without_avx2_has_bits_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for flags, has in (("fpu avx2 fma", True), ("fpu avx2", False), ("fpu avx fma", False)):
        (tmp_path / "cpuinfo").write_text(f"processor : 0\nflags\t: {flags}\n")
        monkeypatch.setattr(numerics.platform, "machine", lambda: "x86_64")
        assert numerics._has_avx2(tmp_path / "cpuinfo") is has
        monkeypatch.setattr(numerics.platform, "machine", lambda: "aarch64")
        assert not numerics._has_avx2(tmp_path / "cpuinfo")
    assert numerics.kind() == "own bits of aarch64"
    assert "rows have the own bits of aarch64" in numerics.note()


# The registry of models


MODEL = 'class {cls}:\n    name = "{name}"\n    label = "{label}"\n    space = {{"lr": 1}}\n'


def found(folder: Path, monkeypatch: pytest.MonkeyPatch, **files: str) -> dict[str, registry.Found]:
    (folder / "baselines").mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / "baselines" / f"{name}.py").write_text(text)
    monkeypatch.setattr(registry, "ROOT", folder)
    return registry._found.__wrapped__()


def test_a_helper_with_a_model_s_name_removes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helper = '\n\nclass Helper:\n    name = "mine"\n'
    one = found(tmp_path, monkeypatch, a_model=MODEL.format(cls="Mine", name="mine", label="Mine") + helper, z=helper)
    assert one == {"mine": registry.Found("baselines.a_model", "Mine", True, "loss")}
    before = found(tmp_path, monkeypatch, a_helper=helper)  # also in a file that is read first
    assert before == one


def test_two_models_of_one_name_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {f: MODEL.format(cls=f.title(), name="mine", label=f) for f in ("one", "two")}
    with pytest.raises(ValueError, match=r"two models are named 'mine': baselines.one.One and baselines.two.Two; rename"):
        found(tmp_path, monkeypatch, **texts)


def test_search_and_selection_are_inherited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = 'class Base:\n    space = {"lr": 1}\n    select_by = "ctd"\n'
    child = 'from baselines.base import Base\n\n\nclass Mine(Base):\n    name = "mine"\n    label = "Mine"\n'
    assert found(tmp_path, monkeypatch, base=base, mine=child)["mine"][2:] == (True, "ctd")


def test_rows_are_read_in_the_order_of_split_and_trial(tmp_path: Path) -> None:
    made = [{"split": s, "trial": t, "hyper": {"lr": t}} for s, t in ((2, 0), (1, 10), (1, 9))]
    for i, row in enumerate(made):
        rows.write_table([row], tmp_path / f"{i}.parquet")
    back = rows.read_tables(sorted(tmp_path.iterdir()))
    assert [(r["split"], r["trial"]) for r in back] == [(1, 9), (1, 10), (2, 0)]
    assert json.dumps(back[0]["hyper"]) == '{"lr": 9}'
    assert rows.short_hash({"a": 1, "b": 2}) == rows.short_hash({"b": 2, "a": 1}) != rows.short_hash({"a": 1, "b": 3})
    assert len(pd.read_parquet(tmp_path / "0.parquet")) == 1
