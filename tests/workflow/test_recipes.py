"""The recipes of CONTRIBUTING.md work as printed: each is put in its place in a copy of the project and used there."""

import html
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from conftest import ROOT

RECIPES = dict(re.findall(r"```python recipe=(\S+)\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.DOTALL))
MODEL, DATASET, METRIC = "k-NN", "VETERANS", "BS(median)"  # their labels
TINY = {
    "run": "mine",
    "datasets": ["my_data"],
    "models": ["cox", "my_model", "my_hazard", "soden"],
    "splits": {"my_data": 2},
    "trials": 2,
    "training": {"max_epochs": 2},
    "simulation": {"n": 200, "repetitions": 1, "max_epochs": 2},
    "device": "cpu",
}


def test_there_is_a_recipe_for_each_kind() -> None:
    assert {Path(p).parent.as_posix() for p in RECIPES} == {"baselines", "benchmarks/data", "benchmarks/metrics"}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with one new file of each kind, and a configuration that names them."""
    folder = tmp_path_factory.mktemp("copy")
    ignore = shutil.ignore_patterns("__pycache__")
    for part in ("soden", "baselines", "benchmarks", "config", "workflow", "results/published", "tests"):
        shutil.copytree(ROOT / part, folder / part, ignore=ignore)
    for name in ("Snakefile", "environment.yml", "requirements.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    for path, code in RECIPES.items():
        (folder / path).write_text(code)
    (folder / "mine.yaml").write_text(yaml.safe_dump(TINY))
    return folder


def run(copy: Path, *words: str) -> str:
    done = subprocess.run([sys.executable, "-m", *words], cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    return done.stdout


@pytest.mark.slow
def test_the_recipes_are_as_clean_as_the_rest(copy: Path) -> None:
    run(copy, "ruff", "check", *RECIPES)
    run(copy, "ruff", "format", "--check", *RECIPES)
    run(copy, "mypy", "--config-file", "pyproject.toml", *RECIPES)


@pytest.mark.slow
def test_the_contracts_hold_for_what_was_added(copy: Path) -> None:
    """The tests that run over everything found, and those that name models, data sets or metrics themselves."""
    files = ("baselines/test_contract.py", "metrics/test_metrics_evaluate.py", "data/test_data_registry.py")
    files += ("report/test_tables.py", "study/test_config.py", "study/test_code.py", "workflow/test_architecture.py")
    # Of tests that are run for every model, the new one's; generated files are the clone's own business.
    chosen = "my_ or not (cox or deep or nnet or soden or written_from)"
    run(copy, "pytest", "-m", "not slow", "-k", chosen, *(f"tests/{name}" for name in files))


@pytest.mark.slow
def test_a_study_of_what_was_added_prints_it_under_its_labels(copy: Path) -> None:
    planned = run(copy, "benchmarks", "plan", "--configfile", "mine.yaml")
    assert re.search(rf"{DATASET} +{MODEL} ", planned)
    run(copy, "benchmarks", "run", "quick", "--configfile", "mine.yaml", "--cores", "2")
    results, figures = copy / "results" / "mine", copy / "figures" / "mine"
    page = html.unescape((results / "report.html").read_text())
    assert all(f">{label}" in page for label in (MODEL, DATASET))
    assert f"<h3>{METRIC}</h3>" in page.split('id="beyond"')[1]
    tables = {path.stem: path.read_text() for path in (results / "tables").glob("*.tex")}
    own = tables["metric_my_metric"]
    assert all(label in own for label in (MODEL, DATASET, f"{METRIC} (lower is better)"))
    assert any(MODEL in text and DATASET in text for name, text in tables.items() if not name.startswith("metric_"))
    assert "neighbours" not in tables["hyper_parameters"]
    drawn = {
        figure["name"]: figure["caption"] for figure in json.loads((figures / "index.json").read_text())["figures"]
    }
    assert DATASET in drawn["headline"]
    assert "search_my_data" in drawn
    everything = page + "".join(tables.values()) + "".join(drawn.values())
    assert "my_metric (" not in everything
    # Chosen by its own score, which is not its loss: it has none.
    chosen = json.loads((results / "chosen" / "my_data" / "my_model.json").read_text())
    assert all(-3 < row["score"] < 0 for row in chosen)
