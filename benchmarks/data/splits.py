"""Which rows are train, valid and test: the authors' own splits of SUPPORT and METABRIC, or 3:1:1 from a seed."""

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from benchmarks.data.dataset import Dataset
from benchmarks.data.files import read_npz, replacing
from benchmarks.data.registry import split_key
from benchmarks.seeds import rng_for

Index = npt.NDArray[np.int64]
PARTS = ("train", "valid", "test")
HOW = ("drawn", "released", "auto")
RELEASED = Path(__file__).with_name("released_splits.npz")  # row numbers alone; made by benchmarks/studies/released.py


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
    def load(cls, path: str | Path) -> Self:
        """Read a file written by `save`."""
        try:
            arrays = read_npz(path)
            return cls(arrays["train"], arrays["valid"], arrays["test"])
        except FileNotFoundError:
            raise FileNotFoundError(f"no split file {path}; `python -m benchmarks run` makes it") from None
        except (KeyError, ValueError) as error:
            raise ValueError(f"{path} is not a readable split file ({error}); make it again") from error


def draw(n: int, seed: int, split: int, key: str) -> Split:
    """Cut a random permutation of n rows at 3n/5 and 4n/5, to the nearest row; parts keep the order of the data."""
    if n < 5:
        raise ValueError(f"a 3:1:1 split needs at least 5 rows; got {n}")
    order = rng_for(seed, "split", key, split).permutation(n)
    train, valid, test = np.split(order, [(3 * n + 2) // 5, (4 * n + 2) // 5])
    return Split(np.sort(train), np.sort(valid), np.sort(test))


@cache
def _released_parts() -> dict[str, npt.NDArray[np.uint8]]:
    """Data set: (splits, rows) of 0 train, 1 valid, 2 test, for the rows in their canonical order."""
    return read_npz(RELEASED)


def released(dataset: Dataset, split: int) -> Split:
    """The authors' split, counted from 1; parts keep the order of the data."""
    name, label = dataset.name, dataset.label
    if name not in _released_parts():
        have = ", ".join(_released_parts())
        raise ValueError(f"{label} has no released splits, only {have} have; set split_source to auto or drawn")
    codes = _released_parts()[name]
    if split > len(codes):
        raise ValueError(
            f"the authors released splits 1 to {len(codes)} of {label}; got {split}: ask for fewer, or draw"
        )
    if len(dataset) != codes.shape[1]:
        raise ValueError(
            f"the released splits are of the {codes.shape[1]} rows of {label}; got {len(dataset)} rows: load all of "
            "them, or set split_source to drawn"
        )
    return Split(*(np.flatnonzero(codes[split - 1] == code) for code in range(len(PARTS))))


def make_split(dataset: Dataset, how: str, split: int, *, seed: int = 0) -> Split:
    """Split number `split`, from 1: "drawn" from the seed, "released" by the authors, "auto": released if it was."""
    if how not in HOW:
        raise ValueError(f"splits are {', '.join(HOW)}; got {how!r}")
    if split < 1:
        raise ValueError(f"splits are counted from 1; got {split}")
    if source_of(dataset.name, how, split) == "released":
        return released(dataset, split)
    return draw(len(dataset), seed, split, split_key(dataset.name))


def source_of(name: str, how: str, split: int) -> str:
    """What `make_split` does: "released" or "drawn"."""
    if how != "auto":
        return how
    return "released" if split <= len(_released_parts().get(name, ())) else "drawn"
