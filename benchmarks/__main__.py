"""`python -m benchmarks VERB`: everything the arena can do, one verb each. Verbs are imported only when called."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

# verb -> module with add_arguments(parser) and run(args) -> exit code; its docstring's first line is the help.
VERBS = {
    "verify": ("benchmarks.study.verify", "check against the published numbers (verify cox)"),
    "tables": ("benchmarks.report.tables_cli", "LaTeX and CSV tables from scores, or from the published cells"),
    "mimic": ("benchmarks.data.mimic3.cli", "build MIMIC and MIMIC-SEQ from raw MIMIC-III tables, or synthesise such tables"),
}


def main(argv: list[str] | None = None) -> int:
    """Parse the verb, import its module, run it."""
    argv = sys.argv[1:] if argv is None else argv
    if not argv or argv[0] not in VERBS:
        return _help(argv)
    module = import_module(VERBS[argv[0]][0])
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {argv[0]}", description=module.__doc__)
    module.add_arguments(parser)
    return int(module.run(parser.parse_args(argv[1:])))


def _help(argv: list[str]) -> int:
    unknown = bool(argv) and argv[0] not in ("-h", "--help")
    out = sys.stderr if unknown else sys.stdout
    if unknown:
        print(f"unknown verb {argv[0]!r}; choose one of:", file=out)
    else:
        print("usage: python -m benchmarks VERB [options]\n", file=out)
    for verb, (_, text) in VERBS.items():
        print(f"  {verb:10s} {text}", file=out)
    return 2 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
