"""Files that are either whole or absent: written beside their place, then moved into it."""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the folder of `path`; it takes the place of `path` only if the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    os.close(handle)
    part = Path(name)
    try:
        yield part
        os.umask(umask := os.umask(0))  # the only way to ask for it
        part.chmod(0o666 & ~umask)  # as any new file; mkstemp gives 0600, which a group could not read
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_npz(path: str | Path) -> dict[str, npt.NDArray[Any]]:
    """All arrays of an npz file; ValueError if it is damaged or holds pickled objects, which are never loaded."""
    with Path(path).open("rb") as handle:  # opened here, because numpy leaves the file open when it is damaged
        try:
            with np.load(handle, allow_pickle=False) as file:
                return {key: file[key] for key in file.files}
        except (OSError, EOFError, TypeError, zipfile.BadZipFile, zlib.error) as error:
            # TypeError: a plain npy file gives an array, which is no archive to enter
            raise ValueError(str(error)) from error
