"""The trial journal: one line per finished trial, on disk before the next begins, so that a killed job loses one trial.

Rows of other settings, data or code stay in it: going back finds them (`benchmarks.study.rows` says which are usable).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]


class Journal:
    """Append-only JSON lines; one file per job, so that no two processes ever write the same one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            _drop_torn_end(path)

    def append(self, *rows: Row) -> None:
        """Write finished trials and wait until the disk has them."""
        with self.path.open("a") as file:
            file.writelines(json.dumps(row, sort_keys=True) + "\n" for row in rows)
            file.flush()
            os.fsync(file.fileno())


def read(path: Path) -> Iterator[Row]:
    """The finished trials of a journal, also while another process writes it; a torn line is not a trial."""
    yield from _rows(path.read_bytes())


def _rows(content: bytes) -> Iterator[Row]:
    for text in content.split(b"\n"):
        try:
            row = json.loads(text)
        except ValueError:
            continue
        if isinstance(row, dict):
            yield row


def read_folder(folder: Path) -> Iterator[Row]:
    """The rows of every journal in a folder, whatever the chunks were when they were written."""
    for path in sorted(folder.glob("*.jsonl")):
        yield from read(path)


class Follower:
    """The rows of a folder's journals as they come: each call gives those written since the last one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read: dict[Path, int] = {}  # bytes of each journal that were seen, up to the end of a line

    def new_rows(self) -> Iterator[Row]:
        """Reads what was added only: a run looks every second, and 20,000 rows take a fifth of one to read."""
        for path in sorted(self.folder.glob("*.jsonl")):
            start = self._read.get(path, 0)
            if path.stat().st_size <= start:
                continue
            with path.open("rb") as file:
                file.seek(start)
                content = file.read()
            whole = content[: content.rfind(b"\n") + 1]
            self._read[path] = start + len(whole)
            yield from _rows(whole)


def _drop_torn_end(path: Path) -> None:
    """Cut what a dying process left of its last line, so that the next line starts on its own."""
    content = path.read_bytes()
    if content and not content.endswith(b"\n"):
        with path.open("r+b") as file:
            file.truncate(content.rfind(b"\n") + 1)
            os.fsync(file.fileno())
