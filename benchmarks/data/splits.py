"""Which rows are train, valid and test: drawn 3:1:1 from a seed, or the authors' own."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.data.dataset import Dataset, FloatArray
from benchmarks.data.files import read_npz, replacing
from benchmarks.data.preprocess import design
from benchmarks.data.registry import split_key
from benchmarks.seeds import rng_for

Index = npt.NDArray[np.int64]
PARTS = ("train", "valid", "test")
HOW = ("drawn", "released", "auto")
RELEASED_SHIFT = 0.001  # the authors' network code adds this to the times in their files


@dataclass(frozen=True, eq=False)
class Split:
    """Row numbers of the three parts; together they hold every row exactly once."""

    train: Index
    valid: Index
    test: Index

    def __post_init__(self) -> None:
        for part in PARTS:
            object.__setattr__(self, part, np.asarray(getattr(self, part), dtype=np.int64))
        rows = np.concatenate([self.train, self.valid, self.test])
        if min(len(self.train), len(self.valid), len(self.test)) == 0:
            raise ValueError(f"every part of a split needs rows; got {self.sizes()} for train, valid, test")
        if not np.array_equal(np.sort(rows), np.arange(len(rows))):
            raise ValueError(f"a split must hold every row from 0 to {len(rows) - 1} exactly once")

    def __len__(self) -> int:
        return sum(self.sizes())

    def sizes(self) -> tuple[int, int, int]:
        """Number of rows in train, valid and test."""
        return len(self.train), len(self.valid), len(self.test)

    def part(self, name: str) -> Index:
        """Rows of "train", "valid" or "test"."""
        if name not in PARTS:
            raise ValueError(f"a split has the parts {', '.join(PARTS)}; got {name!r}")
        index: Index = getattr(self, name)
        return index

    def sha256(self) -> str:
        """Hash of the three index arrays."""
        return hashlib.sha256(b"|".join(self.part(part).astype("<i8").tobytes() for part in PARTS)).hexdigest()

    def save(self, path: str | Path) -> None:
        """Write the three index arrays; the file appears only when it is complete."""
        with replacing(Path(path)) as part, part.open("wb") as file:
            np.savez(file, train=self.train, valid=self.valid, test=self.test)

    @classmethod
    def load(cls, path: str | Path) -> Split:
        """Read a file written by `save`."""
        try:
            arrays = read_npz(path)
            return cls(arrays["train"], arrays["valid"], arrays["test"])
        except FileNotFoundError:
            raise FileNotFoundError(f"no split file {path}; make it with `python -m benchmarks split`") from None
        except (KeyError, ValueError) as error:
            raise ValueError(f"{path} is not a readable split file ({error}); make it again") from error


def draw(n: int, seed: int, split: int, key: str) -> Split:
    """Cut a random permutation of n rows at 3n/5 and 4n/5, to the nearest row; parts keep the order of the data."""
    if n < 5:
        raise ValueError(f"a 3:1:1 split needs at least 5 rows; got {n}")
    order = rng_for(seed, "split", key, split).permutation(n)
    train, valid, test = np.split(order, [(3 * n + 2) // 5, (4 * n + 2) // 5])
    return Split(np.sort(train), np.sort(valid), np.sort(test))


def released_file(name: str, folder: str | Path, part: str, split: int) -> Path | None:
    """Where the authors' file of a part is below a folder (their repository's `data/`), or None."""
    for inside in (Path(folder), Path(folder) / name, Path(folder) / "released-splits" / name):
        if (path := inside / f"{part}_{split}.npz").is_file():
            return path
    return None


def released(dataset: Dataset, folder: str | Path, split: int) -> Split:
    """The authors' split, counted from 1: their rows found in our table by all values, times and events."""
    rows: dict[bytes, list[int]] = defaultdict(list)
    for row, key in enumerate(_keys(design(dataset), dataset.time, dataset.event)):
        rows[key].append(row)
    index = {}
    for part in PARTS:
        path = released_file(dataset.name, folder, part, split)
        if path is None:
            raise FileNotFoundError(
                f"no released split {split} of {dataset.label} below {folder}: {part}_{split}.npz is not in it, in "
                f"{dataset.name}/ or in released-splits/{dataset.name}/; set split_source to drawn, or name the "
                "`data` folder of the authors' repository"
            )
        index[part] = _match(path, rows, dataset)
    left = sum(map(len, rows.values()))
    if left:
        raise ValueError(f"released split {split} of {dataset.label} leaves out {left} of the {len(dataset)} rows")
    return Split(**index)


def _match(path: Path, rows: dict[bytes, list[int]], dataset: Dataset) -> Index:
    try:
        arrays = read_npz(path)
        outcome, x = arrays["arr_1"], arrays["arr_2"]
    except (KeyError, ValueError) as error:
        raise ValueError(f"{path} is not a file of the authors' splits ({error}); fetch it again") from error
    found: list[int] = []
    for key in _keys(x, outcome[:, 0] + RELEASED_SHIFT, outcome[:, 1] == 1):
        if not rows.get(key):
            raise ValueError(
                f"row {len(found)} of {path} is not among the unused rows of {dataset.label}: other data, or a row "
                "twice in the split"
            )
        found.append(rows[key].pop(0))  # equal rows are interchangeable; each is given out once
    return np.array(found, dtype=np.int64)


def _keys(x: FloatArray, time: FloatArray, event: npt.NDArray[np.bool_]) -> list[bytes]:
    """One key per subject from float32 inputs, exact time and event; adding 0.0 turns -0.0 into 0.0."""
    inputs = np.ascontiguousarray(x, dtype=np.float32) + np.float32(0)
    return [a.tobytes() + t.tobytes() + e.tobytes() for a, t, e in zip(inputs, time.astype("<f8"), event, strict=True)]


def make_split(dataset: Dataset, how: str, split: int, *, seed: int = 0, folder: str | Path | None = None) -> Split:
    """Split number `split`, from 1: "drawn" from the seed, "released" by the authors, "auto": released where found."""
    if how not in HOW:
        raise ValueError(f"splits are {', '.join(HOW)}; got {how!r}")
    if split < 1:
        raise ValueError(f"splits are counted from 1; got {split}")
    if how == "released" and folder is None:
        raise FileNotFoundError(
            f"no folder for released split {split} of {dataset.label}: name the one that holds the authors' files as "
            "released-splits/ in SODEN_DATA or data.folder, or set split_source to drawn"
        )
    if folder is not None and source_of(dataset.name, how, split, folder) == "released":
        return released(dataset, folder, split)
    return draw(len(dataset), seed, split, split_key(dataset.name))


def source_of(name: str, how: str, split: int, folder: str | Path | None) -> str:
    """What `make_split` does: "released" or "drawn"."""
    if how != "auto":
        return how
    found = folder is not None and released_file(name, folder, "train", split) is not None
    return "released" if found else "drawn"
