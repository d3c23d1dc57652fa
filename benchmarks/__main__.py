"""`python -m benchmarks VERB`: everything the arena can do, one verb each. Verbs are imported only when called."""

from __future__ import annotations

import argparse
import ast
import contextlib
import os
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from benchmarks import numerics
from benchmarks.commands import _errors

COMMANDS = Path(__file__).with_name("commands")
WITHOUT = "`make setup` builds an environment that has all packages, and .venv/bin/python is its Python"
# The order of the help: what a reader comes for first, what rules call last; a new file comes before these.
GROUPS = {
    "Run a study": ("run", "plan", "status", "anytime"),
    "Check a number": ("verify", "explain", "audit", "states", "sanity"),
    "Data, and models made elsewhere": ("datasets", "mimic", "splits", "score"),
    "From results": ("tables", "figures", "report"),
    "Keep the reference": ("renew", "adopt", "deviations", "switches", "hindsight", "rounding"),
    "More": (),
    "Called by the rules of the workflow": ("data", "split", "tune", "evaluate", "gather", "simulate"),
}


def verbs() -> dict[str, str]:
    """Verb -> the first line of its file's docstring, read without importing anything; _files are no verbs."""
    found = {path.stem: path for path in sorted(COMMANDS.glob("*.py")) if not path.stem.startswith("_")}
    return {name: _first_line(path) for name, path in found.items()}


def _grouped(names: Iterable[str]) -> dict[str, list[str]]:
    """Title -> verbs; what no group names is under "More"."""
    placed = {name for group in GROUPS.values() for name in group}
    others = [name for name in names if name not in placed]
    return {title: others if title == "More" else list(group) for title, group in GROUPS.items()}


def _first_line(path: Path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text())) or "").split("\n")[0].rstrip(".")


def main(argv: list[str] | None = None) -> int:
    """Parse the verb, import its module, run it."""
    argv = sys.argv[1:] if argv is None else argv
    if not argv or argv[0] not in verbs():
        return _help(argv)
    try:
        numerics.set_up()
        module = import_module(f"benchmarks.commands.{argv[0]}")
        program = f"python -m benchmarks {argv[0]}"
        parser = argparse.ArgumentParser(prog=program, description=module.__doc__, allow_abbrev=False)
        module.add_arguments(parser)
        return int(module.run(parser.parse_args(argv[1:])))
    except BrokenPipeError:  # no fault: see below
        raise
    except ModuleNotFoundError as error:
        if str(error.name).split(".")[0] in ("soden", "baselines", "benchmarks") or _errors.debugging():
            raise
        print(f"{argv[0]}: {sys.executable} has no {error.name}; {WITHOUT}", file=sys.stderr)
        return 1
    # Bad input, a missing file, a full disk: a user can mend it; all else is a bug.
    except (ValueError, OSError, numerics.TooLate) as error:
        _errors.say(argv, error)
        return 1
    except KeyboardInterrupt:
        print(f"{argv[0]}: stopped", file=sys.stderr)
        return 130


def _help(argv: list[str]) -> int:
    unknown = bool(argv) and argv[0] not in ("-h", "--help")
    out = sys.stderr if unknown else sys.stdout
    if unknown:
        print(f"unknown verb {argv[0]!r}; choose one of:", file=out)
    else:
        print("usage: python -m benchmarks VERB [options]\n", file=out)
    listed = verbs()
    for title, names in _grouped(listed).items():
        if names:
            print("\n".join([f"{title}:", *(f"  {name:10s} {listed[name]}" for name in names), ""]), file=out)
    print("`python -m benchmarks VERB --help` says what a verb takes.", file=out)
    return 2 if unknown else 0


if __name__ == "__main__":
    code = 0
    with contextlib.suppress(BrokenPipeError):  # `... | head` has seen enough
        code = main()
        sys.stdout.flush()
        sys.stderr.flush()
    # Straight out: tearing down Arrow's idle threads, the interpreter aborts now and then (apache/arrow#34314; 3 of 100
    # short jobs on a busy machine), and a job that has done its work is called failed. Files are closed by now.
    os._exit(code)
