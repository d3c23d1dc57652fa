"""The files of Katzman et al. (2018), shared by SUPPORT and METABRIC: HDF5 with groups train and test of x, t, e."""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.data.settings import DataSettings
from benchmarks.data.sources import Source, SourceFailed, checked, download, first_of

# The public address that pycox.datasets downloads from; MIT licence.
URL = "https://raw.githubusercontent.com/jaredleekatzman/DeepSurv/master/experiments/data/"
# The authors divide in float32 and their network code then adds 0.001; METABRIC has a subject with time 0.
DAYS_PER_YEAR = np.float32(365.25)
SHIFT = 0.001

Float32Array = npt.NDArray[np.float32]
Rows = Source[Float32Array]


class KatzmanFile(NamedTuple):
    """One published file: its path below URL, its hash, and the hash of its rows in canonical order."""

    path: str
    sha256: str
    rows_sha256: str

    @property
    def name(self) -> str:
        """File name without its folder."""
        return self.path.rsplit("/", 1)[-1]


def obtain(
    label: str, file: KatzmanFile, settings: DataSettings, rebuilt: Rows | None = None, registry: Rows | None = None
) -> tuple[Float32Array, str]:
    """Return the rows (x | t | e) and where they came from; configured folders, cache, download, registry, in order."""
    found = [Source("configured folder", str(f), partial(_from_folder, f, file)) for f in settings.folders]
    found = found or [Source("configured folder", "", _no_folder)]
    in_cache = settings.cache / file.name
    found.append(Source("cache", str(in_cache), lambda: read(checked(in_cache, file.sha256))))
    found += [rebuilt] if rebuilt else []
    found.append(Source("download", URL + file.path, lambda: read(_downloaded(file, settings))))
    found += [registry] if registry else []
    advice = (
        f"put {file.name} (sha256 {file.sha256}) into a folder and name that folder in the config (data.folder) or in "
        f"SODEN_DATA; or run once on a machine that can download it and copy that machine's cache to {settings.cache}; "
        f"or leave {label} out of `datasets` in the config."
    )
    rows, kind = first_of(label, found, advice)
    if content_hash(rows) != file.rows_sha256:  # a matching file with other rows means a broken reader
        raise RuntimeError(f"{label} from {kind}: the rows differ from Katzman's although the file's hash is right")
    return rows, kind


def _no_folder() -> Float32Array:
    raise SourceFailed("none is configured")


def _from_folder(folder: Path, file: KatzmanFile) -> Float32Array:
    inside = folder / "katzman" / file.name
    return read(checked(inside if inside.is_file() else folder / file.name, file.sha256))


def _downloaded(file: KatzmanFile, settings: DataSettings) -> Path:
    to = settings.cache / file.name
    return download(URL + file.path, to, file.sha256, offline=settings.offline, progress=settings.progress)


def read(path: Path) -> Float32Array:
    """Read x, t, e of both groups as the columns of one float32 table in canonical order."""
    import h5py

    with h5py.File(path, "r") as file:
        groups = [file[group] for group in ("train", "test")]
        return canonical(np.concatenate([np.column_stack([g["x"][:], g["t"][:], g["e"][:]]) for g in groups]))


def canonical(rows: npt.NDArray[Any]) -> Float32Array:
    """Sort rows by their values: every source gives the same order, so a drawn split does not depend on the source."""
    table = rows.astype("<f4")
    return np.ascontiguousarray(table[np.lexsort(table.T[::-1])])


def content_hash(rows: Float32Array) -> str:
    """The sha256 of a table in canonical order."""
    return hashlib.sha256(rows.tobytes()).hexdigest()


def years(t: Float32Array) -> npt.NDArray[np.float64]:
    """Time as the published numbers use it: t / 365.25 + 0.001 (METABRIC's t are months: its years are not years)."""
    return (t / DAYS_PER_YEAR).astype(np.float64) + SHIFT
