"""What the verbs ask for on the command line, checked where it is read: each says what came and what was wanted."""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks import ROOT, registry
from benchmarks.results import KEPT

# The paper's numbers and our own runs, and the sources: what a verb measures is put there by hand, if at all.
OURS = tuple(f"{folder}/{name}" for folder in ("results", "figures") for name in KEPT)
OURS += ("soden", "baselines", "benchmarks", "workflow", "config", "docs", "examples", "tests", ".ci", ".git")
OURS += ("Snakefile", "Makefile", "pyproject.toml", "requirements.in", "environment.yml")
OURS += tuple(f"requirements{part}.txt" for part in ("", "-dev", "-torch-cpu", "-torch-cuda"))
OURS += ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "NOTICE")
OURS += ("ARTIFACT.md", "CODE_OF_CONDUCT.md", "Containerfile", "SECURITY.md", "codemeta.json", ".zenodo.json")
OURS += (".gitignore", ".github", ".snakemake-workflow-catalog.yml")


SubVerb = tuple[Callable[[ArgumentParser], None], Callable[[Namespace], int]]


def sub_verbs(parser: ArgumentParser, parts: Mapping[str, SubVerb]) -> None:
    """The parts of a verb, such as `verify cox`: name -> (what adds its arguments, what runs it).

    The first line of the running function's docstring is its help; `run` of the verb's module is `run_sub_verb`.
    """
    choices = parser.add_subparsers(required=True, metavar="|".join(parts))
    for name, (add, run) in parts.items():
        text = (run.__doc__ or "").strip()
        part = choices.add_parser(name, help=text.split("\n")[0], description=text, allow_abbrev=False)
        add(part)
        part.set_defaults(sub_verb=run)


def add_cell(parser: ArgumentParser) -> None:
    """What names a cell, in any case, printed names included: `SUPPORT C^td 0.4 Cox-Time`."""
    parser.add_argument("dataset", type=_code_name, help="e.g. support")
    parser.add_argument("metric", type=_code_name, help="ctd, ibll, ibs, nll or any other the run has")
    parser.add_argument("g_tau", nargs="?", default="", help="P(C > tau): 1e-8, 0.2 or 0.4; leave out for nll")
    parser.add_argument("model", type=_code_name, help="e.g. soden")


def _code_name(text: str) -> str:
    return text.lower().replace("^", "").replace("-", "_")


def run_sub_verb(args: Namespace) -> int:
    """Run the part of the verb that was named."""
    code: int = args.sub_verb(args)
    return code


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


def processes(text: str) -> int:
    """How many processes may work at once: many times the cores of a machine would exhaust it before any is done."""
    number, most = positive(text), 16 * (os.cpu_count() or 1)
    if number > most:
        raise ArgumentTypeError(f"got {text!r}; wanted at most {most}, 16 for each core of this machine")
    return number


def a_model(name: str) -> str:
    """A model of this project."""
    if name not in (known := registry.names()):
        raise ArgumentTypeError(f"unknown model {name!r}; choose among {', '.join(known)}")
    return name


def place(text: str) -> Path:
    """Where a verb may write: anywhere but over what the project keeps under git, and into a folder of its own."""
    if "\0" in text:
        raise ArgumentTypeError(f"got {text!r}, which no file system takes as a name")
    target = Path(os.path.realpath(text))  # which, unlike resolve, takes a loop of links
    if target == ROOT:
        raise ArgumentTypeError(f"got {text!r}, the clone itself; choose a folder, such as results/mine")
    for name in OURS:
        if target.is_relative_to(ROOT / name):
            raise ArgumentTypeError(f"got {text!r}; {name} belongs to the project: choose another place")
    return Path(text)
