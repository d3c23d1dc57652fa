"""`python -m benchmarks.defaults choose|confirm|table`: where SODEN's defaults come from; known rows are kept."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks import numerics

HERE = Path(__file__).parent


def main(argv: list[str] | None = None) -> int:
    """Run a stage, or print its table."""
    numerics.set_up("native")
    from benchmarks.defaults import study, table
    from benchmarks.defaults.sets import LOOKED_AT, SETS
    from benchmarks.defaults.settings import OLD, TRIED

    parser = argparse.ArgumentParser(prog="python -m benchmarks.defaults", description=__doc__)
    parser.add_argument("stage", choices=("choose", "confirm", "table"))
    parser.add_argument("--out", type=Path, default=HERE / "rows.csv", help="file of rows; more are appended")
    parser.add_argument("--splits", type=int, help="per data set: 5 to choose, 20 to confirm")
    args = parser.parse_args(argv)
    if args.stage == "choose":
        study.run(args.out, "choose", list(LOOKED_AT), args.splits or 5, TRIED)
    elif args.stage == "confirm":
        study.run(args.out, "confirm", list(SETS), args.splits or 20, {"defaults": {}, "old": OLD})
    else:
        table.write(args.out, HERE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
