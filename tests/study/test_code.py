"""Fingerprints of code: what changes one, what does not, and which files each covers."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

from benchmarks import code, registry


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for package in code.PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def edit(root: Path, name: str, old: str, new: str) -> None:
    path = root / name
    text = path.read_text()
    assert old in text, f"{name} has no {old!r}"
    path.write_text(text.replace(old, new, 1))
    for cached in (code.of_model, code.of_dataset, code.of_mimic, code.of_simulation, code.of_metrics):
        cached.cache_clear()
    code._imported.cache_clear()
    code._content.cache_clear()


def models(root: Path) -> dict[str, str]:
    return {name: code.of_model(name, False, root) for name in registry.names()}


def changed(root: Path, name: str, old: str, new: str) -> set[str]:
    """The models whose rows are others after an edit."""
    before = models(root)
    edit(root, name, old, new)
    after = models(root)
    return {model for model in before if before[model] != after[model]}


def test_how_code_is_written_changes_nothing(copy: Path) -> None:
    assert changed(copy, "baselines/deepsurv.py", '"""DeepSurv', '"""Another docstring. DeepSurv') == set()
    assert changed(copy, "baselines/deepsurv.py", "EPS = 1e-7", "# why\n\nEPS   =   (1e-7)") == set()
    assert code.normalised("def f():\n    '''doc'''\n") == code.normalised("def f():\n    pass")


@pytest.mark.parametrize(
    ("name", "old", "new", "wanted"),
    [
        ("baselines/deepsurv.py", "EPS = 1e-7", "EPS = 1e-6", {"deepsurv", "cox_time"}),  # Cox-Time asks it for events
        ("baselines/deephit.py", "log_softmax", "log_Softmax", {"deephit"}),
        ("baselines/cox.py", "RIDGE = 1e-4", "RIDGE = 1e-3", {"cox"}),
        ("soden/solver.py", "TOLERANCE = 5e-3", "TOLERANCE = 4e-3", {"soden", "soden_ph", "soden_cox"}),
        ("soden/kernels/ode.py", "CACHE = 1 << 21", "CACHE = 1 << 20", {"soden", "soden_ph", "soden_cox"}),
        ("benchmarks/metrics/antolini.py", "import", "import os\nimport", {"deephit", "nnet_survival"}),
        ("soden/gru.py", "static + width", "static + width + 0", set()),  # no static model loads it
        ("soden/estimator.py", "import", "import os\nimport", set()),
        ("benchmarks/study/tune.py", "import", "import os\nimport", set()),
    ],
)
def test_an_edit_touches_what_depends_on_it(copy: Path, name: str, old: str, new: str, wanted: set[str]) -> None:
    paper = {"cox", "deepsurv", "cox_time", "nnet_survival", "deephit", "soden", "soden_ph", "soden_cox"}
    assert changed(copy, name, old, new) & paper == wanted


@pytest.mark.parametrize(
    ("name", "old"),
    [
        ("benchmarks/data/preprocess.py", "def design"),
        ("benchmarks/study/trial.py", "def run_trial"),
        ("benchmarks/seeds.py", "def seed_for"),
        ("baselines/space.py", "def resolve"),
        ("soden/types.py", "def concatenate"),
    ],
)
def test_what_all_trials_run_touches_all_models(copy: Path, name: str, old: str) -> None:
    assert changed(copy, name, old, f"unused = 1\n\n\n{old}") == set(registry.names())


def test_series_add_the_recurrent_encoder(copy: Path) -> None:
    before = code.of_model("soden", True, copy)
    assert before != code.of_model("soden", False, copy)
    edit(copy, "soden/gru.py", "static + width", "static + width + 0")
    assert code.of_model("soden", True, copy) != before


def test_data_sets_and_metrics_have_their_own(copy: Path) -> None:
    names = ("support", "metabric", "mimic", "mimic_seq", "simulated")
    before = {name: code.of_dataset(name, copy) for name in names}
    metrics, simulation = code.of_metrics(copy), code.of_simulation(copy)
    sql = next((copy / "benchmarks" / "data" / "mimic3").rglob("*.sql")).relative_to(copy)
    edit(copy, str(sql), "\n", "\n-- riddle\n")
    after = {name: code.of_dataset(name, copy) for name in names}
    assert {name for name in names if before[name] != after[name]} == {"mimic", "mimic_seq"}
    edit(copy, "benchmarks/data/katzman.py", "SHIFT = 0.001", "SHIFT = 0.002")
    later = {name: code.of_dataset(name, copy) for name in names}
    assert {name for name in names if later[name] != after[name]} == {"support", "metabric"}
    assert (code.of_metrics(copy), code.of_simulation(copy)) == (metrics, simulation)
    edit(copy, "benchmarks/metrics/ibs.py", "import", "import os\nimport")
    assert code.of_metrics(copy) != metrics
    assert models(copy) == models(ROOT)


def test_no_model_is_imported_to_find_out() -> None:
    text = "import sys; from benchmarks import code; code.of_model('soden'); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "False"
