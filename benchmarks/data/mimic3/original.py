"""Compare a build, value by value, with what the original code of Purushotham et al. (2018) gives for the same tables.

The original's values come as one npz file: `hadm_id` (n,), `columns` (n, p) before standardising with `column_names`,
`series` (n, 24, k) after imputation with `series_names`. If it also holds patients who died within 24 hours, whom the
paper leaves out, `died_within_24h` (n,) marks them with 1.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.data.files import read_npz
from benchmarks.data.mimic3.checks import about_of, markdown
from benchmarks.data.mimic3.load import Built, read_built
from benchmarks.data.mimic3.small_cells import HIDDEN, SmallCells
from benchmarks.data.mimic3.tables import MimicError

NEEDED = ("hadm_id", "columns", "column_names", "series", "series_names")
# Columns must agree in every bit, but for the one that is a sum: PostgreSQL adds the rows in the order it meets them.
# Series are means of such numbers; a ratio with an oxygen share near 0 can be 1e8, hence a relative part.
EXACT, SUM, MEAN = {"rtol": 0.0, "atol": 0.0}, {"rtol": 1e-13, "atol": 0.0}, {"rtol": 1e-9, "atol": 1e-6}


class Compared(NamedTuple):
    """One column or series, or the admissions themselves: how many cells were compared, and how many differ."""

    part: str
    name: str
    cells: int
    differ: int


def compare(built: Path, answers: Path) -> list[Compared]:
    """Admissions, then every column and series that both have."""
    ours, theirs = read_built(built), _read(answers)
    admissions = theirs["hadm_id"]
    alive = theirs["died_within_24h"] == 0 if "died_within_24h" in theirs else np.ones(len(admissions), dtype=bool)
    _, here, there = np.intersect1d(ours.hadm_id, admissions[alive], return_indices=True)
    there = np.flatnonzero(alive)[there]
    rows = [
        Compared("admissions", "in the build only", len(ours.hadm_id), len(ours.hadm_id) - len(here)),
        Compared("admissions", "in the original only", int(alive.sum()), int(alive.sum()) - len(there)),
    ]
    cells = list(_cells(ours, theirs, here, there))
    if not len(here) or {row.part for row in cells if row.cells} != {"columns", "series"}:
        raise MimicError(f"{built} and {answers} have no admission, no column or no series in common: nothing compared")
    return rows + cells


def comparison_of(built: Path, compared: Sequence[Compared]) -> list[str]:
    """The comparison with the original's values as lines of Markdown, small cells hidden."""
    cells = SmallCells(not about_of(built)["mark"])
    # How many admissions are on both sides, and so how many cells, would tell of the few that are on one side only.
    few = any(cells.few(row.differ) for row in compared if row.part == "admissions")
    rows = [(row.part, row.name, HIDDEN if few else row.cells, cells.count(row.differ)) for row in compared]
    lines = markdown(("part", "name", "compared", "differ"), rows)
    for part in ("columns", "series"):
        mine = [row for row in compared if row.part == part]
        n, differ = sum(row.cells for row in mine), cells.count(sum(row.differ for row in mine))
        absent = ", ".join(row.name for row in mine if not row.cells)
        size = HIDDEN if few else f"{n:,} cells"
        lines.append(f"{part}: {size} compared, {differ} differ; on one side only: {absent or 'none'}")
    return lines


def _cells(ours: Built, theirs: dict[str, Any], here: Any, there: Any) -> Iterator[Compared]:
    for part, values, names, their_names in (
        ("columns", ours.x, ours.columns, theirs["column_names"].tolist()),
        ("series", ours.seq, ours.seq_columns, theirs["series_names"].tolist()),
    ):
        for name in dict.fromkeys([*names, *their_names]):
            if name not in names or name not in their_names:
                yield Compared(part, name, 0, 0)
            else:
                a, b = values[here][..., names.index(name)], theirs[part][there][..., their_names.index(name)]
                width = MEAN if part == "series" else SUM if name == "urineoutput" else EXACT
                yield Compared(part, name, a.size, int((~np.isclose(a, b, equal_nan=True, **width)).sum()))


def _read(path: Path) -> dict[str, npt.NDArray[Any]]:
    try:
        arrays = read_npz(path)
    except (OSError, ValueError) as error:
        raise MimicError(f"{path} cannot be read as an npz file of arrays ({type(error).__name__})") from None
    if missing := [name for name in NEEDED if name not in arrays]:
        raise MimicError(f"{path} lacks {', '.join(missing)}; wanted are the arrays {', '.join(NEEDED)}")
    kinds = {name: "U" if name.endswith("_names") else "iuf" for name in NEEDED}
    if bad := [name for name, kind in kinds.items() if arrays[name].dtype.kind not in kind or not arrays[name].ndim]:
        raise MimicError(f"{path}: {', '.join(bad)} must be arrays of numbers, and of texts those called *_names")
    n, width, depth = len(arrays["hadm_id"]), len(arrays["column_names"]), len(arrays["series_names"])
    if arrays["columns"].shape != (n, width) or arrays["series"].shape != (n, 24, depth):
        raise MimicError(
            f"{path}: columns have shape {arrays['columns'].shape} and series {arrays['series'].shape}; "
            f"by hadm_id and the names it should be {(n, width)} and {(n, 24, depth)}"
        )
    return arrays
