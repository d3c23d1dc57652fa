"""Print an error that a user can mend in one line; with SODEN_DEBUG=1 print its traceback as well."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

DEBUG = "SODEN_DEBUG"
ADVICE = {
    errno.ENOENT: "check the path",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EISDIR: "a folder is where a file is wanted; check the path",
    **dict.fromkeys((errno.ENOTDIR, errno.EEXIST), "a file is where a folder is wanted; check the path"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "make it writable, or choose another place"),
}
FULL = (errno.ENOSPC, errno.EDQUOT)


def debugging() -> bool:
    """Whether tracebacks are asked for."""
    return os.environ.get(DEBUG, "0") not in ("", "0")


def say(words: Sequence[str], error: BaseException) -> None:
    """One line on stderr, after the traceback if that is asked for."""
    if debugging():
        traceback.print_exception(error)
    print(f"{words[0]}: {in_words(error, words[1:])}", file=sys.stderr)


def in_words(error: BaseException, words: Sequence[str] = ()) -> str:
    """The error's own text, but for those of the system: these get a path first, and what to do."""
    if not isinstance(error, OSError) or error.errno is None:
        return str(error)
    place = error.filename2 or error.filename  # of a move, where to
    if error.errno in FULL:  # what fails to be written does not say where: one of the paths that were named
        return disk_is_full(*([place] if place else [word for word in words if word[:1] != "-"]), Path.cwd())
    if place is None:
        return str(error)
    advice = ADVICE.get(error.errno)
    return f"{place}: {error.strerror}" + (f"; {advice}" if advice else "")


def disk_is_full(*places: str | Path) -> str:
    """Of the disk with the least left, and how much that is: small partitions are not what `df .` shows."""
    free = {there: shutil.disk_usage(there).free for there in map(_folder_of, places)}
    there = min(free, key=lambda folder: free[folder])
    left = f"{free[there] / 1e6:.0f} MB are free"
    return f"no space left on the disk of {there} ({left}); make room, then give the same command again"


def _folder_of(place: str | Path) -> Path:
    path = Path(place).absolute()
    return next(folder for folder in (path, *path.parents) if folder.is_dir())
