"""`python -m benchmarks VERB`: everything the arena can do, one verb each. Verbs are imported only when called."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from importlib import import_module

from benchmarks import numerics

# verb -> module with add_arguments(parser) and run(args) -> exit code; its docstring's first line is the help.
VERBS = {
    "run": ("benchmarks.study.run", "run a tier from start to report; resumes what was stopped"),
    "plan": ("benchmarks.study.cost", "jobs, hours, memory and disk a run will need"),
    "status": ("benchmarks.study.status", "how far a running or stopped run is"),
    "anytime": ("benchmarks.study.anytime", "tables of an unfinished run from the trials it has"),
    "sanity": ("benchmarks.study.sanity", "each model once, fixed hyper-parameters, beside the paper's numbers"),
    "verify": ("benchmarks.study.verify", "check against the published numbers (verify cox)"),
    "mimic": (
        "benchmarks.data.mimic3.cli",
        "build MIMIC and MIMIC-SEQ from raw tables, or synthesise such tables",
    ),
    "tables": ("benchmarks.report.tables_cli", "LaTeX and CSV tables from scores, or from the published cells"),
    "report": ("benchmarks.report.report_cli", "the report of a run, one HTML page"),
    "explain": ("benchmarks.study.explain", "where a table's number comes from, down to seeds and hashes"),
    "audit": ("benchmarks.study.audit", "run some trials again and compare their rows"),
    "adopt": ("benchmarks.study.adopt", "prove that changed code gives a run's rows again"),
    "splits": ("benchmarks.study.export", "a data set's splits as CSV, for models in any language (splits export)"),
    "score": ("benchmarks.study.score", "score predictions made elsewhere and test them against the reference"),
    "datasets": ("benchmarks.data_cli", "which data sets can be had here"),
    "simulate": ("benchmarks.study.simulation", "one repetition of the simulation study (Section 4)"),
    "figures": ("benchmarks.report.figures_cli", "every figure of a run"),
    "data": ("benchmarks.study.prepare", "one data set into a run's folder"),
    "split": ("benchmarks.study.split", "the splits of a data set"),
    "tune": ("benchmarks.study.tune", "one chunk of random-search trials"),
    "evaluate": ("benchmarks.study.evaluate", "choose the best trials and score them on the test part"),
    "gather": ("benchmarks.study.gather", "all scores, t-tests and cells of a run"),
}


def main(argv: list[str] | None = None) -> int:
    """Parse the verb, import its module, run it."""
    argv = sys.argv[1:] if argv is None else argv
    if not argv or argv[0] not in VERBS:
        return _help(argv)
    numerics.set_up()
    module = import_module(VERBS[argv[0]][0])
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {argv[0]}", description=module.__doc__)
    module.add_arguments(parser)
    args = parser.parse_args(argv[1:])
    try:
        return int(module.run(args))
    except BrokenPipeError:  # no fault: see below
        raise
    except (
        ValueError,
        OSError,
        numerics.TooLate,
    ) as error:  # bad input, missing file, full disk: a user can mend it; all else is a bug
        print(f"{argv[0]}: {error}", file=sys.stderr)
        return 1


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
    code = 0
    with contextlib.suppress(BrokenPipeError):  # `... | head` has seen enough
        code = main()
        sys.stdout.flush()
        sys.stderr.flush()
    # Straight out: tearing down Arrow's idle threads, the interpreter aborts now and then (apache/arrow#34314; 3 of 100
    # short jobs on a busy machine), and a job that has done its work is called failed. Files are closed by now.
    os._exit(code)
