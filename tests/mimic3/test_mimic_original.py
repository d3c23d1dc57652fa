"""The build against the values that the original code gives for the same tables (tests/data/mimic/README.md)."""

from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, beside

from benchmarks.data.files import read_npz
from benchmarks.data.mimic3 import MimicError, MimicOptions, build
from benchmarks.data.mimic3.original import Compared, compare, comparison_of

GOLDEN = ROOT / "tests" / "data" / "mimic"
EDGE, ANSWERS = GOLDEN / "synthetic_edge", GOLDEN / "synthetic_edge" / "answers.npz"
PROCESSED = MimicOptions(seq_features="processed12")


@pytest.fixture(scope="module")
def edge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("edge") / "out"
    build(EDGE, out, PROCESSED)
    return out


def totals(built: Path, answers: Path) -> dict[str, tuple[int, int]]:
    """Cells compared and cells that differ, by part."""
    rows = compare(built, answers)
    different = [row for row in rows if row.differ]
    assert not different, different
    parts = dict.fromkeys(row.part for row in rows)
    return {part: (sum(row.cells for row in rows if row.part == part), len(different)) for part in parts}


def test_every_value_of_the_edge_tables_is_the_original_s(edge: Path) -> None:
    assert totals(edge, ANSWERS) == {
        "admissions": (2 * 164, 0),
        "columns": (164 * 26, 0),
        "series": (164 * 24 * 12, 0),
    }


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("columns", np.array([["a"] * 26] * 173), "columns must be arrays of numbers"),
        ("hadm_id", np.array(1), "hadm_id must be arrays of numbers"),
        ("series_names", np.arange(12), "series_names must be arrays of numbers, and of texts"),
        ("series", np.zeros((173, 23, 12)), r"series \(173, 23, 12\); by hadm_id and the names it should be"),
        ("hadm_id", np.zeros(173, int), "no admission, no column or no series in common"),
    ],
)
def test_a_file_that_is_none_of_the_original_is_named(
    edge: Path, tmp_path: Path, name: str, value: np.ndarray, why: str
) -> None:
    np.savez(tmp_path / "x.npz", **(read_npz(ANSWERS) | {name: value}))
    with pytest.raises(MimicError, match=why):
        compare(edge, tmp_path / "x.npz")


def test_admissions_of_one_side_cannot_be_counted(edge: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One admission of 164 is missing: 163 x 26 cells would say so. Twenty are no small cell."""
    monkeypatch.setattr("benchmarks.data.mimic3.original.about_of", lambda _: {"mark": ""})
    for missing, shown in ((1, "small cell compared"), (20, "20 cells compared")):
        rows = [Compared("admissions", "in the build only", 164, missing), Compared("columns", "age", 20, 0)]
        assert f"columns: {shown}, 0 differ" in comparison_of(edge, rows)[-2]


def test_every_value_of_the_demo_is_the_original_s(tmp_path: Path) -> None:
    build(beside("mimic-iii-demo"), tmp_path / "out", PROCESSED)
    assert totals(tmp_path / "out", GOLDEN / "demo.npz") == {
        "admissions": (2 * 90, 0),
        "columns": (2340, 0),
        "series": (25_920, 0),
    }
