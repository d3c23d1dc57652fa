"""The open MIMIC-III demo, 100 patients: counts and medians that were worked out before, apart from this code."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import beside
from support.mimic_hand import Result

from benchmarks import data
from benchmarks.data.mimic3 import MimicOptions, build
from benchmarks.data.mimic3.database import database, run_sql
from benchmarks.data.mimic3.features import prepare
from benchmarks.data.mimic3.series import build_series


@pytest.fixture(scope="module")
def raw() -> Path:
    return beside("mimic-iii-demo")


@pytest.fixture(scope="module")
def out(raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "out"
    build(raw, folder)
    return folder


@pytest.fixture(scope="module")
def result(out: Path) -> Result:
    return Result.read(out)


def test_funnel(result: Result) -> None:
    assert result.flow["left"].tolist() == [100, 100, 100, 100, 100, 93, 90, 90]


def test_first_admission_is_the_earliest(out: Path) -> None:
    cohort = pd.read_parquet(out / "cohort.parquet").set_index("subject_id")
    assert cohort.loc[40310, "hadm_id"] == 186361  # not 157609, which comes first in the file


def test_one_patient_is_younger_than_18(raw: Path, tmp_path: Path) -> None:
    build(raw, tmp_path / "out", MimicOptions(min_age=18.0))
    assert Result.read(tmp_path / "out").flow["left"].tolist()[2] == 99


def test_outcomes(result: Result, out: Path) -> None:
    assert result.mimic["event"].all()
    time = result.mimic["time"]
    assert [round(v, d) for v, d in ((time.median(), 3), (time.mean(), 3), (time.min(), 4))] == [0.237, 1.043, 0.0046]
    stays = pd.read_parquet(out / "stays.parquet")
    discharge = (stays["last_discharge"] - stays["intime"]).dt.total_seconds() / (365.25 * 86400)
    assert (round(discharge.median(), 3), round(discharge.mean(), 3)) == (0.021, 0.096)
    assert stays["dbsource"].value_counts().to_dict() == {"metavision": 46, "carevue": 44}


def test_hours_observed(out: Path, tmp_path: Path) -> None:
    """The known shares and the known first record, 2.0 h before INTIME, were counted without the blood gases."""
    with database(MimicOptions(), tmp_path) as connection:
        prepare(connection, out)
        connection.execute("DELETE FROM point WHERE series IN ('pao2', 'fio2')")
        connection.execute("DROP TABLE clock")
        connection.execute(
            "CREATE TABLE clock AS SELECT hadm_id, min(charttime) AS first_time, max(charttime) AS last_time, "
            "epoch(max(charttime)) - epoch(min(charttime)) AS span FROM point GROUP BY ALL"
        )
        run_sql(connection, "labels", MimicOptions().choices())
        observed = build_series(connection, MimicOptions(), tmp_path / "seq.parquet")
        first = connection.execute("SELECT median(epoch(first_time) - epoch(intime)) / 3600 FROM kept").fetchall()[0][0]
    wanted = {"heart_rate": 0.84, "sysbp": 0.83, "urine": 0.63, "gcs_eyes": 0.32, "tempc": 0.32, "potassium": 0.13}
    wanted |= {"sodium": 0.12, "bun": 0.10, "bicarbonate": 0.10, "wbc": 0.10, "bilirubin": 0.03}
    assert {name: round(observed[name].share, 2) for name in wanted} == wanted
    assert round(first, 1) == -2.0


def test_checks_hold_row_counts_and_published_values(out: Path) -> None:
    checks = pd.read_csv(out / "checks.csv", dtype=str).set_index(["check", "name"])
    assert checks.loc[("rows", "CHARTEVENTS"), ["value", "published"]].tolist() == ["758355", "330712483"]
    assert checks.loc[("outcome", "n"), "value"] == "90"
    # 100 patients with 136 ICU stays, of whom 40 die in hospital in 129 admissions (counted in the tables).
    assert checks.loc[("adults", "ICU stays"), "value"] == "136"
    assert checks.loc[("adults", "deaths in hospital per admission"), "value"] == "0.3101"
    assert set(checks["verdict"].dropna()) == {"not judged"}  # the demo is no sample of the whole


def test_both_data_sets_with_the_censoring_fixture(raw: Path, tmp_path: Path) -> None:
    build(raw, tmp_path / "out", MimicOptions(censor_without_dod_hosp=True))
    settings = data.DataSettings(options={"mimic": {"built": str(tmp_path / "out")}})
    mimic, seq = data.load("mimic", settings), data.load("mimic_seq", settings)
    assert (mimic.mark, seq.mark, mimic.source) == ("demo", "demo", "MIMIC-III demo")
    assert mimic.x.shape == (90, 26)
    assert seq.x.shape == (90, 5)
    assert seq.seq is not None
    assert seq.seq.shape == (90, 24, 15)
    assert 0.2 < mimic.summary()["censoring_rate"] < 0.4  # 30 of the 100 have no DOD_HOSP
    np.testing.assert_allclose(mimic.time, seq.time + 0.001)  # the authors' loaders differ by this
    assert data.split_key("mimic") == data.split_key("mimic_seq")
