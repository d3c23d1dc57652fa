"""The committed row numbers are the authors' splits, row for row, and how they are found in our tables."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import beside

from benchmarks.data import Dataset
from benchmarks.data.files import read_npz
from benchmarks.data.preprocess import design
from benchmarks.data.splits import PARTS, RELEASED, Split, draw, make_split
from benchmarks.studies import released as module
from benchmarks.studies.__main__ import main
from benchmarks.studies.released import DATASETS, part_codes

Load = Callable[[str], Dataset]


def toy(time: object = None) -> Dataset:
    times = np.arange(1.0, 11) if time is None else time
    return Dataset("flchain", "TOY", times, np.arange(10) % 2 == 0, np.arange(10)[:, None] // 2, ("a",))


def write(folder: Path, dataset: Dataset, split: Split) -> Path:
    """Files as the authors wrote them, in an order of their own; their times lack the 0.001 of their network code."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        rows = dataset.take(split.part(part)[::-1])
        x = rows.x.astype(np.float32)
        np.savez(folder / f"{part}_1.npz", x, np.column_stack([rows.time - 0.001, rows.event]), x)
    return folder


@pytest.mark.parametrize("name", DATASETS)
def test_the_committed_splits_are_the_authors_row_for_row(name: str, load_public: Load) -> None:
    """Compared as sets of whole rows, inputs, times and events: without the code that made the file."""
    folder, dataset = beside(f"released-splits/{name}"), load_public(name)
    ours = np.column_stack([design(dataset).astype(np.float32), dataset.time, dataset.event])
    assert len(np.unique(ours, axis=0)) == len(ours)
    for number in range(1, 11):
        split = make_split(dataset, "released", number)
        for part in PARTS:
            with np.load(folder / f"{part}_{number}.npz") as file:
                theirs = np.column_stack([file["arr_2"], file["arr_1"] + [0.001, 0]])
            mine = ours[split.part(part)]
            np.testing.assert_array_equal(mine[np.lexsort(mine.T)], theirs[np.lexsort(theirs.T)])


def test_the_file_can_be_made_again(
    load_public: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = beside("released-splits")
    monkeypatch.setattr(module, "load", load_public)
    assert main(["released", "--data", str(folder), "--out", str(tmp_path / "made.npz")]) == 0
    assert "10 splits of 8,873 rows of support, 10 splits of 1,904 rows of metabric" in capsys.readouterr().out
    made, kept = read_npz(tmp_path / "made.npz"), read_npz(RELEASED)
    assert list(made) == list(kept) == list(DATASETS)
    for name in DATASETS:
        np.testing.assert_array_equal(made[name], kept[name], strict=True)


def test_rows_are_found_in_whatever_order(tmp_path: Path) -> None:
    split = draw(10, 0, 1, "toy")
    codes = part_codes(toy(), write(tmp_path, toy(), split), 1)
    for code, part in enumerate(PARTS):
        assert np.flatnonzero(codes == code).tolist() == split.part(part).tolist()


def test_equal_rows_are_given_out_once_each(tmp_path: Path) -> None:
    dataset = Dataset("toy", "TOY", np.full(10, 2.001), np.ones(10), np.zeros((10, 1)), ("a",))
    write(tmp_path, dataset, draw(10, 0, 1, "toy"))
    assert np.bincount(part_codes(dataset, tmp_path, 1)).tolist() == [6, 2, 2]


def test_rows_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    dataset, split = toy(), draw(10, 0, 1, "toy")
    write(tmp_path / "a", dataset.take(np.arange(9)), draw(9, 0, 1, "toy"))
    with pytest.raises(ValueError, match="released split 1 of TOY leaves out 1 of the 10 rows"):
        part_codes(dataset, tmp_path / "a", 1)
    write(tmp_path / "b", toy(time=np.arange(10) + 1.5), split)
    with pytest.raises(ValueError, match=r"row 0 of .*train_1\.npz is not among the unused rows of TOY: other data"):
        part_codes(dataset, tmp_path / "b", 1)
    write(tmp_path / "c", dataset, split)
    (tmp_path / "c" / "test_1.npz").write_bytes((tmp_path / "c" / "valid_1.npz").read_bytes())
    with pytest.raises(
        ValueError, match=r"test_1\.npz is not among the unused rows of TOY: .*a row twice in the split"
    ):
        part_codes(dataset, tmp_path / "c", 1)
    (tmp_path / "c" / "test_1.npz").write_bytes(b"damaged")
    with pytest.raises(ValueError, match=r"test_1\.npz is not a file of the authors' splits .*fetch it again"):
        part_codes(dataset, tmp_path / "c", 1)
    with pytest.raises(
        FileNotFoundError, match=r"no file .*train_2\.npz; --data must be the folder `data` of the authors"
    ):
        part_codes(dataset, tmp_path / "c", 2)


def test_rows_that_differ_in_the_event_alone_are_told_apart(tmp_path: Path) -> None:
    event = np.arange(10) < 5
    dataset = Dataset("toy", "TOY", np.full(10, 2.001), event, np.zeros((10, 1)), ("a",))
    write(tmp_path, dataset, Split([5, 6, 7, 0], [1, 2, 8], [3, 4, 9]))
    codes = part_codes(dataset, tmp_path, 1)
    assert [np.sort(event[codes == code]).tolist() for code in range(3)] == [
        [False, False, False, True],
        [False, True, True],
        [False, True, True],
    ]
