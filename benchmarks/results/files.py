"""Files of a run, read so that a damaged one is named with the command that mends it."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.results import KEPT


def damaged(path: Path, error: object) -> ValueError:
    """The error for a file that is there and cannot be read; the project's own files come back from git."""
    above = path.resolve().parents
    mend = "replace it by a whole one"
    if kept := [folder for folder in above if folder.parent.name == "results" and folder.name in KEPT]:
        mend = f"`git checkout -- results/{kept[0].name}` brings it back"
    elif any((folder / "config.json").is_file() for folder in above):
        mend = "delete it and give the run's command again (`python -m benchmarks run`), which makes what is missing"
    return ValueError(f"{path} is not readable ({error}); {mend}")


def read_json(path: Path, keys: Collection[str] = ()) -> dict[str, Any]:
    """A JSON map that must have these keys."""
    found = read_any_json(path)
    if not isinstance(found, dict) or any(key not in found for key in keys):
        raise damaged(path, f"wanted a JSON map{' with ' + ', '.join(keys) if keys else ''}")
    return found


def read_any_json(path: Path) -> Any:
    """JSON of any kind."""
    try:
        return json.loads(path.read_text())
    except ValueError as error:  # bytes that are no text, too
        raise damaged(path, error) from error


def read_parquet(path: Path, **options: Any) -> pd.DataFrame:
    """A parquet table."""
    try:
        return pd.read_parquet(path, **options)
    except (OSError, ValueError, KeyError, TypeError, NotImplementedError) as error:  # of a damaged file
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise damaged(path, error) from error


def read_csv(path: Path, **options: Any) -> pd.DataFrame:
    """A CSV table."""
    try:
        return pd.read_csv(path, **options)
    except ValueError as error:  # pandas' own errors are ValueErrors
        raise damaged(path, error) from error


def unpack(archive: tarfile.TarFile, folder: Path) -> None:
    """Write the plain files of an archive; Python 3.11.2, which Debian 12 has, cannot filter what it extracts."""
    for member in archive:
        path = folder / member.name
        if member.isdir():
            continue
        content = archive.extractfile(member) if member.isfile() else None
        if content is None or not path.resolve().is_relative_to(folder.resolve()):
            raise tarfile.TarError(f"got {member.name}; wanted an archive of plain files below its folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.read())
