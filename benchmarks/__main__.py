"""`python -m benchmarks VERB`: find the verb's file in `commands/`, read its arguments and run it."""

from __future__ import annotations

import argparse
import ast
import contextlib
import os
import sys
from importlib import import_module
from pathlib import Path

from benchmarks import numerics
from benchmarks.commands import _errors

COMMANDS = Path(__file__).with_name("commands")
WITHOUT = "`make setup` builds an environment that has all packages, and .venv/bin/python is its Python"
HEAD = """\
  python -m benchmarks run quick    everything, tiny, in minutes: is all well here?
  python -m benchmarks plan paper   what the paper's whole study costs on this machine
  python -m benchmarks status       how far the newest run is
"""
# What a visitor comes for, in the order of the help.
GROUPS = {
    "Run a study": ("run", "plan", "status"),
    "Check a number": ("verify", "explain"),
    "Data, and models made elsewhere": ("data", "mimic", "score"),
    "From results": ("report",),
}
BEHIND = {"reference": "for maintainers", "step": "what the rules of the workflow call"}  # not in the first screen
RENAMED = {
    "audit": "verify trials",
    "states": "verify states",
    "sanity": "verify fits",
    "datasets": "data list",
    "splits": "data export",
    "tables": "report RUN tables",
    "figures": "report RUN figures",
    "anytime": "report RUN --so-far",
    "renew": "reference renew",
    "adopt": "reference adopt",
    **{name: f"step {name}" for name in ("tune", "evaluate", "gather", "simulate")},
    "split": "step splits",
}
STUDIES = ("deviations", "switches", "rounding")


def verbs() -> dict[str, str]:
    """Verb -> the first line of its file's docstring, read without importing anything; _files are no verbs."""
    files = {path.stem: path for path in sorted(COMMANDS.glob("*.py")) if not path.stem.startswith("_")}
    return {name: _first_line(path) for name, path in files.items()}


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
    """The first screen, or what became of a verb that is not there."""
    if argv and argv[0] not in ("-h", "--help"):
        print(_unknown(argv[0]), file=sys.stderr)
        return 2
    print(f"usage: python -m benchmarks VERB [options]; to start with:\n\n{HEAD}")
    listed = verbs()
    placed = {*BEHIND, *RENAMED, *STUDIES, *(name for names in GROUPS.values() for name in names)}
    for title, names in (GROUPS | {"More": tuple(name for name in listed if name not in placed)}).items():
        if names:
            print("\n".join([f"{title}:", *(f"  {name:8s} {listed[name]}" for name in names)]))
    behind = ", ".join(f"`{name}` ({text})" for name, text in BEHIND.items())
    print(f"\n`python -m benchmarks VERB --help` says what a verb takes.\nBesides: {behind}.")
    return 0


def _unknown(name: str) -> str:
    if name in RENAMED:
        return f"{name} is now `{RENAMED[name]}`: python -m benchmarks {RENAMED[name]} --help"
    if name in STUDIES:
        return f"{name} is no verb any more: python -m benchmarks.studies {name} --help"
    choices = ", ".join(verb for verbs_of_group in GROUPS.values() for verb in verbs_of_group)
    return f"unknown verb {name!r}; choose among {choices}"


if __name__ == "__main__":
    code = 0
    with contextlib.suppress(BrokenPipeError):  # `... | head` has seen enough
        code = main()
        sys.stdout.flush()
        sys.stderr.flush()
    # Straight out: tearing down Arrow's idle threads, the interpreter aborts now and then (apache/arrow#34314; 3 of 100
    # short jobs on a busy machine), and a job that has done its work is called failed. Files are closed by now.
    os._exit(code)
