"""Read JSON, CSV and parquet files of a run; the error for a damaged one says which command makes it again."""

from __future__ import annotations

import hashlib
import json
import tarfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data.files import replacing
from benchmarks.results import KEPT

DIGEST = b"sha256 of the rows as CSV"  # a key of a parquet file's own notes


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
    """A parquet table; read whole, it must have the digest that `write_parquet` noted."""
    try:
        if options:
            return pd.read_parquet(path, **options)
        with pq.ParquetFile(path) as file:
            table = file.read()
        noted = (table.schema.metadata or {}).get(DIGEST)
        if noted not in (None, _digest(table)):
            raise ValueError("its digest does not fit its contents")
        return table.to_pandas()
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, NotImplementedError, MemoryError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise damaged(path, error) from error


def write_parquet(frame: pd.DataFrame, path: Path) -> None:
    """Write a table with a digest of its contents: parquet's readers take most flipped bits for data."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    with replacing(path) as part:
        pq.write_table(table.replace_schema_metadata({**table.schema.metadata, DIGEST: _digest(table)}), part)


def _digest(table: pa.Table) -> bytes:
    return hashlib.sha256(table.to_pandas().to_csv(index=False).encode()).hexdigest().encode()


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
