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
from benchmarks.data.simulated import simulate
from benchmarks.data.splits import make_split
from benchmarks.study.config import resolve

TABLE = Path(__file__).parents[1] / "support" / "mistakes.txt"
ROWS = [line for line in TABLE.read_text().splitlines() if line and not line.startswith("#")]
CONFIG = [line.split(" | ") for line in """
{trails: 3} | (top level): unknown key 'trails' | choose among chunk, data
{training: {max_epoch: 3}} | training: unknown key 'max_epoch' | choose among clip, max_epochs
{data: {mimic: {rows: x}}} | data.mimic: unknown key 'rows' | choose among options, raw
{trials: many} | trials: got 'many' | wanted a whole number of at least 1
{trials: 0} | trials: got 0 | wanted a whole number of at least 1
{trials: 2.5} | trials: got 2.5 | wanted a whole number of at least 1
{trials: yes} | trials: got True | wanted a whole number of at least 1
{trials: null} | trials: got None | wanted a whole number of at least 1
{chunk: -1} | chunk: got -1 | wanted a whole number of at least 1
{seed: -1} | seed: got -1 | wanted a whole number of at least 0
{threads: 0} | threads: got 0 | wanted a whole number of at least 1
{training: {clip: 1e2}} | training.clip: got '1e2' | wanted a number above 0 | YAML reads 1e2 as a text: write 100.0
{training: {clip: .inf}} | training.clip: got inf | wanted a finite number
{training: {use_momentum: 1}} | training.use_momentum: got 1 | wanted true or false
{training: {time_limit: none}} | training.time_limit: got 'none' | wanted a number above 0 or null
{training: {nll: paper}} | training.nll: got 'paper' | choose among published, text
{training: 3} | training: got 3 | wanted a map of keys
{models: soden} | models: got 'soden' | wanted a list such as [a, b]
{models: []} | models: got an empty list | wanted at least one name
{models: [cox]} | models: must include soden
{models: [soden, sodn]} | models: unknown name 'sodn' | choose among {models}
{models: [soden, 3]} | models.1: got 3 | wanted a name such as soden_ph
{models: [soden, soden]} | models: got ['soden', 'soden'] | wanted each name once
{datasets: [Support]} | datasets: unknown name 'Support' | choose among {datasets}
{datasets: [../support]} | datasets: unknown name '../support' | choose among {datasets}
{splits: {support: 0}} | splits.support: got 0 | wanted a whole number of at least 1
{splits: {suport: 2}} | splits: unknown name 'suport' | choose among {datasets}
{skip: {support: [coxx]}} | skip.support: unknown name 'coxx' | choose among {models}
{fallback: {support: flchian}} | fallback: unknown name 'flchian' | choose among {datasets}
{split_source: theirs} | split_source: got 'theirs' | choose among auto, drawn, released
{evaluation: {convention: paper}} | evaluation.convention: got 'paper' | choose among published, text
{device: gpu} | device: got 'gpu' | wanted auto, cpu, cuda or cuda:1
{numerics: fast} | numerics: got 'fast' | choose among portable, native
{width_rounding: up} | width_rounding: got 'up' | choose among truncate, nearest
{data: {folder: [a, b]}} | data.folder: got ['a', 'b'] | wanted a text
{data: {offline: 1}} | data.offline: got 1 | wanted true or false
{data: {simulated_n: 3}} | data.simulated_n: got 3 | wanted a whole number of at least 10
{data: {mimic: {options: {max_age: 3}}}} | data.mimic.options: unknown key 'max_age' | choose among admission_type
{simulation: {repetitions: 0}} | simulation.repetitions: got 0 | wanted a whole number of at least 1
{resources: {mem_mb: 10}} | resources.mem_mb: got 10 | wanted a whole number of at least 100
{keep_failed: maybe} | keep_failed: got 'maybe' | wanted true or false
{known: 3} | known: got 3 | wanted a text | put it in quotes
{run: 2024} | run: got 2024 | wanted a text | put it in quotes
{run: ..} | run: got '..' | wanted letters, digits, - and _ | --directory
{run: .} | run: got '.' | wanted letters, digits, - and _ | --directory
{run: ../x} | run: got '../x' | wanted letters, digits, - and _ | --directory
{run: a/b} | run: got 'a/b' | wanted letters, digits, - and _ | --directory
{run: /tmp/x} | run: got '/tmp/x' | wanted letters, digits, - and _ | --directory
{run: "x\\n"} | run: got 'x | wanted letters, digits, - and _ | --directory
{run: my run} | run: got 'my run' | wanted letters, digits, - and _ | --directory
{run: prüfung} | run: got 'prüfung' | wanted letters, digits, - and _ | --directory
{run: published} | run: got 'published' | belongs to the project | choose another
{run: reference} | run: got 'reference' | belongs to the project | choose another
""".strip().splitlines()]  # fmt: skip
# What there is, by the folders that hold it: a file more is a name more, and no test fails.
THERE = {
    "{clone}": str(ROOT),
    "{kept}": str(ROOT / "results"),
    "{tiers}": ", ".join(sorted(path.stem for path in (ROOT / "config").glob("*.yaml"))),
    "{datasets}": ", ".join(data.names()),
    "{models}": ", ".join(registry.names()),
}
# What a chunk of trials and its scores need; the mistake comes after, and the last of two options counts.
JOB = "--data sim.npz --splits splits --model cox --pairs 1:0 --seed 1 --device cpu --out a/trials/simulated/cox/0.pq"
SCORED = "--data sim.npz --splits splits --model cox --seed 1 --out new/s.parquet --chosen new/c.json"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs, data, splits, configurations and tables, whole and damaged."""
    world = tmp_path_factory.mktemp("mistakes") / "o'ur wörld"
    made = write_run(world / "results" / "made", n=2)
    _damaged_runs(made)
    _begun_runs(world / "results")
    dataset = simulate(100, seed=1)
    dataset.save(world / "sim.npz")
    make_split(dataset, "drawn", 1, seed=1).save(world / "splits" / "1.npz")
    (world / "cut.npz").write_bytes((world / "sim.npz").read_bytes()[:300])
    (world / "cut_splits").mkdir()
    (world / "cut_splits" / "1.npz").write_bytes((world / "splits" / "1.npz").read_bytes()[:100])
    (world / "empty").mkdir()
    pd.DataFrame({"a": [1]}).to_csv(world / "foreign.csv", index=False)
    pd.DataFrame({"a": [1]}).to_parquet(world / "foreign.parquet", index=False)
    scores = pd.read_csv(made / "scores.csv")
    pd.concat([scores, scores[:1]]).to_csv(world / "twice.csv", index=False)
    for name, text in {
        "text.txt": "hello", "nothing.csv": "", "cut.parquet": "PAR1", "nothing.yaml": "", "torn.yaml": "a: [1\nb: 2",
        "paper.yaml": "tier: paper", "unknown.yaml": "tier: huge", "gpu.yaml": "device: cuda:7",
        "known.yaml": json.dumps({"known": str(made)}), "knownless.yaml": "known: results/none",
    }.items():  # fmt: skip
        (world / name).write_text(text)
    return world


def _damaged_runs(made: Path) -> None:
    for name, file in {
        "cut_config": "config.json", "cut_trials": "trials.parquet", "cut_cells": "cells.csv",
        "cut_note": "data/support.json", "cut_chosen": "chosen/support/soden.json", "cut_table": "trials.parquet",
        "cut_simulation": "simulation/1.npz", "foreign": "config.json",
    }.items():  # fmt: skip
        shutil.copytree(made, made.with_name(name))
        path = made.with_name(name) / file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(path.read_bytes()[:20] if path.suffix in (".json", ".parquet") else b"")
    (made.with_name("foreign") / "config.json").write_text("{}")
    for name in ("cut_config", "foreign"):  # with trials beside the tables these are counted by the configuration
        (made.with_name(name) / "trials").mkdir()


def _begun_runs(results: Path) -> None:
    """A run that has done nothing yet, and one whose data were cut short."""
    config = resolve({"datasets": ["simulated"], "models": ["cox", "soden"]})
    for name in ("begun", "cut_data"):
        (results / name / "splits" / "simulated").mkdir(parents=True)
        (results / name / "config.json").write_text(json.dumps(config | {"run": name}))
    (results / "cut_data" / "data").mkdir()
    (results / "cut_data" / "data" / "simulated.npz").write_bytes(b"PK")


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
    words = shlex.split(command.replace("{job}", JOB).replace("{scored}", SCORED))
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


def test_the_tables_are_long_and_of_every_verb() -> None:
    assert len(ROWS) + len(CONFIG) >= 120
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
    text = said(["tables", "--published", "--out", str(locked / "tables")], capsys)
    assert str(locked / "tables") in text
    assert re.search("make it writable, or choose another place|check the path", text)
