"""The documentation: its code runs, its reference is whole, its pages build without a warning and fit a telephone."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from inspect import signature
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from support.chromium import Page, find_chromium

from baselines.contract import Competitor, TrialOptions
from benchmarks.study.trial import Key, run_trial
from soden import SODEN
from soden.types import SurvivalData

mpl.use("Agg")
DOCS = ROOT / "docs"


def python_blocks(name: str) -> str:
    """All Python of a page, in order."""
    found = re.findall(r"\.\. code-block:: python\n\n((?:(?:   .*)?\n)+)", (DOCS / name).read_text())
    return "\n".join(textwrap.dedent(block) for block in found)


def names_in_the_text() -> dict[str, Any]:
    """What the pages take for granted: GBSG2, followed for 2,000 days, so that every part of it reaches the end."""
    from sksurv.datasets import load_gbsg2

    frame, y = load_gbsg2()
    X = pd.get_dummies(frame, drop_first=True, dtype=float)
    time, event = np.minimum(y["time"], 2000.0), y["cens"] & (y["time"] < 2000)
    return {"X": X, "time": time, "event": event, "times": np.linspace(200, 1800, 9)}


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning:shap")
def test_the_code_of_the_pages_runs(capsys: pytest.CaptureFixture[str]) -> None:
    run = names_in_the_text()
    exec(python_blocks("others.rst"), run)
    assert run["search"].best_score_ > -0.25  # the Brier score of S = 1/2
    assert "horTh_yes" in capsys.readouterr().out
    run |= {"model": run["search"].best_estimator_.estimator_}
    exec(python_blocks("benchmark.rst"), run)
    printed = capsys.readouterr().out
    assert re.search(r"^ctd 0\.4 0\.[67]\d*$", printed, re.MULTILINE)
    _fits_and_predicts(run["Exponential"])
    exec(python_blocks("index.rst"), run)
    assert "586 subjects" in capsys.readouterr().out


def _fits_and_predicts(model_class: type[Competitor]) -> None:
    """The documented class takes part as it stands: the runner fits it, its curve is the closed form's."""
    time = np.array([1.0, 2.0, 3.0, 4.0])
    part = SurvivalData(time, np.array([True, False, True, True]), np.zeros((4, 1)))
    row, model = run_trial(model_class, Key("any", "exponential", 1, 0), 1, {}, part, part, TrialOptions())
    assert row["status"] == "ok", row.get("message")
    assert model is not None
    again = model_class.from_state(model.state())
    expected = np.exp(-np.array([0.5, 2.0]) * 3 / 10)
    assert again.predict_survival(part, np.array([0.5, 2.0])) == pytest.approx(np.tile(expected, (4, 1)))


def test_examples_need_nothing_of_the_clone() -> None:
    """They run from the wheel, in which there is soden alone."""
    for path in [ROOT / "examples" / "quickstart.py", *(ROOT / "examples" / "gallery").glob("*.py")]:
        assert not re.findall(r"^\s*(?:from|import) (?:benchmarks|baselines)\b", path.read_text(), re.MULTILINE), path


def test_every_public_method_is_in_the_reference() -> None:
    said = set(re.findall(r"auto(?:method|property):: SODEN\.(\w+)", (DOCS / "api.rst").read_text()))
    methods = {name for name in dir(SODEN) if not name.startswith("_")}
    assert said == methods - {"scaling_"}  # of the first member, for whoever reads the code


def columns_of_others() -> dict[str, str]:
    """The table of `others.rst`: the text of each library's column."""
    rows = re.findall(r"   \* -(.*)\n((?:     -.*\n)+)", (DOCS / "others.rst").read_text())
    cells = [re.findall(r"     -(.*)", rest) for _, rest in rows]
    return {head.strip(): "\n".join(column) for head, *column in zip(*cells, strict=True)}


def test_the_names_of_the_others_are_theirs() -> None:
    """Each call and keyword of the table is one of the library it stands under."""
    import torchtuples
    from lifelines import WeibullAFTFitter
    from lifelines import utils as lifelines_utils
    from lifelines.fitters.coxph_fitter import CoxPHFitter, SemiParametricPHFitter
    from pycox.evaluation import EvalSurv
    from pycox.models import LogisticHazard
    from sksurv import metrics
    from sksurv.ensemble import RandomSurvivalForest
    from sksurv.util import Surv

    owners = {
        "soden": (SODEN,),
        "scikit-survival": (RandomSurvivalForest, metrics, Surv),
        "lifelines": (CoxPHFitter, SemiParametricPHFitter, WeibullAFTFitter, lifelines_utils),
        "pycox": (LogisticHazard, EvalSurv, torchtuples.callbacks),
    }
    columns = columns_of_others()
    assert list(columns) == list(owners)
    for library, text in columns.items():
        called = set(re.findall(r"(?:`|\.)(\w+)\(", text))
        assert len(called) > 3
        absent = [name for name in called if not any(hasattr(owner, name) for owner in owners[library])]
        assert not absent, f"{library} has no {absent}"
        keywords = set(re.findall(r"`(\w+)=`", text))
        known = {name for owner in owners[library] if hasattr(owner, "fit") for name in signature(owner.fit).parameters}
        assert keywords <= known, f"{library} has no {keywords - known}"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages in a copy, since the gallery is written beside its sources; `make docs` executes the examples."""
    copy = tmp_path_factory.mktemp("site")
    leave = shutil.ignore_patterns("_build", "gallery", "__pycache__")
    shutil.copytree(DOCS, copy / "docs", ignore=leave)
    shutil.copytree(ROOT / "examples" / "gallery", copy / "examples" / "gallery")
    tables = [
        f"benchmarks/{name}.csv" for name in ("defaults/chosen", "defaults/confirmed", "studies/survset/confirmed")
    ]
    figures = re.findall(r"(?:image|figure):: \.\./(\S+)", "".join(path.read_text() for path in DOCS.glob("*.rst")))
    for name in (*tables, *figures):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-D", "plot_gallery=0", "-b", "html"]
    done = subprocess.run(
        [*command, str(copy / "docs"), str(copy / "html")],
        cwd=ROOT, capture_output=True, text=True, env={**os.environ, "MPLBACKEND": "Agg"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return copy / "html"


@pytest.mark.slow
def test_pages_fit_their_screen_and_need_no_network(site: Path) -> None:
    binary = find_chromium()
    if binary is None:
        pytest.skip("needs chromium (Debian: apt-get install chromium)")
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 10
    with Page(binary) as browser:
        for page in pages:
            for width in (390, 1280):
                browser.open(page, width)
                assert browser.run("[innerWidth, document.documentElement.scrollWidth]") == [width, width], page.name
                assert browser.run("[...document.images].every(i => i.complete && i.naturalWidth > 0)"), page.name
        assert browser.complaints == []
