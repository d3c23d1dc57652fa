"""`snakemake --use-conda`, with a stand-in for conda that makes environments with venv and pip: see its docstring.

The whole quick tier inside such an environment takes as long as two quick tiers and a set-up. It is run by

SODEN_CONDA=1 python -m pytest tests/workflow/test_conda.py
"""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from conftest import ROOT

STAND_IN = ROOT / "tests" / "support" / "conda_stand_in" / "bin"
SYSTEM = f"{STAND_IN}{os.pathsep}/usr/bin{os.pathsep}/bin"
# Everything a run makes but what holds seconds, megabytes or pictures of them.
SAME = ("*.csv", "tables/*", "chosen/*/*.json", "scores/*/*", "splits/*/*", "data/*", "simulation/*")
TIMED = ("cost.png", "cost.pdf")


def conda(*words: str) -> subprocess.CompletedProcess[str]:
    command = [str(STAND_IN / "conda"), *words]
    return subprocess.run(
        command, capture_output=True, text=True, env=os.environ | {"CONDA_STAND_IN_PYTHON": sys.executable}
    )


@pytest.mark.slow
@pytest.mark.skipif("SODEN_CONDA" not in os.environ, reason="two quick tiers; SODEN_CONDA=1 runs it")
def test_the_quick_tier_inside_a_conda_environment_gives_the_same_bytes(tmp_path: Path) -> None:
    with_conda, without = tmp_path / "conda", tmp_path / "plain"
    with_conda.mkdir()
    # Data sets say where they came from, so what the first run would fetch is in the cache before it.
    subprocess.run([sys.executable, "-m", "benchmarks", "data", "list", "support", "metabric"], cwd=ROOT)
    # Nothing else can run a rule: no Python on this PATH has torch.
    assert subprocess.run("python -c 'import torch'", shell=True, env={"PATH": SYSTEM}, capture_output=True).returncode
    clean = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    environment = clean | {"PATH": SYSTEM, "CONDA_STAND_IN_PYTHON": sys.executable}
    snakemake = [str(Path(sys.executable).with_name("snakemake")), "--use-conda", "--directory", str(with_conda)]
    words = ["--cores", "2", "--config", "tier=quick"]
    done = subprocess.run([*snakemake, *words], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-5000:]
    assert "Activating conda environment: .snakemake/conda/" in done.stderr
    run = [sys.executable, "-m", "benchmarks", "run", "quick", "--cores", "2", "--directory", str(without)]
    subprocess.run(run, cwd=ROOT, check=True)
    compared = [same(with_conda / part, without / part) for part in ("results/quick", "figures/quick")]
    assert compared[0] > 100
    assert compared[1] > 10
    trials = [pd.read_parquet(folder / "results" / "quick" / "trials.parquet") for folder in (with_conda, without)]
    measured = ["seconds", "cpu_seconds", "peak_mb", "digest"]
    pd.testing.assert_frame_equal(*(frame.drop(columns=measured) for frame in trials))


def same(one: Path, two: Path) -> int:
    """How many files both have with the same bytes; another set of files, or other bytes, fails."""
    patterns = SAME if one.parent.name == "results" else ("*",)
    names = [
        {p.relative_to(folder) for pattern in patterns for p in folder.glob(pattern) if p.is_file()}
        for folder in (one, two)
    ]
    assert names[0] == names[1]
    for name in names[0]:
        if name.name not in TIMED:
            assert (one / name).read_bytes() == (two / name).read_bytes(), name
    return len(names[0])
