"""Mistakes people make, of every verb: each ends with an exit code and a sentence, and no file is lost or changed.

The table is `tests/support/mistakes.txt`; what its names stand for is made here, in a folder whose path has a space, an
apostrophe and an umlaut. Mistakes in a configuration follow as YAML, each through `plan` and `run` alike.
"""

import json
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import yaml
from conftest import ROOT
from support.run_folder import write_run

from benchmarks import data, registry
from benchmarks.__main__ import main, verbs
from benchmarks.config import resolve
from benchmarks.data.simulated import simulate
from benchmarks.data.splits import make_split

TABLE = Path(__file__).parents[1] / "support" / "mistakes.txt"
ROWS = [line for line in TABLE.read_text().splitlines() if line and not line.startswith("#")]
# Each kind of mistake in a configuration is in tests/study/test_config.py; these show that both verbs check it.
CONFIG = [
    line.split(" | ")
    for line in """
{training: {max_epoch: 3}} | training: unknown key 'max_epoch' | choose among clip, max_epochs
{models: [soden, sodn]} | models: unknown name 'sodn' | choose among {models}
{run: ../x} | run: got '../x' | wanted letters, digits, - and _ | --directory
""".strip().splitlines()
]
# What there is, by the folders that hold it: a file more is a name more, and no test fails.
THERE = {
    "{clone}": str(ROOT),
    "{kept}": str(ROOT / "results"),
    "{tiers}": ", ".join(sorted(path.stem for path in (ROOT / "config").glob("*.yaml"))),
    "{datasets}": ", ".join(data.names()),
    "{models}": ", ".join(registry.names()),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs, data, splits, configurations and tables, whole and damaged."""
    world = tmp_path_factory.mktemp("mistakes") / "o'ur wörld"
    made = write_run(world / "results" / "made", n=2)
    _damaged_runs(made)
    _begun_runs(world / "results", simulate(100, seed=1))
    (world / "empty").mkdir()
    scores = pd.read_csv(made / "scores.csv")
    pd.concat([scores, scores[:1]]).to_csv(world / "twice.csv", index=False)
    for name, text in {
        "text.txt": "hello", "cut.parquet": "PAR1", "paper.yaml": "tier: paper", "gpu.yaml": "device: cuda:7",
        "known.yaml": json.dumps({"known": str(made)}), "knownless.yaml": "known: results/none",
    }.items():  # fmt: skip
        (world / name).write_text(text)
    return world


def _damaged_runs(made: Path) -> None:
    for name, file in {"trials": "trials.parquet", "cells": "cells.csv", "simulation": "simulation/1.npz"}.items():
        path = Path(shutil.copytree(made, made.with_name(f"cut_{name}"))) / file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(path.read_bytes()[:20] if path.suffix == ".parquet" else b"")


def _begun_runs(results: Path, dataset: data.Dataset) -> None:
    """A run that has done nothing yet, and some that have data and splits and a damaged file."""
    config = resolve({"datasets": ["simulated"], "models": ["cox", "soden"], "trials": 1, "device": "cpu"}).plain()
    for name in ("begun", "cut_data", "cut_splits", "cut_chunk"):
        run = results / name
        (run / "splits" / "simulated").mkdir(parents=True)
        (run / "config.json").write_text(json.dumps(config | {"run": name}))
        if name != "begun":
            dataset.save(run / "data" / "simulated.npz")
            for split in (1, 2):
                make_split(dataset, "drawn", split, seed=1).save(run / "splits" / "simulated" / f"{split}.npz")
    for name in ("cut_data/data/simulated.npz", "cut_splits/splits/simulated/1.npz"):
        (results / name).write_bytes((results / name).read_bytes()[:100])
    chunk = results / "cut_chunk" / "trials" / "simulated" / "cox" / "0000.parquet"
    chunk.parent.mkdir(parents=True)
    chunk.write_text("PAR1")


@pytest.fixture(scope="module")
def before(world: Path) -> dict[Path, bytes]:
    """Everything there was: of the world, and of the project where a run could do harm."""
    ours = [p for folder in ("results/published", "results/reference", "config") for p in (ROOT / folder).rglob("*")]
    ours += (ROOT / "benchmarks").rglob("*.csv")
    return {path: path.read_bytes() for path in [*world.rglob("*"), *ours] if path.is_file()}


@pytest.fixture
def nothing_lost(world: Path, before: dict[Path, bytes], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(world)
    for name in ("SODEN_DATA", "MIMIC_III", "SODEN_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    yield
    changed = [path for path, content in before.items() if not path.is_file() or path.read_bytes() != content]
    assert not changed


def filled(text: str) -> str:
    for name, value in THERE.items():
        text = text.replace(name, value)
    return text


def said(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What a command that must fail says; any exception but argparse's own exit is a traceback in a shell."""
    try:
        code = main(words)
    except SystemExit as stop:
        code = int(stop.code or 0)
    text = capsys.readouterr().err
    assert code != 0
    assert "Traceback" not in text
    return text


@pytest.mark.parametrize("row", ROWS, ids=[row.split(" | ")[0] for row in ROWS])
def test_a_mistake_is_answered(
    row: str, nothing_lost: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command, *pieces = filled(row).split(" | ")
    words = shlex.split(command)
    while match := re.fullmatch(r"([A-Z_0-9]+)=(.*)", words[0]):
        monkeypatch.setenv(*match.groups())
        del words[0]
    text = said(words, capsys)
    assert [piece for piece in pieces if piece not in text] == [], text


@pytest.mark.parametrize("row", CONFIG, ids=[row[0] for row in CONFIG])
def test_a_mistake_in_a_configuration_is_answered(
    row: list[str], nothing_lost: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, *pieces = map(filled, row)
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    assert isinstance(yaml.safe_load(text), dict)
    for verb in (["plan"], ["run", "--directory", str(tmp_path)]):
        answer = said([*verb, "--configfile", str(path)], capsys)
        assert [piece for piece in pieces if piece not in answer] == [], answer
    assert not (tmp_path / "results").exists()


def test_the_table_has_a_mistake_of_every_verb() -> None:
    used = {next(w for w in row.split() if "=" not in w) for row in ROWS if not row.startswith(("SODEN", "MIMIC"))}
    assert set(verbs()) <= used


def test_the_traceback_is_there_for_who_asks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for value, shown in (("1", True), ("0", False), ("", False)):
        monkeypatch.setenv("SODEN_DEBUG", value)
        assert main(["plan", "papr"]) == 1
        text = capsys.readouterr().err
        assert ("Traceback" in text and "config.py" in text) == shown
        assert text.splitlines()[-1].startswith("plan: tier: got 'papr'")


def test_places_that_cannot_be_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(0o500)
    if os.access(locked, os.W_OK):  # root may write everywhere but here
        locked = Path("/proc/1")
    text = said(["report", "--published", "--out", str(locked / "tables")], capsys)
    assert str(locked / "tables") in text
    assert re.search("make it writable, or choose another place|check the path", text)
