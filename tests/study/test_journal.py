"""The journal loses at most the line that was being written, and never mistakes a torn line for a trial."""

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.uneven import search_of, uneven

from benchmarks.results.types import Parts, Trial
from benchmarks.study import store

PARTS = Parts(3, "simulated", "soden", *("data", "settings", "space", "code", "portable", "cpu", "split"))
ROWS = [Trial(PARTS, 1, t, 7, {}, "ok", t / 3, 0.5, solver_error=0.0, seconds=1.0, cpu_seconds=1.0) for t in range(5)]


def written(path: Path) -> bytes:
    log = store.Journal(path)
    for row in ROWS:
        log.append(row.to_row())
    return path.read_bytes()


@settings(max_examples=60, deadline=None)
@given(cut=st.integers(min_value=0, max_value=3500))
def test_cut_anywhere_and_go_on(cut: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("journal") / "a.jsonl"
    content = written(path)[:cut]
    path.write_bytes(content)
    whole = content.count(b"\n")
    assert list(store.read_journal(path)) == ROWS[:whole] or content.endswith(b"}")  # a whole line without its newline
    store.Journal(path).append(ROWS[-1].to_row())
    assert list(store.read_journal(path)) == [*ROWS[:whole], ROWS[-1]]


def test_garbage_is_not_a_trial(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'[1, 2]\n\xff\xfe\n{"split": 1}\n3\n')
    damaged: list[str] = []
    assert list(store.read_journal(tmp_path / "a.jsonl", damaged)) == []
    assert [text.split(" (")[0] for text in damaged] == [
        *("line 1 is not JSON", "line 2 is not JSON", "not a row of a trial", "line 4 is not JSON")
    ]


def test_a_follower_reads_every_byte_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run looks every second: what was read before is not read again, and a torn line is read when it is whole."""
    path = tmp_path / "a.jsonl"
    content = written(path)
    first = content.index(b"\n") + 1
    follower = store.Follower(tmp_path)
    read: list[bytes] = []
    monkeypatch.setattr(store, "read_lines", lambda part, lines=store.read_lines: (read.append(part), lines(part))[1])
    path.write_bytes(content[: first + 7])
    assert list(follower.new_trials()) == ROWS[:1]
    path.write_bytes(content)
    store.Journal(tmp_path / "b.jsonl").append(ROWS[0].to_row())
    assert list(follower.new_trials()) == [*ROWS[1:], ROWS[0]]
    assert list(follower.new_trials()) == []
    assert b"".join(read) == content + content[:first]


@settings(max_examples=25, deadline=None)
@given(stops=st.lists(st.tuples(st.integers(0, 8), st.booleans(), st.integers(0, 400)), max_size=4))
def test_stops_and_resumes_end_in_the_same_trials(
    stops: list[tuple[int, bool, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Stopped after any number of fits, before or after the journal line, with a byte of the journal flipped or not."""
    run = tmp_path_factory.mktemp("walk")
    made = search_of(run, *uneven_run(), "deepsurv")
    pairs = [(1, 0), (1, 1), (2, 0), (2, 1)]

    def attempt(fits: int, before: bool) -> list[Trial]:
        left = [fits]

        def fit(split: int, number: int) -> tuple[Trial, Fitted]:
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
            parts = made.parts(split)
            score = -float((7 * split + 3 * number) % 5)
            return Trial(parts, split, number, 1, {}, "diverged" if number == 2 else "ok", score), Fitted(score)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(made, "fit", fit)
            if before:
                patch.setattr(store.Journal, "append", stopping(left))
            return made.run("0000", pairs)

    expected = None
    for fits, before, flip in stops:
        with contextlib.suppress(KeyboardInterrupt):
            expected = attempt(fits, before)
        path = made.folder / "0000.jsonl"
        content = path.read_bytes() if path.exists() else b""
        if flip < len(content) and content[flip : flip + 1].isalnum():
            path.write_bytes(content[:flip] + bytes([content[flip] ^ 2]) + content[flip + 1 :])
    trials = attempt(99, False)
    assert [(t.pair, t.score) for t in trials] == [(p, -float((7 * p[0] + 3 * p[1]) % 5)) for p in pairs]
    assert attempt(0, False) == trials  # nothing is fitted again
    for split in (1, 2):
        best = max((t for t in trials if t.split == split), key=lambda t: t.score)
        assert made.state(best) == (made.state_path(best), "")
    assert expected is None or [t.pair for t in expected] == pairs


class Fitted:
    """A fitted model of a few bytes."""

    def __init__(self, score: float) -> None:
        self.score = score

    def save(self, path: Path) -> None:
        path.write_text(str(self.score))


def stopping(left: list[int]) -> Any:
    """A journal that is stopped when the fits are used up, before it writes the last one."""

    def append(self: store.Journal, *rows: Any, real: Any = store.Journal.append) -> None:
        if not left[0]:
            raise KeyboardInterrupt
        real(self, *rows)

    return append


def uneven_run() -> tuple[Any, dict[int, Any]]:
    dataset, split = uneven()
    return dataset, {1: split, 2: uneven(seed=1)[1]}
