"""Splits: exact 3:1:1 from a seed, or the authors' rows, each row exactly once."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import data
from benchmarks.data import Dataset
from benchmarks.data.splits import PARTS, Split, draw, make_split, source_of


def toy(n: int = 10, name: str = "flchain") -> Dataset:
    return Dataset(name, "TOY", np.arange(1.0, n + 1), np.arange(n) % 2 == 0, np.arange(n)[:, None] // 2, ("a",))


@settings(max_examples=100, deadline=None)
@given(st.integers(5, 3000), st.integers(0, 2**40), st.integers(1, 20))
def test_drawn_sizes_are_three_one_one(n: int, seed: int, number: int) -> None:
    split = draw(n, seed, number, "support")
    train, valid, test = split.sizes()
    assert train + valid + test == n
    assert all(abs(size - share * n / 5) < 1 for size, share in zip((train, valid, test), (3, 1, 1), strict=True))
    assert sorted(np.concatenate([split.train, split.valid, split.test]).tolist()) == list(range(n))
    if n % 5 == 0:
        assert (train, valid, test) == (3 * n // 5, n // 5, n // 5)


def test_sizes_of_the_papers_data() -> None:
    assert draw(8873, 0, 1, "support").sizes() == (5324, 1774, 1775)
    assert draw(1904, 0, 1, "metabric").sizes() == (1142, 381, 381)
    with pytest.raises(ValueError, match="a 3:1:1 split needs at least 5 rows; got 4"):
        draw(4, 0, 1, "support")


def test_a_split_depends_on_seed_number_and_key_alone() -> None:
    np.random.seed(0)  # noqa: NPY002 - to show that global state plays no part
    first = draw(100, 7, 1, "mimic")
    np.random.seed(1)  # noqa: NPY002
    assert draw(100, 7, 1, "mimic").sha256() == first.sha256()
    others = [draw(100, 8, 1, "mimic"), draw(100, 7, 2, "mimic"), draw(100, 7, 1, "support")]
    assert len({split.sha256() for split in (first, *others)}) == 4


def test_every_row_is_equally_often_in_train() -> None:
    counts = np.zeros(10)
    for number in range(1, 2001):
        counts[draw(10, 0, number, "support").train] += 1
    # 2000 draws with p = 0.6: five standard errors of a proportion.
    assert (np.abs(counts / 2000 - 0.6) < 5 * np.sqrt(0.24 / 2000)).all()


def test_data_sets_of_the_same_patients_share_their_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data.module("flchain"), "SPLIT_KEY", "support", raising=False)
    one, other = (make_split(toy(50, name=name), "drawn", 3, seed=5) for name in ("flchain", "support"))
    assert one.sha256() == other.sha256()
    assert make_split(toy(50, name="metabric"), "drawn", 3, seed=5).sha256() != one.sha256()


SIZES = {"support": (5370, 1776, 1727), "metabric": (1125, 368, 411)}  # of the authors' first split


def sized(name: str, n: int) -> Dataset:
    """A table of as many rows: a released split is row numbers and looks at nothing else."""
    return Dataset(name, name.upper(), np.ones(n), np.ones(n), np.zeros((n, 1)), ("a",))


@pytest.mark.parametrize("name", SIZES)
def test_the_repository_has_the_authors_ten_splits(name: str) -> None:
    table = sized(name, sum(SIZES[name]))
    splits = [make_split(table, "released", number) for number in range(1, 11)]  # each a partition, or Split refuses
    assert splits[0].sizes() == SIZES[name]
    assert len({split.sha256() for split in splits}) == 10
    for split in splits:
        assert len(split) == len(table)
        assert all((np.diff(split.part(part)) > 0).all() for part in PARTS), "parts keep the order of the table"
        # Every row was put into a part at random, 3:1:1; five standard errors of a share.
        for size, share in zip(split.sizes(), (0.6, 0.2, 0.2), strict=True):
            assert abs(size / len(table) - share) < 5 * np.sqrt(share * (1 - share) / len(table))
    assert make_split(table, "auto", 3, seed=1).sha256() == splits[2].sha256()
    assert make_split(table, "drawn", 3, seed=1).sha256() == draw(len(table), 1, 3, name).sha256()
    assert [source_of(name, how, 10) for how in ("auto", "released", "drawn")] == ["released", "released", "drawn"]


def test_what_was_not_released_is_drawn_by_auto_and_else_an_error() -> None:
    dataset, more = toy(), sized("metabric", 1904)
    drawn = draw(10, 3, 1, "flchain").sha256()
    assert make_split(dataset, "auto", 1, seed=3).sha256() == make_split(dataset, "drawn", 1, seed=3).sha256() == drawn
    assert make_split(more, "auto", 11, seed=3).sha256() == draw(1904, 3, 11, "metabric").sha256()
    assert source_of("flchain", "auto", 1) == source_of("metabric", "auto", 11) == "drawn"
    with pytest.raises(
        ValueError, match=r"TOY has no released splits, only .* have; set split_source to auto or drawn"
    ):
        make_split(dataset, "released", 1)
    with pytest.raises(ValueError, match="the authors released splits 1 to 10 of METABRIC; got 11: ask for fewer, or"):
        make_split(more, "released", 11)
    with pytest.raises(ValueError, match=r"splits are of the 1904 rows of METABRIC; got 50 rows: load all of them"):
        make_split(sized("metabric", 50), "auto", 1)
    with pytest.raises(ValueError, match="splits are drawn, released, auto; got 'random'"):
        make_split(dataset, "random", 1)
    with pytest.raises(ValueError, match="splits are counted from 1; got 0"):
        make_split(dataset, "drawn", 0)


def test_a_split_holds_every_row_once() -> None:
    with pytest.raises(ValueError, match="must hold every row from 0 to 3 exactly once"):
        Split([0, 1], [1], [2])
    with pytest.raises(ValueError, match="must hold every row from 0 to 2 exactly once"):
        Split([0], [1], [3])
    with pytest.raises(ValueError, match=r"every part of a split needs rows; got \(2, 0, 1\) for train, valid, test"):
        Split([0, 1], [], [2])
    with pytest.raises(ValueError, match="a split has the parts train, valid, test; got 'val'"):
        Split([0], [1], [2]).part("val")


def test_saved_splits_come_back(tmp_path: Path) -> None:
    split = draw(23, 0, 1, "toy")
    split.save(tmp_path / "s" / "1.npz")
    assert Split.load(tmp_path / "s" / "1.npz").sha256() == split.sha256()
    assert [path.name for path in (tmp_path / "s").iterdir()] == ["1.npz"]
    with pytest.raises(FileNotFoundError, match=r"no split file .*2\.npz; `python -m benchmarks run` makes it"):
        Split.load(tmp_path / "2.npz")
    (tmp_path / "s" / "1.npz").write_bytes(b"damaged")
    with pytest.raises(ValueError, match=r"1\.npz is not a readable split file .*make it again"):
        Split.load(tmp_path / "s" / "1.npz")
