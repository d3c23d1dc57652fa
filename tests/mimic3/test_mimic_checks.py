"""What a build says about itself: public figures with a verdict, aggregates only, a table to paste."""

from pathlib import Path

import pandas as pd
import pytest
from support.mimic_hand import Hospital

from benchmarks.__main__ import main
from benchmarks.data.mimic3 import MimicOptions, build
from benchmarks.data.mimic3.checks import verdict
from benchmarks.data.mimic3.tables import facts


@pytest.mark.parametrize(
    ("value", "published", "within", "wanted"),
    [
        (35_304, "35304", "2%", "equal"),
        (36_010, "35304", "2%", "close"),  # 2 % of 35,304 are 706.08
        (36_011, "35304", "2%", "off"),
        (46_519, "46520", "0%", "off"),
        (0.6149, "0.61", "0.01", "equal"),  # as printed
        (0.6199, "0.61", "0.01", "close"),
        (0.6201, "0.61", "0.01", "off"),
        (1.496, "1.50", "0.05", "equal"),
    ],
)
def test_verdicts(value: float, published: str, within: str, wanted: str) -> None:
    assert verdict(value, published, within) == wanted


def test_every_public_figure_names_its_source_and_tolerance() -> None:
    for fact in facts("aggregates"):
        assert fact["source"]
        assert float(fact["within"].rstrip("%")) >= 0
        assert float(fact["published"]) > 0


@pytest.fixture
def ward() -> Hospital:
    """Twelve patients, 50 years old, six of whom die in hospital after 100 days; and the one who fills tables."""
    ward = Hospital()
    for i in range(12):
        if i % 2:
            ward.patient(dod=2400, dod_hosp=2400, deathtime=2400, discharge=2400)
        else:
            ward.patient()
    return ward


def checks_of(out: Path) -> pd.DataFrame:
    return pd.read_csv(out / "checks.csv", dtype=str, keep_default_na=False).set_index(["check", "name"])


def test_figures_of_the_hospital_are_computed_as_published_ones(ward: Hospital, tmp_path: Path) -> None:
    build(ward.write(tmp_path / "raw"), tmp_path / "out")
    checks = checks_of(tmp_path / "out")
    value = checks["value"].to_dict()
    assert value["adults", "patients"] == value["adults", "hospital admissions"] == value["adults", "ICU stays"] == "13"
    assert value["adults", "deaths in hospital per admission"] == "0.4615"  # 6 of 13
    assert value["adults", "median days in ICU"] == "2"  # OUTTIME is 48 h after INTIME
    assert value["adults", "median age"] == "50.02"  # 2100-01-01 to 2150-01-10 12:00 are 18,271.5 days
    assert value["adults", "median days in hospital"] == "10.04"  # 241 hours of the middle one
    assert value["flow", "rule 6"] == value["count", "metavision"] == "12"
    assert value["count", "aids"] == "0"
    assert set(checks["verdict"]) == {"", "not judged"}


def test_real_tables_are_judged(ward: Hospital, tmp_path: Path) -> None:
    raw = ward.write(tmp_path / "raw")
    (raw / "SYNTHETIC.txt").unlink()
    with pytest.warns(UserWarning, match="rows where|leaves"):
        build(raw, tmp_path / "out", MimicOptions(row_counts="warn"))
    checks = checks_of(tmp_path / "out")
    assert checks.loc[("rows", "PATIENTS"), ["value", "verdict"]].tolist() == ["13", "off"]
    assert checks.loc[("outcome", "censoring_rate"), ["value", "verdict"]].tolist() == ["0.5", "off"]


def test_no_single_patient_is_in_it(ward: Hospital, tmp_path: Path) -> None:
    """Minima and maxima are somebody's values, and so are medians and counts of very few."""
    person = ward.patient()
    person.diagnosis("1970")
    person.lab(1, 50885, 7.5)
    build(ward.write(tmp_path / "raw"), tmp_path / "out")
    checks = checks_of(tmp_path / "out")
    assert not {"min", "max"} & set(checks.index.get_level_values("check"))
    assert checks.loc[("count", "mets"), "value"] == "under 10"
    assert checks.loc[("median", "bilirubin_max"), "value"] == ""
    assert "7.5" not in (tmp_path / "out" / "checks.csv").read_text()


def test_check_prints_a_table_to_paste(ward: Hospital, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build(ward.write(tmp_path / "raw"), tmp_path / "out", MimicOptions(min_age=18.0))
    assert main(["mimic", "check", "--built", str(tmp_path / "out")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Built from synthetic tables; choices other than the defaults: {'min_age': 18.0}."
    assert lines[2] == "| check | name | value | published | within | verdict | source |"
    assert all(line.count("|") == 8 for line in lines[2:-2])
    assert lines[-1] == "27 public figures: 27 not judged"
    assert main(["mimic", "check", "--built", str(tmp_path)]) == 1
    assert "is not a finished build; run `python -m benchmarks mimic build` first" in capsys.readouterr().err
