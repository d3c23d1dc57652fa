"""What the verbs ask for on the command line, checked where it is read: each says what came and what was wanted."""

from __future__ import annotations

import json
import re
from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import registry
from benchmarks.results import KEPT
from benchmarks.study.config import ROOT

# The paper's numbers and our own runs, and the sources: what a verb measures is put there by hand, if at all.
OURS = tuple(f"{folder}/{name}" for folder in ("results", "figures") for name in KEPT)
OURS += ("soden", "baselines", "benchmarks", "workflow", "config", "docs", "examples", "tests", ".ci", ".git")
OURS += ("Snakefile", "Makefile", "pyproject.toml", "requirements.in", "requirements.txt", "environment.yml")
OURS += ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff", "LICENSE")
OURS += (".gitignore", ".snakemake-workflow-catalog.yml")


def at_least(least: int) -> Callable[[str], int]:
    """A whole number with a smallest value."""

    def whole(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise ArgumentTypeError(f"got {text!r}; wanted a whole number of at least {least}")
        return number

    return whole


positive = at_least(1)  # a count: of cores, jobs, trials, patients
natural = at_least(0)  # a root seed


def device(text: str) -> str:
    """As `device` in the configuration."""
    if not re.fullmatch(r"auto|cpu|cuda(:[0-9]+)?", text):
        raise ArgumentTypeError(f"got {text!r}; wanted auto, cpu, cuda or cuda:1")
    return text


def json_map(text: str) -> dict[str, Any]:
    """A section of the configuration, as rules pass it."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ArgumentTypeError(f"got {text!r}, which is not JSON ({error}); wanted e.g. '{{\"seed\": 1}}'") from None
    if not isinstance(found, dict):
        raise ArgumentTypeError(f"got {text!r}; wanted a JSON map, e.g. '{{\"seed\": 1}}'")
    return found


def pairs(text: str) -> list[tuple[int, int]]:
    """Splits from 1 and trials from 0: "1:0,1:1" -> [(1, 0), (1, 1)]."""
    try:
        found = [(int(split), int(trial)) for split, trial in (pair.split(":") for pair in text.split(","))]
    except ValueError:
        found = []
    if not found or any(split < 1 or trial < 0 for split, trial in found):
        raise ArgumentTypeError(f"got {text!r}; wanted pairs of a split (from 1) and a trial (from 0), e.g. 1:0,1:1")
    return found


def a_model(name: str) -> str:
    """A model of this project."""
    if name not in (known := registry.names()):
        raise ArgumentTypeError(f"unknown model {name!r}; choose among {', '.join(known)}")
    return name


def place(text: str) -> Path:
    """Where a verb may write: anywhere but over what the project keeps under git."""
    path = Path(text)
    for name in OURS:
        if path.resolve().is_relative_to(ROOT / name):
            raise ArgumentTypeError(f"got {text!r}; {name} belongs to the project: choose another place")
    return path
