"""How far a pass over a table is: rows seen, rows per second, time left; counts only, nothing about patients."""

import sys
import time
from pathlib import Path
from typing import Self, TextIO

import pyarrow.parquet as pq


class Progress:
    """Counts rows and bytes of one table; prints on a terminal as it goes, in a log every half minute."""

    def __init__(self, label: str, total: int, show: bool = False, stream: TextIO | None = None) -> None:
        self.label, self.total, self.show, self.stream = label, total, show, stream or sys.stderr
        self.rows = self.done = 0  # done: bytes of the file, or rows where there are no bytes
        self._start = self._printed = time.monotonic()
        self._every = 0.2 if self.stream.isatty() else 30.0

    @classmethod
    def over(cls, path: Path, label: str, show: bool) -> Self:
        """For a pass over this file."""
        total = pq.read_metadata(path).num_rows if path.suffix == ".parquet" else path.stat().st_size
        return cls(label, total, show)

    def add(self, *, rows: int = 0, done: int = 0) -> None:
        """Count; the two are advanced from different threads, each only ever by one."""
        self.rows += rows
        self.done += done
        now = time.monotonic()
        if self.show and rows and now - self._printed >= self._every:
            self._printed, seconds, share = now, now - self._start, min(self.done / max(self.total, 1), 1.0)
            bar = "#" * int(20 * share)
            left = _clock(seconds * (1 - share) / share) if share else "?"
            self._print(f"[{bar:<20}] {share:4.0%}  {self.rows:,} rows, {self.rows / seconds:,.0f} rows/s, {left} left")

    def finish(self) -> None:
        """The last line: what the whole pass took."""
        if self.show:
            seconds = time.monotonic() - self._start
            rate = self.rows / max(seconds, 1e-9)
            self._print(f"{self.rows:,} rows in {_clock(seconds)}, {rate:,.0f} rows/s", end="\n")

    def _print(self, text: str, end: str = "") -> None:
        line = f"{self.label}: {text}"
        if self.stream.isatty():
            print(f"\r{line:<100}", end=end, file=self.stream, flush=True)
        else:
            print(line, file=self.stream, flush=True)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
