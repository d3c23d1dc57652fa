"""Raw MIMIC-III tables to MIMIC and MIMIC-SEQ: speed and memory against bare decompression and chunked pandas."""

from __future__ import annotations

import argparse
import math
import multiprocessing
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

FULL_ROWS = 330_712_483  # CHARTEVENTS of MIMIC-III v1.4
PANDAS_ROWS = 30_000_000  # beyond, the pandas loop would take most of the time, and more memory than there is
NAMES = ("rows", "plain", "gzip -dc", "ours", "rows/s", "R1", "pandas", "R2", "peak", "gzip all", "build", "R3", "peak")
UNITS = ("", "MB", "s", "s", "", "x gzip", "s", "x", "MB", "s", "s", "x gzip", "MB")
HEADER = [" ".join(f"{text:>11}" for text in row) for row in (NAMES, UNITS)]
CHUNK = 1_000_000  # rows per chunk of the pandas reference


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this measurement."""
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6, 1e7, 3e7], help="sizes of CHARTEVENTS")
    parser.add_argument("--repeat", type=int, default=2, help="each is timed so often, in turn; the best counts")
    parser.add_argument("--folder", type=Path, help="where the synthetic tables are written (3e7 rows: 0.6 GB)")
    parser.add_argument("--full", action="store_true", help=f"{FULL_ROWS:,} rows as well, once: 5 GB, half an hour")


class Cost(NamedTuple):
    """What one run took, in a process of its own; CPU seconds hardly depend on what else the machine does."""

    seconds: float
    cpu: float
    peak_mb: float = 0.0
    rows: int = 0  # kept


@dataclass(frozen=True)
class Size:
    """Everything measured on tables of one size."""

    rows: int
    plain_mb: float
    gzip: Cost  # CHARTEVENTS alone, then all tables
    gzip_all: Cost
    ours: Cost
    build: Cost
    pandas: Cost | None = None

    @property
    def against_gzip(self) -> float:
        """R1: the CHARTEVENTS pass over bare decompression."""
        return self.ours.cpu / self.gzip.cpu

    @property
    def against_pandas(self) -> float:
        """R2: how many times faster than chunked pandas; not a number where that was not run."""
        return self.pandas.cpu / self.ours.cpu if self.pandas else math.nan


def run(args: argparse.Namespace) -> int:
    """Measure each size, print the table, its growth and the one-line result."""
    if shutil.which("gzip") is None:
        print("error: the reference is `gzip -dc`; install gzip", file=sys.stderr)
        return 2
    print(*HEADER, sep="\n", flush=True)
    sizes = []
    for rows in sorted({int(rows) for rows in args.rows} | ({FULL_ROWS} if args.full else set())):
        with tempfile.TemporaryDirectory(dir=args.folder, prefix="cohort-") as folder:
            sizes.append(measure(Path(folder), rows, 1 if rows == FULL_ROWS else args.repeat))
        print(row_of(sizes[-1]), flush=True)
    print(*report(sizes), sep="\n")
    same = all(size.pandas is None or size.ours.rows == size.pandas.rows for size in sizes)
    if not same:
        print("error: pandas keeps another number of rows", file=sys.stderr)
    return 0 if same else 1


def measure(folder: Path, rows: int, repeat: int) -> Size:
    """Write synthetic tables with so many rows of CHARTEVENTS, then time everything on them in turn."""
    from benchmarks.data.mimic3.tables import open_tables

    raw, out = folder / "raw", folder / "out"
    alone(_synthesise, raw, rows)
    tables = open_tables(raw)
    chartevents = tables["CHARTEVENTS"].path
    contestants: dict[str, Callable[[], Cost]] = {
        "gzip": lambda: decompress([chartevents]),
        "ours": lambda: alone(_ours, raw, out),
        **({"pandas": lambda: alone(_pandas, chartevents, out)} if rows <= PANDAS_ROWS else {}),
        "gzip_all": lambda: decompress([table.path for table in tables.values()]),
        "build": lambda: alone(_build, raw, folder / "built"),
    }
    costs: dict[str, list[Cost]] = {name: [] for name in contestants}
    for _ in range(repeat):
        for name, contestant in contestants.items():
            costs[name].append(contestant())
    listed = subprocess.run(["gzip", "-l", str(chartevents)], capture_output=True, text=True, check=True).stdout
    plain = int(listed.split()[-3]) / 1e6
    return Size(rows=rows, plain_mb=plain, **{name: min(values) for name, values in costs.items()})


def alone(function: Callable[..., Any], *args: Any) -> Any:
    """Run in a fresh process, so that its peak memory is its own."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *args).result()


def decompress(paths: Iterable[Path]) -> Cost:
    """`gzip -dc` to nowhere: the physical limit."""
    start, before = perf_counter(), _cpu(resource.RUSAGE_CHILDREN)
    for path in paths:
        subprocess.run(["gzip", "-dc", str(path)], stdout=subprocess.DEVNULL, check=True)
    return Cost(perf_counter() - start, _cpu(resource.RUSAGE_CHILDREN) - before)


