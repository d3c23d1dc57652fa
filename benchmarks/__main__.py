"""`python -m benchmarks VERB`: everything the arena can do, one verb each. Verbs are imported only when called."""

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
# The order of the help: what a reader comes for first, then what rules call; any other file of the folder follows.
FIRST = ("run", "plan", "status", "anytime", "verify", "explain", "audit", "report", "tables", "figures", "datasets")


def verbs() -> dict[str, str]:
    """Verb -> the first line of its file's docstring, read without importing anything; _files are no verbs."""
    found = {path.stem: path for path in sorted(COMMANDS.glob("*.py")) if not path.stem.startswith("_")}
    ordered = [*(name for name in FIRST if name in found), *(name for name in found if name not in FIRST)]
    return {name: _first_line(found[name]) for name in ordered}


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
    for verb, text in verbs().items():
        print(f"  {verb:10s} {text}", file=out)
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
