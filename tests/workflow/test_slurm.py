"""A run through a real Slurm with a job cancelled on the way; `tests/support/slurm.sh` brings one up where it can."""

import subprocess
from pathlib import Path

import pytest
import yaml
from conftest import ROOT
from test_workflow import TINY


@pytest.mark.slow
def test_a_cancelled_job_is_sent_again(tmp_path: Path) -> None:
    try:
        up = subprocess.run(["sinfo", "-h"], capture_output=True).returncode == 0
    except FileNotFoundError:
        up = False
    if not up:
        pytest.skip("no Slurm answers here; as root on Debian, tests/support/slurm.sh starts one and runs this")
    config = tmp_path / "tiny.yaml"
    config.write_text(yaml.safe_dump(TINY | {"training": {"max_epochs": 20}}))
    done = subprocess.run(
        [ROOT / "tests" / "support" / "slurm.sh", config], capture_output=True, text=True, timeout=1200
    )
    assert "the run ended well although job" in done.stdout, done.stdout + done.stderr