def _cpu(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


class _Stopwatch:
    """Started at the work, after everything is imported; CPU of all threads."""

    def __init__(self) -> None:
        self.start, self.cpu = perf_counter(), _cpu(resource.RUSAGE_SELF)

    def stop(self, rows: int = 0) -> Cost:
        seconds, cpu = perf_counter() - self.start, _cpu(resource.RUSAGE_SELF) - self.cpu
        return Cost(seconds, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, rows)


def _synthesise(raw: Path, rows: int) -> None:
    from benchmarks.data.mimic3.synthesise import ROWS_PER_PATIENT, write

    write(raw, max(round(rows / ROWS_PER_PATIENT), 20), seed=0, rows_chartevents=rows)


def _ours(raw: Path, out: Path) -> Cost:
    import pandas  # noqa: F401  (pyarrow does, at its first comparison)
    import pyarrow.parquet as pq

    from benchmarks.data.mimic3 import MimicOptions
    from benchmarks.data.mimic3.cohort import build_cohort
    from benchmarks.data.mimic3.events import build_events

    build_cohort(raw, out, MimicOptions())  # whose rows to keep; also loads what is compiled
    watch = _Stopwatch()
    build_events(raw, out, "CHARTEVENTS", MimicOptions())
    return watch.stop(pq.read_metadata(out / "events" / "chartevents.parquet").num_rows)


def _pandas(path: Path, out: Path) -> Cost:
    """The same rows and columns by the usual loop: read a chunk, keep what is wanted, join at the end."""
    import pandas as pd

    from benchmarks.data.mimic3.events import wanted_ids
    from benchmarks.data.mimic3.tables import ROW_ID, facts, open_tables

    table = open_tables(path.parent)["CHARTEVENTS"]
    wanted = {column: list(ids) for column, ids in wanted_ids(table, out / "icustays.parquet").items()}
    spo2 = [int(fact["itemid"]) for fact in facts("items") if fact["signal"] == "spo2"]
    watch = _Stopwatch()
    kept = []
    columns = [column for column in table.columns if column != ROW_ID]
    for chunk in pd.read_csv(path, usecols=columns, dtype={"VALUE": "string"}, chunksize=CHUNK):
        good = (chunk["ERROR"] != 1) | chunk["ITEMID"].isin(spo2)
        for column, ids in wanted.items():
            good &= chunk[column].isin(ids)
        rows = chunk[good].drop(columns="ERROR")
        kept.append(rows.assign(CHARTTIME=pd.to_datetime(rows["CHARTTIME"])))
    result = pd.concat(kept)
    result.to_parquet(out.with_name("pandas.parquet"))  # a build keeps its folder to itself
    return watch.stop(len(result))


def _build(raw: Path, out: Path) -> Cost:
    from benchmarks.data.mimic3 import build

    watch = _Stopwatch()
    build(raw, out)
    return watch.stop()


def row_of(s: Size) -> str:
    """One line of the table; seconds and ratios are of CPU time, all threads together."""
    ours, build = s.ours.cpu, s.build.cpu
    cells: tuple[float, ...] = (s.plain_mb, s.gzip.cpu, ours, s.rows / ours, s.against_gzip)
    cells += (s.pandas.cpu if s.pandas else math.nan, s.against_pandas, s.ours.peak_mb)
    cells += (s.gzip_all.cpu, build, build / s.gzip_all.cpu, s.build.peak_mb)
    numbers = ("-".rjust(11) if math.isnan(v) else f"{v:>11,.0f}" if v >= 1000 else f"{v:>11.2f}" for v in cells)
    return " ".join([f"{s.rows:>11,}", *numbers])


def report(sizes: list[Size]) -> list[str]:
    """What stands below the table."""
    lines = []
    last = sizes[-1]
    pandas = max((size for size in sizes if size.pandas), key=lambda size: size.rows, default=last)
    parts = {"gzip -dc": last.gzip, "pass": last.ours, "pandas": last.pandas, "gzip -dc of all": last.gzip_all}
    parts["build"] = last.build
    clock = ", ".join(f"{name} {cost.seconds:.1f}" for name, cost in parts.items() if cost)
    lines.append(f"seconds of the clock at {last.rows:,} rows: {clock}")
    if len(sizes) > 1:
        for what, name in (("CHARTEVENTS pass", "ours"), ("whole build", "build")):
            first, end = getattr(sizes[0], name), getattr(last, name)
            power = math.log(end.cpu / first.cpu) / math.log(last.rows / sizes[0].rows)
            lines.append(f"{what}: CPU grows as rows^{power:.2f}, peak {first.peak_mb:.0f} -> {end.peak_mb:.0f} MB")
    peak = max(last.ours.peak_mb, last.build.peak_mb)
    return [
        *lines,
        f"cohort: {last.against_gzip:.2f} x decompression, {pandas.against_pandas:.2f} x pandas, peak {peak:.0f} MB",
    ]
