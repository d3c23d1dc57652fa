"""requirements.in -> requirements.txt and environment.yml, by pip's own resolver: `make lock`.

What the direct pins bring along stays where requirements.txt has it, so the same input gives the same bytes on any day;
`--upgrade` lets all of that move.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEAD = """\
# The conda environment that `snakemake --use-conda` builds; `make lock` writes it with the pins of requirements.txt.
# pip installs them inside it, so that both ways of setting up run the very same packages.
name: soden
channels:
  - conda-forge
  - nodefaults
dependencies:
  - python=3.11
  - pip
  - pip:
"""


# What torch's CUDA build brings along: which build is installed is the registry's choice, so none of it is pinned.
OF_A_BUILD = ("nvidia-", "cuda-", "triton")


def resolve(root: Path = ROOT, upgrade: bool = False) -> list[str]:
    """The pins of everything that requirements.in needs, by name."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--report", "-", "--quiet"]
    command += ["--disable-pip-version-check", "-r", str(root / "requirements.in")]
    if not upgrade:
        command += ["-c", str(root / "requirements.txt")]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"pip could not resolve requirements.in; nothing was written:\n{done.stderr.strip()}")
    found = {item["metadata"]["name"]: item["metadata"]["version"] for item in json.loads(done.stdout)["install"]}
    # Without "+cpu" and the like: which build of a version is installed is the registry's choice, not the pin's.
    names = sorted((name for name in found if not name.lower().startswith(OF_A_BUILD)), key=str.lower)
    return [f"{name}=={found[name].partition('+')[0]}" for name in names]


def requirements(pins: Sequence[str]) -> str:
    """The text of requirements.txt."""
    return "\n".join(pins) + "\n"


def environment(pins: Sequence[str]) -> str:
    """The text of environment.yml."""
    return HEAD + "".join(f"      - {pin}\n" for pin in pins)


def main() -> None:
    """Resolve, then write both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--upgrade", action="store_true", help="take the newest of what the direct pins bring along")
    parser.add_argument("--out", type=Path, default=ROOT, help="folder to write to; default: this clone")
    args = parser.parse_args()
    pins = resolve(upgrade=args.upgrade)
    (args.out / "requirements.txt").write_text(requirements(pins))
    (args.out / "environment.yml").write_text(environment(pins))
    print(f"{len(pins)} pins in requirements.txt and environment.yml")


if __name__ == "__main__":
    main()
