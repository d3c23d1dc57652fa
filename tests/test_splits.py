"""Splits: exact 3:1:1 from a seed, or the authors' rows, each row exactly once."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import data
from benchmarks.data import Dataset, DataSettings
from benchmarks.data.splits import PARTS, Split, draw, make_split, released


def toy(n: int = 10, time: object = None, name: str = "flchain") -> Dataset:
    times = np.arange(1.0, n + 1) if time is None else time
    return Dataset(name, "TOY", times, np.arange(n) % 2 == 0, np.arange(n)[:, None] // 2, ("a",))


def write_released(folder: Path, dataset: Dataset, split: Split, number: int = 1) -> None:
    """Files as the authors wrote them; their times lack the 0.001 that their network code adds."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        rows = dataset.take(split.part(part))
        x = rows.x.astype(np.float32)
        np.savez(folder / f"{part}_{number}.npz", x, np.column_stack([rows.time - 0.001, rows.event]), x)


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


@pytest.mark.parametrize("number", range(1, 11))
@pytest.mark.parametrize("name", ["support", "metabric"])
def test_released_rows_are_found_each_once(name: str, number: int, data_dir: Path) -> None:
    dataset = data.load(name, DataSettings(folders=(data_dir,), offline=True))
    split = make_split(dataset, "released", number, folder=data_dir)
    assert len(split) == len(dataset)
    for part in PARTS:
        with np.load(data_dir / "released-splits" / name / f"{part}_{number}.npz") as file:
            np.testing.assert_array_equal(dataset.time[split.part(part)], file["arr_1"][:, 0] + 0.001)
    if number == 1:
        assert split.sizes() == {"support": (5370, 1776, 1727), "metabric": (1125, 368, 411)}[name]


def test_equal_rows_are_given_out_once_each(tmp_path: Path) -> None:
    dataset = toy(10, time=np.full(10, 2.001))
    dataset = Dataset("toy", "TOY", dataset.time, np.ones(10), np.zeros((10, 1)), ("a",))
    write_released(tmp_path, dataset, draw(10, 0, 1, "toy"))
    assert released(dataset, tmp_path, 1).sizes() == (6, 2, 2)


def test_released_rows_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    dataset, split = toy(), draw(10, 0, 1, "toy")
    write_released(tmp_path / "a", dataset.take(np.arange(9)), draw(9, 0, 1, "toy"))
    with pytest.raises(ValueError, match="released split 1 of TOY leaves out 1 of the 10 rows"):
        released(dataset, tmp_path / "a", 1)
    write_released(tmp_path / "b", toy(time=np.arange(10) + 1.5), split)
    with pytest.raises(ValueError, match=r"row 0 of .*train_1\.npz is not among the unused rows of TOY: other data"):
        released(dataset, tmp_path / "b", 1)
    write_released(tmp_path / "c", dataset, split)
    (tmp_path / "c" / "test_1.npz").write_bytes((tmp_path / "c" / "valid_1.npz").read_bytes())
    with pytest.raises(
        ValueError, match=r"test_1\.npz is not among the unused rows of TOY: .*a row twice in the split"
    ):
        released(dataset, tmp_path / "c", 1)
    (tmp_path / "c" / "test_1.npz").write_bytes(b"damaged")
    with pytest.raises(ValueError, match=r"test_1\.npz is not a file of the authors' splits .*fetch it again"):
        released(dataset, tmp_path / "c", 1)


def test_the_switch(tmp_path: Path) -> None:
    dataset = toy()
    theirs = draw(10, 99, 1, "another")
    write_released(tmp_path / "flchain", dataset, theirs)
    assert make_split(dataset, "released", 1, folder=tmp_path).sha256() == theirs.sha256()
    assert make_split(dataset, "auto", 1, folder=tmp_path).sha256() == theirs.sha256()
    drawn = draw(10, 3, 1, "flchain").sha256()
    assert make_split(dataset, "drawn", 1, seed=3, folder=tmp_path).sha256() == drawn != theirs.sha256()
    assert make_split(dataset, "auto", 1, seed=3, folder=tmp_path / "empty").sha256() == drawn
    assert make_split(dataset, "auto", 1, seed=3).sha256() == drawn
    with pytest.raises(FileNotFoundError, match=r"no released split 2 of TOY below .*set split_source to drawn"):
        make_split(dataset, "released", 2, folder=tmp_path)
    with pytest.raises(FileNotFoundError, match=r"no folder for released split .*holds the authors' files"):
        make_split(dataset, "released", 1)
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
    with pytest.raises(FileNotFoundError, match=r"no split file .*2\.npz; make it with `python -m benchmarks split`"):
        Split.load(tmp_path / "2.npz")
    (tmp_path / "s" / "1.npz").write_bytes(b"damaged")
    with pytest.raises(ValueError, match=r"1\.npz is not a readable split file .*make it again"):
        Split.load(tmp_path / "s" / "1.npz")
