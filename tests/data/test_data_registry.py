"""The contract of every data set, and how one is added with one file."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import benchmarks.data
from benchmarks import data
from benchmarks.__main__ import main
from benchmarks.data import DataSettings, registry
from benchmarks.data import settings as settings_module
from benchmarks.data.settings import data_folders, default_cache
from benchmarks.study.config import resolve
from benchmarks.study.prepare import data_settings, settings_of

PAPER = {"support", "metabric", "simulated", "flchain"}
# Appendix D
BATCH_SIZES = {"metabric": (32, 64, 128, 256), "support": (128, 256, 512)}


def test_the_papers_data_sets_are_found() -> None:
    assert set(data.names()) >= PAPER
    assert "preprocess" not in data.names()


@pytest.mark.parametrize("name", data.names())
def test_every_module_keeps_the_contract(name: str, load_public: Callable[[str], data.Dataset], tmp_path: Path) -> None:
    module = data.module(name)
    assert name == module.NAME
    assert module.LABEL
    assert module.N_SPLITS >= 1
    for key in ("batch_size", "intervals"):
        assert all(isinstance(v, int) and v > 0 for v in module.SEARCH[key])
    assert data.split_key(name) in data.names()
    if name in ("mimic", "mimic_seq"):  # no source is public; invented tables do
        options = {"mimic": {"synthetic_patients": 60}}
        dataset = data.load(name, DataSettings(cache=tmp_path, progress=False, options=options))
    else:
        dataset = load_public(name)
    assert (dataset.name, dataset.label) == (name, module.LABEL)
    assert dataset.source
    assert 0 < dataset.event.mean() < 1


def test_search_ranges_of_appendix_d() -> None:
    for name, sizes in BATCH_SIZES.items():
        module = data.module(name)
        assert (module.SEARCH["batch_size"], module.SEARCH["intervals"]) == (sizes, (10, 50, 100, 200, 400))
        assert module.N_SPLITS == 10


def test_unknown_name_lists_the_choices() -> None:
    with pytest.raises(ValueError, match=r"unknown data set 'suport'; choose among .*flchain, .*metabric, .*support"):
        data.load("suport")


def test_a_missing_data_set_does_not_stop_the_others(tmp_path: Path) -> None:
    settings = DataSettings(folders=(), cache=tmp_path, offline=True, simulated_n=10)
    found, missing = data.gather(["simulated", "metabric"], settings)
    assert list(found) == ["simulated"]
    assert missing["metabric"].startswith("METABRIC cannot be had. Tried:")


GOOD = """
from benchmarks.data.dataset import Dataset
NAME, LABEL, N_SPLITS, SEARCH = "toy", "TOY", 2, {"batch_size": (8,), "intervals": (5,)}
SPLIT_KEY = "support"
def load(settings):
    return Dataset(NAME, LABEL, [1.0, 2.0], [1, 0], [[0.0], [1.0]], ("a",), source="made up")
"""


@pytest.fixture
def plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A second folder that is searched for data sets, for one test."""
    monkeypatch.setattr(benchmarks.data, "__path__", [*benchmarks.data.__path__, str(tmp_path)])
    registry._modules.cache_clear()
    yield tmp_path
    registry._modules.cache_clear()


def test_one_file_adds_a_data_set(plug_in: Path) -> None:
    (plug_in / "toy.py").write_text(GOOD)
    assert "toy" in data.names()
    assert len(data.load("toy")) == 2
    assert data.split_key("toy") == "support"
    assert data.split_key("support") == "support"


@pytest.mark.parametrize(
    ("file", "text", "error"),
    [
        ("toy_a", 'NAME = "toy_a"', r"toy_a\.py defines NAME but lacks LABEL, SEARCH, N_SPLITS, load"),
        ("toy_b", GOOD, r"toy_b\.py has NAME = 'toy'; file name and NAME must be the same"),
        (
            "toy_c",
            GOOD.replace('"toy"', '"toy_c"').replace('"intervals"', '"bins"'),
            r"toy_c\.py: SEARCH lacks intervals",
        ),
    ],
)
def test_a_wrong_file_is_named(file: str, text: str, error: str, plug_in: Path) -> None:
    (plug_in / f"{file}.py").write_text(text)
    with pytest.raises(TypeError, match=error):
        data.names()


def test_settings_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SODEN_DATA", os.pathsep.join([str(tmp_path / "a"), str(tmp_path / "b")]))
    monkeypatch.setenv("SODEN_CACHE", str(tmp_path / "c"))
    assert data_folders() == DataSettings().folders == (tmp_path / "a", tmp_path / "b")
    assert data_folders(tmp_path / "chosen") == (tmp_path / "chosen",)
    assert default_cache() == tmp_path / "c"
    monkeypatch.delenv("SODEN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert default_cache() == tmp_path / "x" / "soden"
    monkeypatch.delenv("SODEN_DATA")
    monkeypatch.setattr(settings_module, "ROOT", tmp_path / "here" / "project")
    assert data_folders() == ()
    (tmp_path / "here" / "shared" / "data").mkdir(parents=True)
    assert data_folders() == (tmp_path / "here" / "shared" / "data",)


def test_every_verb_looks_in_the_same_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run's config may name one folder, SODEN_DATA several; the run and `datasets` agree on both."""
    monkeypatch.setenv("SODEN_DATA", os.pathsep.join([str(tmp_path / "a"), str(tmp_path / "b")]))
    for chosen, folders in (("", (tmp_path / "a", tmp_path / "b")), (str(tmp_path / "c"), (tmp_path / "c",))):
        plain = json.loads(json.dumps(settings_of(resolve({"data": {"folder": chosen}}))))
        assert data_settings(plain).folders == folders
        asked: list[DataSettings] = []
        monkeypatch.setattr(data, "gather", lambda names, settings, asked=asked: asked.append(settings) or ({}, {}))
        assert main(["datasets", *(["--folder", chosen] if chosen else [])]) == 0
        assert asked[0].folders == folders


def test_options_of_one_data_set() -> None:
    settings = DataSettings(folders=(Path("~/here"),), options={"mimic": {"raw": "m"}})
    assert settings.folders == (Path.home() / "here",)
    assert settings.option("mimic", "raw") == "m"
    assert settings.option("mimic", "other", 3) == 3
    assert settings.option("absent", "key") is None
