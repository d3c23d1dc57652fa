"""What each open choice of the MIMIC cohort changes: both data sets built with and without it, cell by cell.

The rows hold aggregates only. Choices about the series are also scored: DeepSurv with one small GRU on five drawn
splits, Antolini's C on test rows. On the demo, whose test parts are 18 patients, such a score says little.
"""

from __future__ import annotations

import argparse
import csv
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from benchmarks import data
from benchmarks.commands._arguments import place
from benchmarks.data.mimic3 import MimicOptions, build
from benchmarks.data.mimic3.load import VARIABLE
from benchmarks.data.mimic3.small_cells import HIDDEN, SmallCells

Floats = npt.NDArray[np.float64]

# Every choice that touches the paper's tables, with what it could be instead of the default.
ALTERNATIVES: tuple[dict[str, Any], ...] = (
    {"seq_features": "processed12"},
    {"admission_type": "onehot"},
    {"age_over_89": "91.4"},
    {"impute_window": "first24"},
    {"seq_start": "intime"},
    {"seq_end": "intime24"},
    {"origin": "admittime"},
    {"min_age": 18.0},
    {"lost_admissions": "drop"},
    {"span_rule": False},
    {"death_time": "dod"},
    {"alive_by": "death"},
)
SERIES = ("impute_window", "seq_start", "seq_end", "seq_features")
ENOUGH = 50  # patients in the cohort, to have a score at all
SPLITS = (1, 2, 3, 4, 5)
HYPER = {"layers": 1, "width": 16, "gru_width": 16, "lr": 3e-3, "weight_decay": 1e-6, "momentum": 0.0}
HYPER |= {"dropout": 0.1, "batch_norm": True}
BATCH, SMALL_BATCH = 512, 16  # the latter where the former would leave fewer than two batches
FIELDS = ("tables", "choice", "value", "patients", "left", "came", "outcomes", "columns", "series", "ctd", "ctd_sd")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    given = os.environ.get(VARIABLE)
    parser.add_argument("--raw", type=Path, default=given, required=not given, help=f"raw tables; ${VARIABLE}")
    parser.add_argument("--out", type=place, required=True, help="CSV file to append to")


def run(args: argparse.Namespace) -> int:
    """Build with every choice made otherwise, and append what that changes."""
    write(args.raw, args.out)
    return 0


@dataclass(frozen=True)
class Version:
    """Both data sets of one build, and whose rows they are."""

    subjects: npt.NDArray[np.int64]
    mimic: data.Dataset
    seq: data.Dataset

    @classmethod
    def of(cls, raw: Path, options: MimicOptions) -> Version:
        """Build and read back."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            build(raw, out, options)
            settings = data.DataSettings(options={"mimic": {"built": str(out)}})
            subjects = pq.read_table(out / "mimic.parquet", columns=["subject_id"])["subject_id"].to_numpy()
            return cls(subjects, data.load("mimic", settings), data.load("mimic_seq", settings))


def effects(raw: Path, alternatives: Iterable[dict[str, Any]] | None = None) -> Iterator[dict[str, Any]]:
    """A row per alternative: patients that leave or come, shares of cells that change among those who stay, scores."""
    usual = Version.of(raw, MimicOptions())
    scores = _scores(usual.seq) if len(usual.subjects) >= ENOUGH else None
    for chosen in ALTERNATIVES if alternatives is None else alternatives:
        ((name, value),) = chosen.items()
        other = Version.of(raw, MimicOptions(**chosen))
        _, here, there = np.intersect1d(usual.subjects, other.subjects, return_indices=True)
        a, b = usual.mimic.take(here), other.mimic.take(there)
        c, d = usual.seq.take(here), other.seq.take(there)
        cells = SmallCells(data.credentialed(usual.mimic.name, usual.mimic.mark))
        counts = {"left": len(usual.subjects) - len(here), "came": len(other.subjects) - len(here)}
        row = {"tables": usual.mimic.source, "choice": name, "value": value, "patients": len(other.subjects)}
        row |= {key: cells.count(n) for key, n in counts.items()}
        if cells.few(len(other.subjects) - len(usual.subjects)):
            row["patients"] = HIDDEN
        row["outcomes"] = _changed(np.stack([a.time, a.event], 1), np.stack([b.time, b.event], 1))
        row["columns"] = _changed(*_common(a.x, a.columns, b.x, b.columns))
        row["series"] = _changed(*_common(c.seq, c.seq_columns, d.seq, d.seq_columns))
        if scores is not None and name in SERIES:
            difference = _scores(other.seq) - scores
            row |= {"ctd": round(float(difference.mean()), 4), "ctd_sd": round(float(difference.std(ddof=1)), 4)}
        yield row


def write(raw: Path, out: Path) -> None:
    """Append to a table, so that demo, invented and real tables can stand in one."""
    new = not out.exists()
    with out.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n", restval="")
        if new:
            writer.writeheader()
        for row in effects(raw):
            writer.writerow(row)
            print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)


def _common(a: Any, a_names: tuple[str, ...], b: Any, b_names: tuple[str, ...]) -> tuple[Any, Any]:
    names = [name for name in a_names if name in b_names]
    return a[..., [a_names.index(n) for n in names]], b[..., [b_names.index(n) for n in names]]


def _changed(a: Any, b: Any) -> float:
    """The share of cells that differ by more than rounding; missing equals missing."""
    return round(float(1 - np.isclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True).mean()), 4)


def _scores(dataset: data.Dataset) -> Floats:
    """C of one small recurrent DeepSurv per drawn split, on its test part."""
    from baselines.contract import TrialOptions
    from benchmarks import registry
    from benchmarks.data.preprocess import prepared
    from benchmarks.data.splits import make_split
    from benchmarks.metrics.antolini import antolini_ctd

    scores = []
    for split in SPLITS:
        drawn = make_split(dataset, "drawn", split, seed=2022)
        train, valid, test = prepared(dataset, drawn, "train", "valid", "test")
        hyper = {**HYPER, "batch_size": BATCH if len(train.time) >= 2 * BATCH else SMALL_BATCH}
        model = registry.model("deepsurv")(hyper, TrialOptions(max_epochs=40, device="cpu"))
        model.fit(train, valid, split)
        times = np.unique(test.time[test.event])
        scores.append(float(antolini_ctd(test.time, test.event, model.predict_survival(test, times), times)))
    return np.array(scores)
