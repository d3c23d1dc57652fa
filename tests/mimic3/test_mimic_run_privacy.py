"""A run on credentialed tables: nothing of it but the build, the data and the models tells of a patient."""

import json
import os
import re
import stat
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import beside

from benchmarks import data, registry
from benchmarks.__main__ import main
from benchmarks.config import resolve
from benchmarks.data.mimic3 import cohort
from benchmarks.data.preprocess import prepared
from benchmarks.data.splits import Split
from benchmarks.results import privacy
from benchmarks.results.folder import read_results
from benchmarks.study import plan
from benchmarks.study.evaluate import score
from benchmarks.study.reference import pack, renew

CONFIG = {
    "tier": "quick", "run": "mine", "datasets": ["mimic"], "models": ["cox", "cox_time", "soden"], "trials": 1,
    "splits": {"mimic": 2}, "training": {"max_epochs": 2}, "numerics": "portable",
    "data": {"mimic": {"raw": "set below", "options": {"row_counts": "warn"}}},
}  # fmt: skip
STEPS = ["mimic cohort", *(f"mimic events/{name}" for name in ("services", "diagnoses_icd", "procedureevents_mv"))]
STEPS += [f"mimic events/{name}" for name in ("outputevents", "labevents", "chartevents")]
STEPS += ["mimic features", "data mimic", "splits mimic"]
STEPS += [
    f"{step} mimic/{model}{end}" for model in CONFIG["models"] for step, end in (("tune", "/0000"), ("evaluate", ""))
]
# What a run needs to go on, in folders that are closed and ignored; these two models keep the times of events.
ROWS = ("mimic3", "data/mimic.npz", "trials/mimic/cox/states", "trials/mimic/cox_time/states")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The demo's tables, taken for real ones: from raw tables to the page, in a clone of somebody's own project."""
    clone = tmp_path_factory.mktemp("clone")
    subprocess.run(["git", "init", "-q", str(clone)], check=True)
    folder, raw = clone / "results" / "mine", beside("mimic-iii-demo")
    before = os.umask(0o022)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cohort, "mark_of", lambda *_: "")
        patch.setenv("MIMIC_III", "")
        for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
            patch.setenv(name, "1")
        config = resolve(CONFIG | {"data": {"mimic": {"raw": str(raw), "options": {"row_counts": "warn"}}}})
        privacy.make_folder(folder)
        kept = plan.without_raw_tables(config)
        (folder / "config.json").write_text(json.dumps(kept.plain()))
        for step in STEPS:
            name, key = step.split(" ")
            assert main(["step", name, str(folder), key]) == 0, step
        assert main(["step", "gather", str(folder)]) == 0
        assert main(["report", "mine", "--directory", str(clone)]) == 0
        yield folder
    os.umask(before)


def texts(path: Path) -> Iterator[str]:
    """What a file says: tables as CSV, streams of a PDF inflated, images inside a page left out."""
    content = path.read_bytes()
    if path.suffix == ".parquet":
        yield pd.read_parquet(path).to_csv()
    elif path.suffix == ".pdf":
        for stream in re.findall(rb"stream\r?\n(.*?)endstream", content, re.DOTALL):
            try:
                yield zlib.decompress(stream).decode("latin-1")
            except zlib.error:
                continue
    elif path.suffix == ".pt":
        yield " ".join(numbers(torch.load(path, weights_only=True)))
    elif path.suffix not in (".png", ".npz"):
        yield re.sub(r"data:[a-z/+]+;base64,[\w+/=]+", "", content.decode())
    elif path.suffix == ".npz":
        with np.load(path) as arrays:
            yield " ".join(repr(v) for name in arrays.files for v in np.ravel(arrays[name]).tolist())


def numbers(state: Any) -> Iterator[str]:
    """All numbers of a model's state."""
    if isinstance(state, dict | list | tuple):
        for value in state.values() if isinstance(state, dict) else state:
            yield from numbers(value)
    elif isinstance(state, torch.Tensor):
        yield from map(repr, state.double().ravel().tolist())
    elif isinstance(state, int | float):
        yield repr(state)


def told(path: Path, stays: pd.DataFrame, times: np.ndarray) -> list[str]:
    """Ids, dates and times of patients that a file holds; times where six digits agree."""
    text = "\n".join(texts(path))
    numbers = set(re.findall(r"(?<![\w.+-])\d{5,6}(?![\w.])", text))
    found = [name for name in ("subject_id", "hadm_id", "icustay_id") if numbers & set(stays[name].astype(str))]
    found += ["date"] if re.search(r"\b2[012]\d\d-\d\d-\d\d", text) else []
    decimals = np.unique([float(d) for d in re.findall(r"\d+\.\d{5,}", text)] or [0.0])
    near = np.abs(decimals[np.clip(np.searchsorted(decimals, times), 0, len(decimals) - 1)] / times - 1)
    before = np.abs(decimals[np.clip(np.searchsorted(decimals, times) - 1, 0, len(decimals) - 1)] / times - 1)
    return found + ["time"] * bool((np.minimum(near, before) < 1e-6).any())


