"""`python -m benchmarks.defaults choose|confirm|table`: where SODEN's defaults come from; known rows are kept."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from benchmarks import numerics

HERE = Path(__file__).parent
OLD: dict[str, Any] = {"hidden": 32, "lr": 3e-3, "weight_decay": 1e-6, "batch_size": 64, "patience": 10, "n_models": 1}
TRIED: dict[str, dict[str, Any]] = {
    "old": OLD,
    "small": OLD | {"hidden": 16, "weight_decay": 1e-2},
    "five": OLD | {"n_models": 5},
    "five small": OLD | {"hidden": 16, "weight_decay": 1e-2, "n_models": 5},
    "five small 3e-2": OLD | {"hidden": 16, "weight_decay": 3e-2, "n_models": 5},
    "five wide 1e-2": OLD | {"hidden": 32, "weight_decay": 1e-2, "n_models": 5},
    "five wide 3e-2": OLD | {"hidden": 32, "weight_decay": 3e-2, "n_models": 5},
    "five small, slow": OLD | {"hidden": 16, "weight_decay": 1e-2, "n_models": 5, "lr": 1e-3, "patience": 20},
    "five small, fast": OLD | {"hidden": 16, "weight_decay": 1e-2, "n_models": 5, "lr": 1e-2},
    "five small, patient": OLD | {"hidden": 16, "weight_decay": 1e-2, "n_models": 5, "patience": 20},
    "five small, auto batch": OLD | {"hidden": 16, "weight_decay": 1e-2, "n_models": 5, "batch_size": "auto"},
    "five small, one layer": OLD | {"hidden": 16, "weight_decay": 1e-2, "n_models": 5, "layers": 1},
    "five small 3e-2, auto batch": OLD | {"hidden": 16, "weight_decay": 3e-2, "n_models": 5, "batch_size": "auto"},
}


def main(argv: list[str] | None = None) -> int:
    """Run a stage, or print its table."""
    numerics.set_up("native")
    from benchmarks.defaults import study, table
    from benchmarks.defaults.sets import LOOKED_AT, SETS

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
