"""What a user can mend, said in one line; SODEN_DEBUG=1 shows where it came from."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import traceback
from pathlib import Path

DEBUG = "SODEN_DEBUG"
ADVICE = {
    errno.ENOENT: "check the path",
    errno.EACCES: "make it writable, or choose another place",
    errno.EPERM: "make it writable, or choose another place",
    errno.EROFS: "make it writable, or choose another place",
    errno.ENOTDIR: "a file is where a folder is wanted; check the path",
    errno.EEXIST: "a file is where a folder is wanted; check the path",
    errno.EISDIR: "a folder is where a file is wanted; check the path",
    errno.ENAMETOOLONG: "choose a shorter name",
}
FULL = (errno.ENOSPC, errno.EDQUOT)


def say(verb: str, error: BaseException) -> None:
    """One line on stderr, after the traceback if that is asked for."""
    if os.environ.get(DEBUG, "0") not in ("", "0"):
        traceback.print_exception(error)
    print(f"{verb}: {in_words(error)}", file=sys.stderr)


def in_words(error: BaseException) -> str:
    """The error's own text, but for those of the system: these get a path first, and what to do."""
    if not isinstance(error, OSError) or error.errno is None or error.filename is None:
        full = isinstance(error, OSError) and error.errno in FULL
        return disk_is_full(Path.cwd()) if full else str(error)
    place = error.filename2 or error.filename  # of a move, where to
    if error.errno in FULL:
        return disk_is_full(Path(place))
    advice = ADVICE.get(error.errno)
    return f"{place}: {error.strerror}" + (f"; {advice}" if advice else "")


def disk_is_full(path: Path) -> str:
    """With how much is free there: quotas and small partitions are not what `df .` shows first."""
    there = next(folder for folder in (path, *path.resolve().parents) if folder.is_dir())
    free = shutil.disk_usage(there).free / 1e6
    return f"no space left on the disk of {there} ({free:.0f} MB are free); make room, then give the same command again"
