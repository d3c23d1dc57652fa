"""The journal loses at most the line that was being written, and never mistakes a torn line for a trial."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.study import journal

ROWS = [{"split": 1, "trial": t, "score": t / 3, "identity": "a", "message": "naïve\n"} for t in range(5)]


def written(path: Path) -> bytes:
    log = journal.Journal(path)
    for row in ROWS:
        log.append(row)
    return path.read_bytes()


def test_rows_come_back(tmp_path: Path) -> None:
    written(tmp_path / "a.jsonl")
    assert list(journal.read(tmp_path / "a.jsonl")) == ROWS


@settings(max_examples=60, deadline=None)
@given(cut=st.integers(min_value=0, max_value=2000))
def test_cut_anywhere_and_go_on(cut: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("journal") / "a.jsonl"
    content = written(path)[:cut]
    path.write_bytes(content)
    whole = content.count(b"\n")
    assert list(journal.read(path)) == ROWS[:whole] or content.endswith(b"}")  # a whole line without its newline
    journal.Journal(path).append(ROWS[-1])
    assert list(journal.read(path)) == [*ROWS[:whole], ROWS[-1]]


def test_a_reader_does_not_disturb_the_writer(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    content = written(path)
    path.write_bytes(content[:-5])
    assert len(list(journal.read(path))) == len(ROWS) - 1
    assert path.read_bytes() == content[:-5]


def test_garbage_is_not_a_trial(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'[1, 2]\n\xff\xfe\n{"split": 1}\n3\n')
    assert list(journal.read(tmp_path / "a.jsonl")) == [{"split": 1}]


def test_a_follower_reads_every_byte_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run looks every second: what was read before is not read again, and a torn line is read when it is whole."""
    path = tmp_path / "a.jsonl"
    content = written(path)
    first = content.index(b"\n") + 1
    follower = journal.Follower(tmp_path)
    read: list[bytes] = []
    monkeypatch.setattr(journal, "_rows", lambda part, rows=journal._rows: (read.append(part), rows(part))[1])
    path.write_bytes(content[: first + 7])
    assert list(follower.new_rows()) == ROWS[:1]
    path.write_bytes(content)
    journal.Journal(tmp_path / "b.jsonl").append(ROWS[0])
    assert list(follower.new_rows()) == [*ROWS[1:], ROWS[0]]
    assert list(follower.new_rows()) == []
    assert b"".join(read) == content + content[:first]
