"""A lease on a job's trials, so that two jobs of one chunk do not fit the same trials twice.

A workflow that was killed leaves jobs in the queue of a cluster. Started again, it sends them once more: the second
waits here until the first has ended, and finds its trials finished. The file also says how long the job has run and
how much memory it had, so that one that was killed for asking too little can ask for more.
"""

from __future__ import annotations

import json
import math
import os
import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks.data.files import replacing

EVERY, LOST = 15.0, 180.0  # seconds between signs of life; seconds without one after which a holder counts as dead


@contextmanager
def lease(path: Path, every: float = EVERY, lost: float = LOST) -> Iterator[None]:
    """Hold `path` while the block runs, waiting first while another process holds it and shows signs of life."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _wait(path, every, lost)
    started, ended = time.monotonic(), threading.Event()
    _sign(path, started)

    def renew() -> None:
        while not ended.wait(every):
            _sign(path, started)

    thread = threading.Thread(target=renew, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        path.unlink(missing_ok=True)


def left_behind(path: Path) -> dict[str, Any]:
    """What a job that was killed last said of itself: seconds and peak_mb; empty if none was."""
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found


def next_ask(asked: int, used: float, attempt: int = 1) -> int:
    """Memory or time for the next attempt of a job: more only where the last one, `used`, was near what it had.

    Memory may have jumped between the last note of it and the kill: given `attempt`, the third asks for more anyway.
    """
    near = 1.5 * used if used > 0.7 * asked else asked
    return math.ceil(max(asked, near, asked * (attempt - 1)))


def _wait(path: Path, every: float, lost: float) -> None:
    seen, since, told = b"", time.monotonic(), False
    while path.exists():
        holder = left_behind(path)
        if holder.get("machine") == machine() and not _alive(holder.get("pid", 0)):
            break  # of this machine: no need to wait for its silence
        content = path.read_bytes() if path.exists() else b""
        if content != seen:
            seen, since = content, time.monotonic()
        elif time.monotonic() - since > lost:
            break
        if not told:
            told = True
            print(f"waiting: job {holder.get('pid')} on {holder.get('host')} works on these trials", flush=True)
        time.sleep(min(1.0, every))
    if holder := left_behind(path):
        print(
            f"an earlier attempt on {holder['host']} ended without a word after {holder['seconds']:.0f} s, with "
            f"{holder['peak_mb']} MB: killed, perhaps for its memory or time",
            flush=True,
        )


def _sign(path: Path, started: float) -> None:
    """Write who holds the lease; every time it says something else, by which others see that it lives."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    sign = {"host": socket.gethostname(), "machine": machine(), "pid": os.getpid(), "peak_mb": peak}
    sign["seconds"] = time.monotonic() - started
    with replacing(path) as part:
        part.write_text(json.dumps(sign))


def machine() -> str:
    """This machine and the processes that are seen from here: a container on it sees others."""
    namespace = Path("/proc/self/ns/pid")
    return f"{socket.gethostname()} {os.readlink(namespace) if namespace.exists() else ''}".strip()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return pid > 0


def own(directory: Path, pid: int) -> None:
    """Write down which Snakemake works in a folder, on which machine."""
    import psutil

    with suppress(psutil.NoSuchProcess), replacing(directory / ".snakemake" / "owner.json") as part:
        owner = {"machine": machine(), "pid": pid, "started": psutil.Process(pid).create_time()}
        part.write_text(json.dumps(owner))