@pytest.mark.filterwarnings("ignore")
def test_nothing_but_the_build_tells_of_a_patient(run: Path) -> None:
    stays = pd.read_parquet(run / "mimic3" / "stays.parquet")
    table = data.Dataset.load(run / "data" / "mimic.npz")
    times = np.concatenate([table.time, stays["time"]])
    assert told(run / "mimic3" / "stays.parquet", stays, times) == [
        "subject_id",
        "hadm_id",
        "icustay_id",
        "date",
        "time",
    ]
    assert told(run / "data" / "mimic.npz", stays, times) == ["time"]
    for path in (run / "trials" / "mimic" / "cox_time" / "states").iterdir():
        assert told(path, stays, times) == ["time"]
    folders = (run, run.parents[1] / "figures" / "mine")
    files = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    files = [path for path in files if not any(path.is_relative_to(run / name) for name in ROWS)]
    files += [run / "mimic3" / name for name in ("flow.csv", "checks.csv", "build.json")]
    assert {path.name for path in files} >= {"report.html", "cells.csv", "cox.json", "trials.parquet", "datasets.csv"}
    names = {path: found for path in files if (found := told(path, stays, times))}
    assert not names
    raw = str(beside("mimic-iii-demo"))
    assert not [path for path in files if any(raw in text for text in texts(path))]


def test_groups_of_few_patients_and_exact_times_are_not_scored(run: Path) -> None:
    """18 test patients in groups of two, or halves of nine: none is shown; medians have two digits."""
    found = json.loads((run / "scores" / "mimic" / "soden.json").read_text())
    assert found["curves"] == found["risk_groups"] == []
    (row,) = pd.read_csv(run / "datasets.csv").to_dict("records")
    assert row["observed_median"] == float(f"{row['observed_median']:.2g}")


def test_what_is_shown_of_larger_groups_is_coarse(run: Path) -> None:
    model = registry.model("soden").load(next((run / "trials" / "mimic" / "soden" / "states").iterdir()))
    table = data.Dataset.load(run / "data" / "mimic.npz")
    (part,) = prepared(table, Split.load(run / "splits" / "mimic" / "1.npz"), "train")
    _, curves, groups = score(model, part, private=True)
    shown = [groups["time"], groups["grid"][-1], *(row["horizon"] for row in curves)]
    assert shown == [float(f"{value:.2g}") for value in shown]
    assert groups["n"]["high"] == 27
    assert curves == []  # 54 patients in groups of five
    assert np.isnan(privacy.shown_share(1 / 90, 90))
    assert privacy.shown_share(0.5, 90) == 0.5
    summary = {"n": 90, "censoring_rate": 0.9, **dict.fromkeys(("censored_mean", "censored_median"), 1.23456)}
    summary |= dict.fromkeys(("observed_mean", "observed_median"), 1.23456)
    shown_summary = privacy.coarse_summary(summary)
    assert shown_summary["censored_median"] == 1.2
    assert np.isnan([shown_summary[name] for name in ("censoring_rate", "observed_mean", "observed_median")]).all()


def test_git_and_other_users_see_nothing(run: Path) -> None:
    clone = run.parents[1]
    added = subprocess.run(["git", "add", "-A", "-n", "."], cwd=clone, capture_output=True, text=True, check=True)
    assert added.stdout == ""
    for folder in (run, clone / "figures" / "mine"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        later = [
            path for path in folder.rglob("*") if path.is_file() and path.name not in (".gitignore", "config.json")
        ]
        assert {stat.S_IMODE(path.stat().st_mode) for path in later} == {0o600}


def test_nothing_of_it_is_published(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reference = tmp_path / "reference"
    for refused in (lambda: renew(run, reference), lambda: pack(run, run)):
        with pytest.raises(ValueError, match=r"was made from credentialed data \(mimic\)"):
            refused()
    assert main(["report", "mine", "--directory", str(run.parents[1]), "--crate"]) == 1
    assert "no research object is made of it" in capsys.readouterr().err
    assert not reference.exists()
    assert not (run / "crate.zip").exists()
    assert read_results(run).notes["mimic"]["credentialed"]
