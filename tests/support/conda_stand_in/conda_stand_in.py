"""NOT conda: answers the few calls that Snakemake 9 makes of conda, with a venv and pip.

It shows that Snakemake builds an environment from environment.yml, activates it and runs every rule inside it. It does
not show that conda's solver finds Python 3.11 and pip on conda-forge. Whatever else is asked of it is an error.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import yaml

VERSION = "24.7.1"  # the oldest that Snakemake 9 accepts


def main(words: list[str]) -> None:
    """One call."""
    if words == ["--version"]:
        print(f"conda {VERSION}")
    elif words == ["info", "--json"]:
        print(json.dumps({"conda_prefix": str(Path(__file__).resolve().parent), "platform": "linux-64"}))
    elif words == ["config", "--get", "channel_priority", "--json"]:
        print(json.dumps({"get": {"channel_priority": "strict"}}))
    elif words == ["clean", "-y", "--tarballs"]:
        pass  # pip leaves none
    elif words[:2] == ["env", "create"] and set(words[2:5]) >= {"--quiet", "--no-default-packages", "--file"}:
        create(Path(words[words.index("--file") + 1]), Path(words[words.index("--prefix") + 1]))
    else:
        raise SystemExit(f"this is a stand-in for conda that does not know `conda {' '.join(words)}`; install conda")


def create(file: Path, prefix: Path) -> None:
    """A venv of this Python at `prefix`, with the packages that the file leaves to pip."""
    python, pip, packages = yaml.safe_load(file.read_text())["dependencies"]
    wanted, here = python.removeprefix("python="), f"{sys.version_info.major}.{sys.version_info.minor}"
    if (wanted, pip) != (here, "pip"):
        raise SystemExit(
            f"this stand-in for conda can make Python {here} with pip; {file.name} wants {python} and {pip}"
        )
    subprocess.run([sys.executable, "-m", "venv", str(prefix)], check=True)
    install = [str(prefix / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, *packages["pip"]], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
