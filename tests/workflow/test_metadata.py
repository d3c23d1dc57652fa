"""What catalogues, archives and lawyers read: one version, one licence, one list of authors, and who needs GPL code."""

import importlib
import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distributions
from types import ModuleType
from typing import Any

import pandas as pd
import pytest
import yaml
from conftest import ROOT

import soden

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# What Zenodo's deposit interface takes for a software record, of what we say.
ZENODO = {"title", "description", "upload_type", "access_right", "version", "license", "creators", "keywords"}
ZENODO |= {"related_identifiers"}

FIT = """
import sys

for name in ("sksurv", "ecos"):
    sys.modules[name] = None  # an import of it raises ImportError
import numpy as np
import soden

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
time = rng.exponential(np.exp(-X[:, 0]))
event = np.ones(60)
for kind in (soden.SODEN, soden.SODENPH, soden.SODENCox):
    model = kind(max_epochs=2, n_models=1).fit(X, time, event)
    assert np.isfinite(model.predict_survival(X, [0.5, 1.0])).all()
    assert np.isfinite(model.predict_hazard(X, [0.5, 1.0])).all()
    assert 0 <= model.score(X, time, event) <= 1
try:
    model.predict_survival_function(X)
except ImportError as error:
    print(error)
"""


def tool() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / ".ci")
        return importlib.import_module("metadata")


@pytest.fixture(scope="module")
def cff() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    return found


def test_the_files_are_what_the_one_place_says() -> None:
    for name, text in tool().files().items():
        assert (ROOT / name).read_text() == text, f"{name}: `make numbers` writes it"


def test_one_edit_moves_the_version_everywhere(cff: dict[str, Any]) -> None:
    text = tool().citation((ROOT / "CITATION.cff").read_text(), PROJECT, "9.8.7")
    moved = yaml.safe_load(text)
    assert moved == cff | {"version": "9.8.7"}
    assert tool().codemeta(moved, PROJECT)["version"] == tool().zenodo(moved)["version"] == "9.8.7"
    assert tool().version() == soden.__version__ == cff["version"]


def test_authors_and_licence_are_the_same_everywhere(cff: dict[str, Any]) -> None:
    [author] = PROJECT["authors"]
    assert cff["authors"] == [author]
    holder = f"Copyright (c) 2026 {author['name']}"
    assert holder in (ROOT / "LICENSE").read_text()
    assert holder in (ROOT / "NOTICE").read_text()
    assert f'author = "{author["name"]}"' in (ROOT / "docs" / "conf.py").read_text()
    assert (ROOT / "LICENSE").read_text().startswith(f"{PROJECT['license']} License\n")
    assert cff["license"] == PROJECT["license"] == "MIT"


def test_nothing_is_named_that_does_not_exist(cff: dict[str, Any]) -> None:
    """The project has no repository address, DOI or ORCID yet; no file may claim one."""
    codemeta, zenodo = (json.loads((ROOT / name).read_text()) for name in ("codemeta.json", ".zenodo.json"))
    assert not {"codeRepository", "identifier", "issueTracker"} & codemeta.keys()
    assert not {"repository-code", "repository", "doi", "identifiers", "url"} & cff.keys()
    assert set(zenodo) == ZENODO
    assert zenodo["creators"] == [{"name": author["name"]} for author in PROJECT["authors"]]
    assert {link["relation"] for link in zenodo["related_identifiers"]} == {"isSupplementTo", "references"}


def test_the_notice_names_every_package_under_copyleft() -> None:
    """By the packages' own metadata; docutils, which says GPL of one tool that its wheel lacks, is BSD."""
    copyleft = set()
    for about in (dist.metadata for dist in distributions()):
        said = [about["License-Expression"], (about["License"] or "")[:100], *(about.get_all("Classifier") or ())]
        text = "; ".join(filter(None, said))
        if re.search("GPL|MPL", text) and "BSD License" not in text:
            copyleft.add(about["Name"])
    assert {"scikit-survival", "ecos", "py7zr"} <= copyleft
    assert not copyleft - set(re.findall(r"[\w-]+", (ROOT / "NOTICE").read_text()))


@pytest.mark.slow
def test_validators_of_others_accept_the_files() -> None:
    """Each is installed by `make evidence`; skipped where there is no package registry."""
    files = "CITATION|codemeta|croissant|ci.yml"
    done = subprocess.run(
        [sys.executable, ".ci/evidence.py", "--only", files], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("\n") == 2 + files.count("|") + 1
    if "skipped" in done.stdout:
        pytest.skip(done.stdout)


def test_the_library_needs_no_line_of_scikit_survival() -> None:
    done = subprocess.run([sys.executable, "-c", FIT], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "step functions are scikit-survival's: install it, or ask for return_array=True\n"


def test_the_two_lines_replay_a_search(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of ARTIFACT.md; every best of 20 is the score of a trial that ended well."""
    monkeypatch.chdir(ROOT)
    [example] = re.findall(r"```python replay\n(.*?)```", (ROOT / "ARTIFACT.md").read_text(), flags=re.DOTALL)
    names: dict[str, Any] = {"pd": pd}
    exec(example, names)
    trials = names["trials"]
    best = trials[trials["status"] == "ok"].groupby("split")["score"].agg(["median", "max"]).mean()
    assert best["median"] < float(capsys.readouterr().out) <= best["max"]
