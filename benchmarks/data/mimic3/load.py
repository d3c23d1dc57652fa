"""The built tables as data sets; built first when only raw tables are given."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data.mimic3.build import build
from benchmarks.data.mimic3.features import MARKER
from benchmarks.data.mimic3.options import MimicOptions
from benchmarks.data.settings import DataSettings
from benchmarks.data.sources import DataUnavailable

VARIABLE = "MIMIC_III"
_IDS = ("subject_id", "hadm_id", "icustay_id", "time", "event")
_ADVICE = (
    "set data.mimic.raw in the config, or the variable MIMIC_III, to the folder with the tables of MIMIC-III v1.4 "
    "(credentialed access: https://physionet.org/content/mimiciii/1.4/); or data.mimic.synthetic_patients to a number "
    "for invented tables"
)

FloatArray = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Built:
    """What a build left behind, read back."""

    hadm_id: npt.NDArray[np.int64]
    time: FloatArray
    event: npt.NDArray[np.bool_]
    x: FloatArray  # (n, p), NaN where missing
    columns: tuple[str, ...]
    seq: FloatArray  # (n, 24, channels)
    seq_columns: tuple[str, ...]
    mark: str
    source: str


def load_built(name: str, label: str, settings: DataSettings) -> Built:
    """Read the built folder of the options, building it if need be."""
    chosen = {**settings.options.get("mimic", {}), **settings.options.get(name, {})}
    return read_built(Path(chosen["built"]) if chosen.get("built") else _folder(label, chosen, settings))


def read_built(folder: Path) -> Built:
    """mimic.parquet and mimic_seq.parquet as arrays; the same patients in the same order in both."""
    try:
        about = json.loads((folder / MARKER).read_text(encoding="utf-8"))
        static, hours = (pq.ParquetFile(folder / f"{name}.parquet").read() for name in ("mimic", "mimic_seq"))
    except (FileNotFoundError, pa.ArrowInvalid) as error:
        raise ValueError(
            f"{folder} is not a finished build ({error}); run `python -m benchmarks mimic build`"
        ) from error
    columns = tuple(column for column in static.column_names if column not in _IDS)
    seq_columns = tuple(hours.column_names[2:])
    n = static.num_rows
    if not np.array_equal(
        np.repeat(_numbers(static, "subject_id"), hours.num_rows // n), _numbers(hours, "subject_id")
    ):
        raise ValueError(f"{folder}: mimic.parquet and mimic_seq.parquet hold different patients; build both again")
    seq = np.stack([_numbers(hours, column) for column in seq_columns], axis=1).reshape(n, -1, len(seq_columns))
    source = {"": "MIMIC-III v1.4", "demo": "MIMIC-III demo"}.get(about["mark"], "synthetic MIMIC-III tables")
    x = np.stack([_numbers(static, column) for column in columns], axis=1)
    event = _numbers(static, "event").astype(bool)
    hadm_id, time = _numbers(static, "hadm_id"), _numbers(static, "time")
    return Built(hadm_id, time, event, x, columns, seq, seq_columns, about["mark"], source)


def _numbers(table: pa.Table, column: str) -> npt.NDArray[Any]:
    return np.asarray(table.column(column).to_numpy())


def _folder(label: str, chosen: Mapping[str, Any], settings: DataSettings) -> Path:
    raw = chosen.get("raw") or os.environ.get(VARIABLE, "")
    if not raw:
        tried = [("config data.mimic.raw", "empty"), (f"variable {VARIABLE}", "not set")]
        raise DataUnavailable(label, tried, _ADVICE)
    options = MimicOptions.of({"progress": settings.progress, **chosen.get("options", {})})
    key = json.dumps([str(Path(raw).resolve()), options.choices()])
    folder = settings.cache / "mimic3" / hashlib.sha256(key.encode()).hexdigest()[:16]
    if not (folder / MARKER).exists():
        try:
            build(Path(raw), folder, options)
        except OSError as error:
            tried = [(str(error.filename), str(error.strerror))]
            advice = "set data.cache in the config, or the variable SODEN_CACHE, to a folder you may write to"
            raise DataUnavailable(label, tried, advice) from error
    return folder
