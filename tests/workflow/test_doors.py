"""Doors that cannot hurt, tried in a throw-away copy of the project: names of runs, and paths with odd characters."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from conftest import ROOT

from benchmarks.commands._arguments import place
from benchmarks.data.mimic3.synthesise import write

NAMES = ["..", ".", "../x", "a/b", "published", "reference", "beyond", "/tmp/x", "two\nlines", "-n"]
# Everything is loaded once and forked for every try: a start of its own would take two seconds each.
TRIES = """
import json, jsonschema, os, sys
import benchmarks.data, benchmarks.study.cost
benchmarks.data.names()
from snakemake.cli import main
for i, words in enumerate(json.load(sys.stdin)):
    if os.fork() == 0:
        out = os.open(f"said-{i}", os.O_CREAT | os.O_WRONLY)
        os.dup2(out, 1), os.dup2(out, 2)
        try:
            main(words)
        except SystemExit as stop:
            os.write(1, f"exit {stop.code}".encode())
        os._exit(0)
    os.wait()
"""


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with results and figures of its own and of others, in a path that needs quoting."""
    clone = tmp_path_factory.mktemp("doors") / "o'ur clöne"
    ignore = shutil.ignore_patterns("__pycache__")
    for part in ("soden", "baselines", "benchmarks", "config", "workflow", "results/published", "results/reference"):
        shutil.copytree(ROOT / part, clone / part, ignore=ignore)
    for name in ("Snakefile", "environment.yml", "requirements.txt", "README.md"):
        shutil.copy(ROOT / name, clone / name)
    for name in ("figures/reference/headline.png", "figures/quick/mine.png", "results/quick/mine.csv", "../x/mine.txt"):
        path = clone / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    return clone


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def tries(clone: Path) -> dict[str, list[str]]:
    """A run's name by --config, by a file, and by a tier of config/, each as Snakemake would be called."""
    found = {}
    for i, name in enumerate(NAMES):
        text = json.dumps({"run": name})  # which is YAML as well
        (clone / f"{i}.yaml").write_text(text)
        (clone / "config" / f"mine{i}.yaml").write_text(text)
        found |= {
            f"--config {name!r}": ["--cores", "1", "--config", f"run={json.dumps(name)}"],
            f"--configfile {name!r}": ["--cores", "1", "--configfile", f"{i}.yaml"],
            f"config/ {name!r}": ["--cores", "1", "--config", f"tier=mine{i}"],
        }
    return found


def test_no_name_of_a_run_deletes_or_overwrites(clone: Path, tmp_path: Path) -> None:
    """Each is a real start, not a dry run: what lets a name through would begin to work here."""
    asked = tries(clone)
    before = files(clone.parent)
    process = subprocess.run(
        [sys.executable, "-c", TRIES.replace('f"said-{i}"', f'f"{tmp_path}/said-{{i}}"')],
        input=json.dumps(list(asked.values())), cwd=clone, text=True, capture_output=True, timeout=600,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    for i, (what, words) in enumerate(asked.items()):
        answer = (tmp_path / f"said-{i}").read_text()
        assert answer.endswith("exit 1"), (what, words, answer)
        assert re.search(
            r"run: got .*; (wanted letters, digits, - and _|results/\w+ belongs to the project)", answer
        ), answer
        assert "Traceback" not in answer
    after = files(clone.parent)
    assert {path for path, content in before.items() if after.get(path) != content} == set()


def dry_run(clone: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--dry-run", *words]
    return subprocess.run(command, cwd=clone, capture_output=True, text=True)


def test_every_output_lies_in_the_two_folders_of_the_run(clone: Path) -> None:
    done = dry_run(clone, "--config", "run=fine-1", "tier=quick")
    made = re.findall(r"^ +(?:output|log): (.*)$", done.stdout, flags=re.MULTILINE)
    paths = {path for line in made for path in line.split(", ")}
    assert len(paths) > 40, done.stderr
    assert {path for path in paths if not re.match(r"results/fine-1/|figures/fine-1$", path)} == set()


def test_no_cores_are_refused_instead_of_waited_for(clone: Path) -> None:
    """By Snakemake itself, which takes --cores 0 and then waits for ever; `run` has a row in the table of mistakes."""
    command = [sys.executable, "-m", "snakemake", "--cores", "0", "--config", "run=idle"]
    done = subprocess.run(command, cwd=clone, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "--cores: got 0; wanted at least 1, or `all`" in done.stdout + done.stderr
    assert not (clone / "results" / "idle").exists()


def test_verbs_write_over_nothing_that_is_tracked() -> None:
    """`place` refuses every name at the top of the repository, but for folders that runs share with what is kept."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    tops = {line.split("/")[0] for line in listed.stdout.splitlines()} - {"results", "figures"}
    assert len(tops) > 15
    for name in (*tops, "results/published", "results/reference", "figures/reference", ".git"):
        with pytest.raises(argparse.ArgumentTypeError, match=f"{re.escape(name)} belongs to the project"):
            place(str(ROOT / name))
    assert place(str(ROOT / "results" / "mine")) == ROOT / "results" / "mine"


@pytest.mark.slow
def test_paths_with_spaces_apostrophes_and_umlauts_work(clone: Path) -> None:
    """The clone's own path, data.folder, MIMIC_III: data, splits and the cohort are made by real jobs."""
    raw = clone.parent / "thê raw 'tables'"
    write(raw, 30, seed=1, compress=False)
    config = {"run": "odd", "datasets": ["simulated", "mimic"], "splits": {"simulated": 1}}
    config |= {"data": {"folder": str(clone.parent / "o'ur dätä"), "simulated_n": 50, "offline": True}}
    config["data"]["mimic"] = {"synthetic_patients": 0, "options": {"row_counts": "warn"}}
    (clone / "it's ödd.yaml").write_text(yaml.safe_dump(config))
    targets = ["results/odd/splits/simulated", "results/odd/mimic3/cohort.json"]
    command = [sys.executable, "-m", "snakemake", *targets, "--cores", "1", "--configfile", "it's ödd.yaml"]
    done = subprocess.run(command, cwd=clone, capture_output=True, text=True, env=os.environ | {"MIMIC_III": str(raw)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert all((clone / target).exists() for target in targets)


def test_every_word_that_reaches_a_shell_is_quoted() -> None:
    """`:q` behind every placeholder but `environment`, which holds our own words and must stay several."""
    for path in (ROOT / "workflow" / "rules").glob("*.smk"):
        for command in re.findall(r"^    shell:\n((?:        .*\n?)+)", path.read_text(), flags=re.MULTILINE):
            bare = [name for name in re.findall(r"\{([^}]+)\}", command) if not name.endswith(":q")]
            assert set(bare) <= {"params.environment"}, path
            assert "'" not in command.strip().strip("'"), path
