"""The table of the cohort measurement: ratios, growth, extrapolation and the one-line result."""

import gzip
import subprocess
from pathlib import Path

import pytest

from benchmarks.speed.cohort import Cost, Size, decompress, report, row_of


def size(rows: int, seconds: float) -> Size:
    ours, build = Cost(seconds, 1.5 * seconds, 400.0, 7), Cost(3 * seconds, 4 * seconds, 900.0)
    gzip, gzip_all, pandas = (
        Cost(seconds / 0.8, seconds),
        Cost(2 * seconds, seconds),
        Cost(4 * seconds, seconds, 800.0, 7),
    )
    return Size(rows, 100.0, gzip, gzip_all, ours, pandas, build)


def test_report() -> None:
    lines = report([size(1_000_000, 2.0), size(10_000_000, 20.0)])
    assert lines[-1] == "cohort: 0.80 x decompression, 4.00 x pandas, peak 900 MB"
    assert "CHARTEVENTS pass: CPU grows as rows^1.00, peak 400 -> 400 MB" in lines
    # 33.0712483 times as many rows as the larger: 20 s become 11.0 minutes, 60 s become 33.1
    assert "330,712,483 rows, in minutes: CHARTEVENTS pass 11.0 (gzip -dc 13.8, pandas 44.1)" in lines[-2]
    assert "whole build 33.1 (gzip -dc 22.0)" in lines[-2]
    assert row_of(size(10_000_000, 20.0)).split() == [
        *("10,000,000", "100.00", "25.00", "20.00", "500,000", "0.80", "80.00", "4.00", "400.00"),
        *("40.00", "60.00", "1.50", "900.00"),
    ]


def test_one_size_has_no_growth() -> None:
    assert not any("grows" in line for line in report([size(1000, 1.0)]))


def test_decompress_takes_time_and_finds_damage(tmp_path: Path) -> None:
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"x" * 1000))
    assert decompress([path, path]).seconds > 0
    path.write_bytes(b"not gzip")
    with pytest.raises(subprocess.CalledProcessError):
        decompress([path])
