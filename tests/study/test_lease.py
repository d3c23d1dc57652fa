"""Two jobs of one chunk: the second waits for the first while that lives, and not for one that is dead."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from benchmarks.study.lease import lease, left_behind, machine, next_ask


def test_the_second_waits_until_the_first_has_ended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, order = tmp_path / "0000.lease", []

    def second() -> None:
        with lease(path, every=0.05, lost=60):
            order.append("second")

    with lease(path, every=0.05, lost=60):
        thread = threading.Thread(target=second)
        thread.start()
        time.sleep(0.5)
        order.append("first")
    thread.join(timeout=30)
    assert order == ["first", "second"]
    assert not path.exists()
    assert f"waiting: job {os.getpid()} on {socket.gethostname()}" in capsys.readouterr().out


def test_one_that_was_killed_here_is_not_waited_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    path = tmp_path / "0000.lease"
    sign = {"host": socket.gethostname(), "machine": machine(), "pid": process.pid, "peak_mb": 1900, "seconds": 40.0}
    path.write_text(json.dumps(sign))
    assert left_behind(path)["peak_mb"] == 1900
    started = time.monotonic()
    with lease(path, every=0.1, lost=60):
        assert left_behind(path)["pid"] == os.getpid()
    assert time.monotonic() - started < 20
    assert "ended without a word after 40 s, with 1900 MB" in capsys.readouterr().out


def test_one_of_another_node_counts_as_dead_after_its_silence(tmp_path: Path) -> None:
    path = tmp_path / "0000.lease"
    other = {"host": socket.gethostname(), "machine": f"{socket.gethostname()} pid:[1]"}  # a container of this host
    path.write_text(json.dumps(other | {"pid": 2**22, "peak_mb": 1, "seconds": 1.0}))
    started = time.monotonic()
    with lease(path, every=0.05, lost=0.5):
        assert time.monotonic() - started >= 0.5


@pytest.mark.parametrize(
    ("used", "attempt", "asked"),
    [(0, 1, 1000), (0, 2, 1000), (500, 2, 1000), (950, 2, 1425), (950, 1, 1425), (0, 3, 2000), (1800, 3, 2700)],
)
def test_only_what_was_used_up_is_asked_for_again_with_more(used: float, attempt: int, asked: int) -> None:
    assert next_ask(1000, used, attempt) == asked
