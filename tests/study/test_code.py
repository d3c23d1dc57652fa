"""Fingerprints of code, numerics and the registry of models: what an edit touches, and what it does not."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

from benchmarks import code, numerics, registry
from benchmarks.config import resolve
from benchmarks.config_checks import ConfigError

# Fingerprints of code


def copied(folder: Path, edits: dict[str, tuple[str, str]]) -> Path:
    """The three packages' source elsewhere, with edits: file -> (old text, new text)."""
    for package in code.PACKAGES:
        shutil.copytree(
            ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__", "speed", "*.npz")
        )
    for name, (old, new) in edits.items():
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1))
    return folder


def touched(folder: Path, series: bool = False, **edits: Any) -> set[str]:
    """The models whose code is another after the edit."""
    changed = copied(folder, {name.replace("__", "/") + ".py": edit for name, edit in edits.items()})
    return {name for name in sorted(EVERYONE) if code.of_model(name, series, changed) != code.of_model(name, series)}


# The paper's; others may share code with them.
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
        ({"soden__gru": ("static + width", "static + width + 0")}, set()),  # only data with series need it
        ({"soden__estimator": ("STEPS_PER_EPOCH = 32, 256, 20", "STEPS_PER_EPOCH = 32, 256, 21")}, set()),
        ({"benchmarks__metrics__ibs": ("class", "ANY = 1\n\n\nclass")}, set()),
        ({"baselines__deephit": ('"""DeepHit (', '"""Another docstring (')}, set()),
        ({"baselines__deephit": ("EPS = 1e-7", "EPS   =   1e-7  # another comment")}, set()),
    ],
)  # fmt: skip
def test_an_edit_touches_the_rows_that_depend_on_it(edits: Any, models: set[str], tmp_path: Path) -> None:
    assert touched(tmp_path, **edits) == models


def test_a_search_space_does_not_rerun_the_simulation_which_sets_its_own_values(tmp_path: Path) -> None:
    changed = copied(tmp_path / "space", {"baselines/deephit.py": ("    space = {", "    space = {'more': 1,")})
    assert code.of_simulation(changed) == code.of_simulation()
    assert code.of_model("deephit", False, changed) != code.of_model("deephit")
    loss = copied(tmp_path / "loss", {"baselines/deephit.py": ("EPS = 1e-7", "EPS = 1e-6")})
    assert code.of_simulation(loss) != code.of_simulation()


def test_series_bring_their_encoder(tmp_path: Path) -> None:
    assert touched(tmp_path, series=True, soden__gru=("static + width", "static + width + 0")) >= NEURAL - {"soden_cox"}


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
    assert code.of_dataset("mimic", queried) == code.of_dataset("mimic")
    sql[0].write_text(sql[0].read_text() + "\n-- more\n")
    code.of_dataset.cache_clear(), code._content.cache_clear()
    assert code.of_dataset("mimic", queried) != code.of_dataset("mimic")
    simulated = copied(tmp_path / "d", {"benchmarks/study/simulation.py": ("VALID = 5", "VALID = 4")})
    assert code.of_simulation(simulated) != code.of_simulation()


@pytest.mark.parametrize(
    ("file", "edit", "parts"),
    [
        ("study/gather.py", ("KEYS = [", "KEYS = [*"), {"gather"}),
        ("results/statistics.py", ("ddof=1", "ddof=0"), {"gather", "tables", "figures", "page"}),
        ("report/latex.py", (r"\toprule", r"\hline"), {"tables", "figures", "page"}),  # figures: the arrows of axes
        ("report/grid.py", ('"Model"', '"Method"'), {"tables", "page"}),
        ("report/figures/search.py", ("len(models), 1.5", "len(models), 1.6"), {"figures"}),
        ("report/template/page.html", ("<main", "<main "), {"page"}),
        ("report/deviations.toml", ("3:1:1", "3:1:2"), {"page"}),
        ("report/figures/search.py", ('"""', '"""Another docstring. '), set()),
    ],
)
def test_an_edited_figure_table_or_page_is_made_again(
    file: str, edit: tuple[str, str], parts: set[str], tmp_path: Path
) -> None:
    elsewhere = copied(tmp_path, {f"benchmarks/{file}": edit})
    kinds = ("gather", "tables", "figures", "page")
    assert {kind for kind in kinds if code.of_report(kind, elsewhere) != code.of_report(kind)} == parts


