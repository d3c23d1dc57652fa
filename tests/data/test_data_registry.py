"""The contract of every data set, and how one is added with one file."""

import argparse
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import benchmarks.data
from benchmarks import data
from benchmarks.__main__ import main
from benchmarks.commands import data as command
from benchmarks.config import resolve
from benchmarks.data import DataSettings, registry
from benchmarks.data.mimic3.synthesise import write
from benchmarks.data.settings import data_folders, default_cache
from benchmarks.study.prepare import data_settings

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
        write(tmp_path / "raw", patients=60)
        options = {"mimic": {"raw": str(tmp_path / "raw")}}
        dataset = data.load(name, DataSettings(cache=tmp_path, progress=False, options=options))
    else:
        dataset = load_public(name)
    assert (dataset.name, dataset.label) == (name, module.LABEL)
    assert dataset.source
    assert 0 < dataset.event.mean() < 1


def test_no_file_is_broken_and_a_broken_one_is_named_and_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert registry.faults() == []
    (tmp_path / "unfinished.py").write_text("NAME = (\n")
    (tmp_path / "half.py").write_text('NAME = "half"\n')
    (tmp_path / "needy.py").write_text("import no_such_package\n")
    monkeypatch.setattr(benchmarks.data, "__path__", [*benchmarks.data.__path__, str(tmp_path)])
    monkeypatch.setattr(registry, "_all", registry._all.__wrapped__)
    assert data.module("support").LABEL == "SUPPORT"
    with pytest.raises(ValueError, match="unknown data set 'half'") as caught:
        data.module("half")
    for part in ("unfinished.py, line 1 cannot be used", "half.py defines NAME but lacks LABEL", "no_such_package"):
        assert part in str(caught.value)


def test_the_papers_sets_are_scored_as_published_and_others_as_the_formulas_read() -> None:
    own = {name: registry.convention_of(name, "auto") for name in data.names()}
    assert {name for name, convention in own.items() if convention == "published"} == {
        *("support", "metabric", "mimic", "mimic_seq", "simulated")
    }
    assert set(own.values()) == {"published", "text"}
    assert registry.convention_of("flchain", "published") == "published"


def test_search_ranges_of_appendix_d() -> None:
    for name, sizes in BATCH_SIZES.items():
        module = data.module(name)
        assert (module.SEARCH["batch_size"], module.SEARCH["intervals"]) == (sizes, (10, 50, 100, 200, 400))
        assert module.N_SPLITS == 10


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
    registry._all.cache_clear()
    yield tmp_path
    registry._all.cache_clear()


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
    assert file not in data.names()
    with pytest.raises(ValueError, match=error):
        data.module(file)


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
    assert data_folders() == ()


def test_every_verb_looks_in_the_same_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run's config may name one folder, SODEN_DATA several; the run and `data list` agree on both."""
    monkeypatch.setenv("SODEN_DATA", os.pathsep.join([str(tmp_path / "a"), str(tmp_path / "b")]))
    for chosen, folders in (("", (tmp_path / "a", tmp_path / "b")), (str(tmp_path / "c"), (tmp_path / "c",))):
        assert data_settings(resolve({"data": {"folder": chosen}})).folders == folders
        asked: list[DataSettings] = []
        monkeypatch.setattr(data, "gather", lambda names, settings, asked=asked: asked.append(settings) or ({}, {}))
        assert main(["data", "list", *(["--folder", chosen] if chosen else [])]) == 0
        assert asked[0].folders == folders


def test_a_folder_in_the_home_is_found() -> None:
    assert DataSettings(folders=(Path("~/here"),)).folders == (Path.home() / "here",)


# The verb that says which data sets can be had.


def call(*argv: object) -> int:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.run(parser.parse_args(["list", *map(str, argv)]))


def test_what_can_be_had_and_what_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ("--folder", tmp_path / "none", "--cache", tmp_path / "cache", "--offline")
    assert call("flchain", *where) == 0
    assert capsys.readouterr().out.startswith("FLCHAIN      N  7,874  p 9        censored  72%  years  11.57  12.61")
    assert call("metabric", "flchain", *where) == 1
    captured = capsys.readouterr()
    assert "METABRIC cannot be had. Tried:" in captured.err
    assert "from scikit-survival" in captured.out


def test_marks_and_series_are_printed() -> None:
    row = {"label": "MIMIC-SEQ", "mark": "demo", "n": 100, "p": 5, "seq_channels": 15, "seq_steps": 24}
    row |= {"censoring_rate": 0.3, "censored_mean": 1, "censored_median": 2, "observed_mean": 3, "observed_median": 4}
    assert command.row_text(row).startswith("MIMIC-SEQ (demo) N    100  p 5+15x24  censored  30%  years   1.00   2.00")
