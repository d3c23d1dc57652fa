"""A build as a whole: the same bytes with any number of threads, no finished-marker beside unfinished data."""

import os
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from support.mimic_hand import Hospital

from benchmarks.data.mimic3 import MimicOptions, build
from benchmarks.data.mimic3.database import SQL
from benchmarks.data.mimic3.features import MARKER, build_features
from benchmarks.data.mimic3.load import read_built
from benchmarks.data.mimic3.synthesise import write

BUILT = ("mimic.parquet", "mimic_seq.parquet", "stays.parquet", "flow.csv", "checks.csv")


def test_threads_change_no_byte(tmp_path: Path) -> None:
    """DuckDB hands out 122,880 rows or a Parquet row group at a time; with its own favg this test fails."""
    write(tmp_path / "raw", patients=1500, seed=4)
    out, found = tmp_path / "out", []
    build(tmp_path / "raw", out, MimicOptions(threads=1))
    events = pq.read_metadata(out / "events" / "chartevents.parquet")
    assert events.num_row_groups > 1
    assert events.num_rows > 2 * 122_880
    for threads in (1, 2, 4):
        build_features(out, MimicOptions(threads=threads))
        found.append({name: (out / name).read_bytes() for name in BUILT})
    assert found[0] == found[1] == found[2]


def test_sums_are_exact() -> None:
    """1e15 + 1 - 1e15 and thirds in either order; a sum in doubles loses the one or the order."""
    connection = duckdb.connect()
    connection.execute((SQL / "exact.sql").read_text())
    for rows in ("(1e15), (1.0), (-1e15)", "(1.0), (-1e15), (1e15)"):
        total, mean = connection.execute(f"SELECT exact_sum(x), exact_mean(x) FROM (VALUES {rows}) t(x)").fetchall()[0]
        assert (total, mean) == (1.0, 1 / 3)
    assert connection.execute("SELECT exact_mean(x) FROM (VALUES (NULL), (98.6), (98.6)) t(x)").fetchall()[0][0] == 98.6
    assert connection.execute("SELECT exact_sum(x) FROM (SELECT 1.5 AS x) WHERE x > 2").fetchall()[0][0] is None


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    ward = Hospital()
    for _ in range(3):
        ward.patient(dod=9000, dod_hosp=9000)
    return ward.write(tmp_path / "raw")


@pytest.mark.parametrize("moved", [0, 1, 5, 15])
def test_an_interrupted_build_has_no_marker(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moved: int
) -> None:
    """Cut off while files move into place over an older build: the old marker is gone, the new one not there yet."""
    out = tmp_path / "out"
    build(raw, out)
    assert len([path for path in out.rglob("*") if path.is_file()]) == 16  # the marker is the last one to move
    replace, calls = os.replace, [0]

    def cut(source: Path, target: Path) -> None:
        if Path(target).is_relative_to(out) and ".building-" not in str(target):  # where the stages work
            if calls[0] == moved:
                raise KeyboardInterrupt
            calls[0] += 1
        replace(source, target)

    monkeypatch.setattr(os, "replace", cut)
    with pytest.raises(KeyboardInterrupt):
        build(raw, out)
    assert calls[0] == moved
    assert not (out / MARKER).exists()
    with pytest.raises(ValueError, match="is not a finished build"):
        read_built(out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "raw"]
    monkeypatch.undo()
    build(raw, out)
    assert len(read_built(out).time) == 3
