"""MIMIC and MIMIC-SEQ as data sets of the benchmark, and the command line that builds them."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from support.mimic_hand import Hospital

from benchmarks import data
from benchmarks.__main__ import main
from benchmarks.data.mimic3 import MimicOptions
from benchmarks.data.mimic3.cohort import build_cohort
from benchmarks.data.mimic3.events import TABLES, build_events
from benchmarks.data.mimic3.features import build_features
from benchmarks.data.mimic3.load import read_built


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ward = Hospital()
    for i in range(4):
        who = ward.patient(dod=9000, dod_hosp=9000) if i % 2 else ward.patient()
        who.lab(2, 51006, 10 + i)
        who.service(-1, "CSURG")
    return ward.write(tmp_path_factory.mktemp("raw") / "raw")


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> data.DataSettings:
    monkeypatch.delenv("MIMIC_III", raising=False)
    return data.DataSettings(folders=(), cache=tmp_path / "cache", offline=True, progress=False)


def with_options(settings: data.DataSettings, **mimic: object) -> data.DataSettings:
    return data.DataSettings(folders=(), cache=settings.cache, progress=False, options={"mimic": mimic})


def test_unavailable_without_tables(settings: data.DataSettings) -> None:
    with pytest.raises(
        data.DataUnavailable, match=r"config data.mimic.raw: empty\n.*variable MIMIC_III: not set"
    ) as error:
        data.load("mimic", settings)
    assert "physionet.org/content/mimiciii/1.4" in str(error.value)
    with pytest.raises(data.DataUnavailable, match="MIMIC-SEQ cannot be had"):
        data.load("mimic_seq", settings)


def test_built_once_from_the_config_or_the_variable(
    raw: Path, settings: data.DataSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    mimic = data.load("mimic", with_options(settings, raw=str(raw)))
    stamp = {path: path.stat().st_mtime_ns for path in settings.cache.rglob("mimic*.parquet")}
    monkeypatch.setenv("MIMIC_III", str(raw))
    seq = data.load("mimic_seq", settings)  # the same tables and choices: nothing is built again
    assert {path: path.stat().st_mtime_ns for path in settings.cache.rglob("mimic*.parquet")} == stamp
    assert (mimic.mark, mimic.source) == ("synthetic", "synthetic MIMIC-III tables")
    assert mimic.columns[:2] == ("age", "heartrate_max")
    assert seq.columns == ("age", "aids", "hem", "mets", "admissiontype")
    assert mimic.event.tolist() == seq.event.tolist() == [False, True, False, True]
    assert np.isnan(mimic.x[:, mimic.columns.index("mingcs")]).all()
    assert len(list((settings.cache / "mimic3").glob("*/build.json"))) == 1


def test_options_reach_the_build(raw: Path, settings: data.DataSettings) -> None:
    options = {"admission_type": "onehot", "seq_features": "processed12"}
    seq = data.load("mimic_seq", with_options(settings, raw=str(raw), options=options))
    assert seq.columns == ("age", "aids", "hem", "mets", "admissiontype_1", "admissiontype_2")
    assert seq.x[:, 5].tolist() == [1, 1, 1, 1]  # unscheduled surgical
    assert seq.seq is not None
    assert seq.seq.shape == (4, 24, 12)


def test_files_of_different_builds(raw: Path, tmp_path: Path) -> None:
    assert main(["mimic", "build", "--raw", str(raw), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    hours = pd.read_parquet(tmp_path / "out" / "mimic_seq.parquet")
    hours.assign(subject_id=hours["subject_id"] + 1).to_parquet(tmp_path / "out" / "mimic_seq.parquet")
    with pytest.raises(ValueError, match="hold different patients; build both again"):
        read_built(tmp_path / "out")


def test_stages_give_what_build_gives(raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, stages = str(tmp_path / "one"), tmp_path / "stages"
    chosen = {"min_age": 16.0, "age_over_89": "91.4"}
    (tmp_path / "mine.yaml").write_text(yaml.dump({"data": {"mimic": {"options": chosen}}}))
    arguments = ["--raw", str(raw), "--out", one, "--configfile", str(tmp_path / "mine.yaml"), "--quiet"]
    assert main(["mimic", "build", *arguments]) == 0
    assert "7           4    35304  alive 24 hours after INTIME" in capsys.readouterr().out
    options = MimicOptions.of(chosen)
    assert build_cohort(raw, stages, options) == "synthetic"
    for table in TABLES:
        build_events(raw, stages, table, options)
    build_features(stages, options)
    files = {path.relative_to(one) for path in Path(one).rglob("*") if path.is_file()}
    assert files == {path.relative_to(stages) for path in Path(stages).rglob("*") if path.is_file()}
    for file in files:
        assert (Path(one) / file).read_bytes() == (Path(stages) / file).read_bytes(), file
    assert json.loads((Path(one) / "build.json").read_text())["options"]["min_age"] == 16
