"""The chosen models of a kept run in one small file, with checksums of what they predict on the test parts."""

from __future__ import annotations

import hashlib
import io
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from baselines.contract import Competitor
from benchmarks import registry
from benchmarks.data.files import replacing
from benchmarks.data.preprocess import prepared
from benchmarks.data.splits import Split
from benchmarks.results.folder import read_results
from benchmarks.study.audit import Again
from benchmarks.study.rows import Row
from benchmarks.study.tune import Tuner
from soden.types import SurvivalData

FILE, TABLE = "states.tar.xz", "states.csv"
KEY = ("dataset", "model", "split", "trial")
TIMES = 100  # equally spaced, from 0 to the last of the test part


def checksum(model: Competitor, test: SurvivalData) -> str:
    """The sha256 of S on the test part, as float64."""
    S = model.predict_survival(test, np.linspace(0, float(test.time.max()), TIMES))
    return hashlib.sha256(np.ascontiguousarray(S, dtype="<f8").tobytes()).hexdigest()


def pack(run: Path, kept: Path) -> list[dict[str, Any]]:
    """Put the states that a run has of a kept run's chosen trials beside that one's rows; the same bytes every time."""
    table = []
    with (
        tempfile.TemporaryDirectory() as work,
        replacing(kept / FILE) as part,
        tarfile.open(part, "w:xz", preset=9) as archive,
    ):
        for row, tuner, test in _tests(read_results(kept).chosen, Again(kept, Path(work))):
            path = run / "trials" / row["dataset"] / row["model"] / "states" / tuner.state_path(row).name
            if not path.is_file():
                raise FileNotFoundError(
                    f"{run} has no state of {_name(row)}; `make verify` fits all of them again, into results/verify"
                )
            content = path.read_bytes()
            info = tarfile.TarInfo(_name(row))  # no time, no owner
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
            key = {k: row[k] for k in KEY}
            table.append(key | {"predictions": checksum(tuner.model_class.load(path), test)})
    with replacing(kept / TABLE) as part:
        pd.DataFrame(table).to_csv(part, index=False)
    return table


def check(kept: Path) -> Iterator[tuple[Row, bool]]:
    """Every packed model, loaded: whether it predicts on its test part what it predicted."""
    table = pd.read_csv(kept / TABLE).to_dict("records")
    with tempfile.TemporaryDirectory() as work, tarfile.open(kept / FILE) as archive:
        archive.extractall(work, filter="data")
        for row, _, test in _tests([{str(k): v for k, v in row.items()} for row in table], Again(kept, Path(work))):
            model = registry.model(row["model"]).load(Path(work) / _name(row))
            yield row, checksum(model, test) == row["predictions"]


def _tests(rows: Any, again: Again) -> Iterator[tuple[Row, Tuner, SurvivalData]]:
    for row in rows:
        tuner = again.tuner(row["dataset"], row["model"], row["split"])
        (test,) = prepared(tuner.dataset, Split.load(tuner.splits / f"{row['split']}.npz"), "test")
        yield row, tuner, test


def _name(row: Row) -> str:
    return f"{row['dataset']}/{row['model']}/{row['split']}.pt"