def test_a_broken_metric_is_named(tmp_path: Path) -> None:
    (tmp_path / "benchmarks" / "metrics").mkdir(parents=True)
    (tmp_path / "benchmarks" / "metrics" / "unfinished.py").write_text("class M(\n")
    with pytest.raises(ValueError, match=r"metrics/unfinished\.py, line 1 cannot be read: .*never closed"):
        code.of_metrics(tmp_path)


def test_types_alone_are_no_dependency() -> None:
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import soden.gru\nelse:\n    import soden.ode\n"
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
    """Numpy is loaded here, so nothing can be settled any more."""
    with pytest.raises(numerics.TooLate, match=r"numpy.* came before benchmarks.numerics, .* not be portable"):
        numerics.set_up()
    assert numerics.VARIABLE not in os.environ
    with pytest.raises(numerics.TooLate, match="nobody has settled the numerics"):
        numerics.mode()
    numerics.set_up("native")  # nothing has to change for it
    assert numerics.mode() == numerics.kind() == "native"
    for name, value in (numerics.PORTABLE | {numerics.VARIABLE: "portable"}).items():
        untouched.setenv(name, value)
    numerics.set_up()  # all is as wanted, as in a process started by one that settled it


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


def test_a_broken_file_is_named_and_stops_no_other_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = MODEL.format(cls="Mine", name="mine", label="Mine")
    half = 'class Half:\n    name = "half"\n'
    assert set(found(tmp_path, monkeypatch, a=good, broken="x = (\n", half=half)) == {"mine"}
    (tmp_path / "baselines" / "bytes.py").write_bytes(b"# \xff\n")
    monkeypatch.setattr(registry, "_found", registry._found.__wrapped__)
    assert registry.label("mine") == "Mine"
    with pytest.raises(ValueError, match="unknown model 'half'") as caught:
        registry.label("half")
    for part in ("baselines/broken.py, line 1 cannot be read", "baselines/bytes.py cannot be read"):
        assert part in str(caught.value)
    half = 'baselines/half.py: class Half has a name and no label = "..."'
    assert half in str(caught.value)
    with pytest.raises(ConfigError, match=f"unknown name 'half'.*{re.escape(half)}"):
        resolve({"models": ["half", "mine"], "compare_with": "mine"})


def test_a_helper_with_a_model_s_name_removes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helper = '\n\nclass Helper:\n    name = "mine"\n'
    one = found(tmp_path, monkeypatch, a_model=MODEL.format(cls="Mine", name="mine", label="Mine") + helper, z=helper)
    assert one == {"mine": registry.Found("baselines.a_model", "Mine", True, "loss", "Mine")}
    before = found(tmp_path, monkeypatch, a_helper=helper)  # also in a file that is read first
    assert before == one


def test_two_models_of_one_name_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {f: MODEL.format(cls=f.title(), name="mine", label=f) for f in ("one", "two")}
    with pytest.raises(
        ValueError, match=r"two models are named 'mine': baselines.one.One and baselines.two.Two; rename"
    ):
        found(tmp_path, monkeypatch, **texts)


def test_search_and_selection_are_inherited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = 'class Base:\n    space = {"lr": 1}\n    select_by = "ctd"\n'
    child = 'from baselines.base import Base\n\n\nclass Mine(Base):\n    name = "mine"\n    label = "Mine"\n'
    assert found(tmp_path, monkeypatch, base=base, mine=child)["mine"][2:4] == (True, "ctd")


def test_no_model_is_imported_to_find_out() -> None:
    text = "import sys; from benchmarks import code; code.of_model('soden'); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "False"
