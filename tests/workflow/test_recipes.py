"""The recipes of CONTRIBUTING.md work as printed: each is put in its place in a copy of the project and used there."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

RECIPES = dict(re.findall(r"```python recipe=(\S+)\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.DOTALL))

USE = """
import numpy as np
from benchmarks import data, registry
from benchmarks.data.preprocess import Preprocessor
from benchmarks.data.splits import draw
from benchmarks.metrics.evaluate import evaluate

dataset = data.load("my_data")
assert len(dataset) == 137 and dataset.label == "VETERANS"
split = draw(len(dataset), seed=1, split=1, key="my_data")
fitted = Preprocessor.fit(dataset.take(split.train))
train, valid, test = (fitted.transform(dataset.take(rows)) for rows in (split.train, split.valid, split.test))
model = registry.model("my_model")()
assert not registry.is_searched("my_model")
model.fit(train, valid)
scores = {s.metric: s.value for s in evaluate(test.time, test.event, lambda t: model.predict_survival(test, t))}
# Everybody gets the same curve, so no pair is concordant under strict comparison, and the Brier score is a variance.
assert scores["ctd"] == 0
assert 0 < scores["my_metric"] < 0.5
from benchmarks.study.config import resolve
resolve({"datasets": ["my_data"], "models": ["my_model", "soden"]})
print("all used")
"""


def test_there_is_a_recipe_for_each_kind() -> None:
    assert {Path(p).parent.as_posix() for p in RECIPES} == {"baselines", "benchmarks/data", "benchmarks/metrics"}


@pytest.mark.slow
def test_the_recipes_work_as_printed(tmp_path: Path) -> None:
    ignore = shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")
    for part in ("soden", "baselines", "benchmarks", "config", "workflow"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=ignore)
    for path, code in RECIPES.items():
        (tmp_path / path).write_text(code)
    done = subprocess.run([sys.executable, "-c", USE], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.strip() == "all used", done.stderr
    checked = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--config", str(ROOT / "pyproject.toml"), *RECIPES],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stdout
