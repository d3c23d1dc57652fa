"""The workflow as a part of others': imported as a module from a folder of its own, and by its parts."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from conftest import ROOT
from test_workflow import TINY

IMPORTER = f"""
configfile: "config.yaml"

rule all:
    default_target: True
    input:
        "mine.txt",

module soden:
    snakefile:
        "{ROOT}/workflow/Snakefile"
    config:
        config["soden"]

use rule * from soden as soden_*

rule mine:
    input:
        "results/tiny/scores.csv",
        "results/tiny/tables",
    output:
        "mine.txt",
    shell:
        "head -1 {{input[0]}} > {{output}}"
"""


def snakemake(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "snakemake", "--cores", "2", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.mark.slow
def test_another_workflow_runs_ours_as_a_module(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(IMPORTER)
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({"soden": TINY | {"chunk": 3}, "theirs": 1}))
    done = snakemake(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "mine.txt").read_text().startswith("dataset,model,split,metric")
    config = json.loads((tmp_path / "results" / "tiny" / "config.json").read_text())
    assert (config["trials"], config["device"]) == (2, "cpu")
    trials = tmp_path / "results" / "tiny" / "trials.parquet"
    before = trials.read_bytes()
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({"soden": TINY | {"chunk": 3, "seed": 5}}))
    assert snakemake(tmp_path).returncode == 0
    assert trials.read_bytes() != before  # a changed key reruns what it touches at once, not at the next call
    again = snakemake(tmp_path)
    assert "Nothing to be done" in again.stdout + again.stderr


@pytest.mark.slow
def test_it_can_be_stopped_before_scores_and_begun_with_one_value_changed(tmp_path: Path) -> None:
    """The target `trials` fits every trial and scores none; a changed value of training reruns what it touches."""
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(TINY))
    ours = ["--snakefile", str(ROOT / "Snakefile"), "--configfile", "tiny.yaml"]
    done = snakemake(tmp_path, *ours, "--until", "tune")
    assert done.returncode == 1
    assert "name the target `trials` (nothing is scored) or `scores` instead" in done.stdout + done.stderr
    done = snakemake(tmp_path, *ours, "--", "trials")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(tmp_path.glob("results/tiny/trials/simulated/*/*.parquet"))) >= 2
    assert not (tmp_path / "results" / "tiny" / "scores").exists()
    for change, reruns in (("device=auto", False), ("training={max_epochs: 3}", True)):
        planned = snakemake(tmp_path, *ours, "-n", "--config", change, "--", "trials")
        assert bool(re.search(r"^tune +[1-9]", planned.stdout, flags=re.MULTILINE)) == reruns, planned.stdout
        assert not re.search(r"^(dataset|splits) +[1-9]", planned.stdout, flags=re.MULTILINE)
