"""Make `released_splits.npz` from the authors' files.

They are in the folder `data` of the authors' repository: support/ and metabric/ with {train,valid,test}_{1..10}.npz,
each of standardised inputs, (time, event) and unstandardised inputs. Their rows are found in our tables, and what is
kept is which part each row of the table is in: row numbers, no data. `benchmarks/data/splits.py` reads the file.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.data.dataset import Dataset, FloatArray
from benchmarks.data.files import read_npz, replacing
from benchmarks.data.preprocess import design
from benchmarks.data.registry import load
from benchmarks.data.splits import PARTS, RELEASED
from benchmarks.data.units import SHIFT

DATASETS = ("support", "metabric")
SPLITS = range(1, 11)
Codes = npt.NDArray[np.uint8]


def part_codes(dataset: Dataset, folder: Path, split: int) -> Codes:
    """For each row of the table the part the authors put it into: 0 train, 1 valid, 2 test."""
    rows: dict[bytes, list[int]] = defaultdict(list)
    for row, key in enumerate(_keys(design(dataset), dataset.time, dataset.event)):
        rows[key].append(row)
    codes = np.zeros(len(dataset), dtype=np.uint8)
    for code, part in enumerate(PARTS):
        codes[_match(folder / f"{part}_{split}.npz", rows, dataset)] = code
    left = sum(map(len, rows.values()))
    if left:
        raise ValueError(f"released split {split} of {dataset.label} leaves out {left} of the {len(dataset)} rows")
    return codes


def _match(path: Path, rows: dict[bytes, list[int]], dataset: Dataset) -> list[int]:
    try:
        arrays = read_npz(path)
        outcome, x = arrays["arr_1"], arrays["arr_2"]
    except FileNotFoundError:
        raise FileNotFoundError(
            f"no file {path}; --data must be the folder `data` of the authors' repository, with {dataset.name}/ inside"
        ) from None
    except (KeyError, ValueError) as error:
        raise ValueError(f"{path} is not a file of the authors' splits ({error}); fetch it again") from error
    found: list[int] = []
    for key in _keys(x, outcome[:, 0] + SHIFT, outcome[:, 1] == 1):
        if not rows.get(key):
            raise ValueError(
                f"row {len(found)} of {path} is not among the unused rows of {dataset.label}: other data, or a row "
                "twice in the split"
            )
        found.append(rows[key].pop(0))  # equal rows are interchangeable; each is given out once
    return found


def _keys(x: FloatArray, time: FloatArray, event: npt.NDArray[np.bool_]) -> list[bytes]:
    """One key per subject from float32 inputs, exact time and event; adding 0.0 turns -0.0 into 0.0."""
    inputs = np.ascontiguousarray(x, dtype=np.float32) + np.float32(0)
    return [a.tobytes() + t.tobytes() + e.tobytes() for a, t, e in zip(inputs, time.astype("<f8"), event, strict=True)]


def all_codes(dataset: Dataset, folder: Path) -> Codes:
    """The authors' ten splits of a data set, (10, n), from the folder that holds its files."""
    return np.stack([part_codes(dataset, folder, split) for split in SPLITS])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--data", type=Path, required=True, help="folder with support/ and metabric/")
    parser.add_argument("--out", type=Path, default=RELEASED)


def run(args: argparse.Namespace) -> int:
    """Read, match, write."""
    codes = {name: all_codes(load(name), args.data / name) for name in DATASETS}
    with replacing(args.out) as part, part.open("wb") as file:
        np.savez_compressed(file, **codes)  # type: ignore[arg-type]
    print(f"{args.out}: " + ", ".join(f"{len(c)} splits of {c.shape[1]:,} rows of {n}" for n, c in codes.items()))
    return 0
