"""The table of the cohort measurement: ratios, growth and the one-line result."""

import gzip
import subprocess
from pathlib import Path

import pytest

from benchmarks.speed.cohort import Cost, Size, decompress, report, row_of


def size(rows: int, cpu: float) -> Size:
    ours, build = Cost(2 * cpu, cpu, 400.0, 7), Cost(6 * cpu, 3 * cpu, 900.0)
    gzip, gzip_all, pandas = Cost(3 * cpu, cpu / 0.8), Cost(3 * cpu, 2 * cpu), Cost(9 * cpu, 4 * cpu, 800.0, 7)
    return Size(rows, 100.0, gzip, gzip_all, ours, build, pandas if rows < 100_000_000 else None)


def test_report() -> None:
    lines = report([size(1_000_000, 2.0), size(10_000_000, 20.0)])
    assert lines[-1] == "cohort: 0.80 x decompression, 4.00 x pandas, peak 900 MB"
    assert "CHARTEVENTS pass: CPU grows as rows^1.00, peak 400 -> 400 MB" in lines
    assert row_of(size(10_000_000, 20.0)).split() == [
        *("10,000,000", "100.00", "25.00", "20.00", "500,000", "0.80", "80.00", "4.00", "400.00"),
        *("40.00", "60.00", "1.50", "900.00"),
    ]


def test_the_full_size_has_no_pandas() -> None:
    """Its ratio is that of the largest size where pandas was run."""
    full = size(330_712_483, 600.0)
    lines = report([size(10_000_000, 20.0), full])
    assert lines[0] == (
        "seconds of the clock at 330,712,483 rows: gzip -dc 1800.0, pass 1200.0, gzip -dc of all 1800.0, build 3600.0"
    )
    assert lines[-1] == "cohort: 0.80 x decompression, 4.00 x pandas, peak 900 MB"
    assert row_of(full).split()[6:8] == ["-", "-"]


def test_one_size_has_no_growth() -> None:
    assert not any("grows" in line for line in report([size(1000, 1.0)]))


def test_decompress_takes_time_and_finds_damage(tmp_path: Path) -> None:
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"x" * 1000))
    assert decompress([path, path]).seconds > 0
    path.write_bytes(b"not gzip")
    with pytest.raises(subprocess.CalledProcessError):
        decompress([path])
