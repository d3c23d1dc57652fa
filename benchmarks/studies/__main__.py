"""`python -m benchmarks.studies NAME [options]`: one script of this folder; README.md lists them and their results."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

from benchmarks import numerics
from benchmarks.commands import _errors


def names() -> list[str]:
    """Every public module beside this one."""
    return sorted(path.stem for path in Path(__file__).parent.glob("*.py") if not path.stem.startswith("_"))


def main(argv: list[str] | None = None) -> int:
    """Run one study; what a user can mend is one line and exit code 1, as in `python -m benchmarks`."""
    argv = sys.argv[1:] if argv is None else argv
    if not argv or argv[0] not in names():
        print(f"usage: python -m benchmarks.studies {{{','.join(names())}}} [--help]")
        return 2 if argv and argv[0] not in ("-h", "--help") else 0
    try:
        numerics.set_up()
        module = import_module(f"benchmarks.studies.{argv[0]}")
        program = f"python -m benchmarks.studies {argv[0]}"
        parser = argparse.ArgumentParser(prog=program, description=module.__doc__, allow_abbrev=False)
        module.add_arguments(parser)
        return int(module.run(parser.parse_args(argv[1:])))
    except (ValueError, OSError, numerics.TooLate) as error:
        _errors.say(argv, error)
        return 1


if __name__ == "__main__":
    sys.exit(main())
