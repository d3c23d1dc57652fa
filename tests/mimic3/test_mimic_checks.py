"""What a build says about itself: public figures with a verdict, aggregates only, a table to paste."""

from pathlib import Path

import pandas as pd
import pytest
from support.mimic_hand import Hospital

from benchmarks.__main__ import main
from benchmarks.data.mimic3 import MimicOptions, build
from benchmarks.data.mimic3.checks import _adults, _shown, verdict
from benchmarks.data.mimic3.small_cells import HIDDEN, SmallCells
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


def test_what_is_odd_in_the_tables_is_counted(ward: Hospital, tmp_path: Path) -> None:
    who = ward.patient()
    who.chart(1, 220045, 80)  # the row that stands there already
    who.chart(2, 211, 80, HADM_ID=199999)
    who.chart(3, 211, 999)
    who.chart(2, 454, "6 Obeys Commands ", 6, SUBJECT_ID=99999)
    who.chart(3, 720, "CMV")
    who.chart(4, 720, "Bag")
    for _ in range(2):
        who.lab(2, 51006, 7)
        who.output(4, 40055, 20_000)
    who.output(5, 40055, -5)
    who.output(6, 40055, 10, HADM_ID=199999)
    build(ward.write(tmp_path / "raw"), tmp_path / "out")
    value = checks_of(tmp_path / "out")["value"]
    ids, text = "rows whose ids contradict their ICU stay", "rows with a text not in facts/texts.csv"
    wanted = {
        ("rows kept", "heart_rate, carevue"): 3,  # with the row that fills the table, which has no value
        ("rows kept", "heart_rate, metavision"): 27,
        ("rows without a plausible value", "heart_rate, carevue"): 2,
        (ids, "CHARTEVENTS, needed items"): 2,
        (ids, "vitals, which are left out"): 1,
        (ids, "OUTPUTEVENTS, which are left out"): 1,
        (text, "item 720"): 1,
        (text, "item 454"): 0,
        ("rows with blanks around their text, which are cut off", "item 454"): 1,
        ("impossible urine rows", "below 0 mL"): 1,
        ("impossible urine rows", "above 10,000 mL"): 2,
        ("repeated rows", "vitals, GCS and oxygen in CHARTEVENTS"): 1,
        ("repeated rows", "LABEVENTS"): 1,
        ("repeated rows", "OUTPUTEVENTS"): 1,
    }
    assert {name: value[name] for name in wanted} == {name: str(n) for name, n in wanted.items()}


def as_if_real(ward: Hospital, folder: Path) -> Path:
    """Build from the hand-made tables without the mark that says that they are invented."""
    raw = ward.write(folder / "raw")
    (raw / "SYNTHETIC.txt").unlink()
    with pytest.warns(UserWarning, match="rows where|leaves"):
        build(raw, folder / "out", MimicOptions(row_counts="warn"))
    return folder / "out"


def test_real_tables_are_judged(ward: Hospital, tmp_path: Path) -> None:
    for i in range(8):
        ward.patient(**(dict.fromkeys(("dod", "dod_hosp", "deathtime", "discharge"), 2400) if i % 2 else {}))
    checks = checks_of(as_if_real(ward, tmp_path))
    assert checks.loc[("rows", "PATIENTS"), ["value", "verdict"]].tolist() == ["21", "off"]
    assert checks.loc[("outcome", "censoring_rate"), ["value", "verdict"]].tolist() == ["0.5", "off"]
    # Medians of times are single patients': 2400 / 8766 = .2738 years, and 10.04 days, to two digits.
    times = [("outcome", "observed_median"), ("adults", "median days in hospital"), ("adults", "median age")]
    assert checks.loc[times, "value"].tolist() == ["0.27", "10", "50.02"]
    assert (
        "run of 2018, with its first-admission bug" in checks.loc[("original", "of these a span over 24 h"), "source"]
    )


def test_no_small_group_is_in_it(ward: Hospital, tmp_path: Path) -> None:
    """Of 14 patients one has metastases and a bilirubin, one has no heart rate, one is from another system."""
    person, other = ward.patient(), ward.patient(filler=False)
    person.diagnosis("1970")
    person.lab(1, 50885, 7.5)
    for hours in (1, 40):
        other.chart(hours, 51, 111)
    out = as_if_real(ward, tmp_path)
    checks, text = checks_of(out), (out / "checks.csv").read_text()
    value = checks["value"]
    assert value["count", "mets"] == value["share missing", "bilirubin_max"] == HIDDEN
    assert value["count", "aids"] == "0"
    assert value["share missing", "heartrate_max"] == HIDDEN
    assert value["median", "bilirubin_max"] == value["1st percentile", "heartrate_max"] == HIDDEN
    assert value["outcome", "censoring_rate"] == HIDDEN  # 8 of 14
    assert value["outcome", "n"] == "14"
    assert (value["flow", "rule 3"], value["flow", "rule 4"]) == (HIDDEN, "14")  # 15 would tell of one patient
    assert "7.5" not in text
    assert not {"min", "max"} & set(checks.index.get_level_values("check"))


def test_counts_are_printed_whole() -> None:
    values = dict.fromkeys(("patients", "ICU stays"), 53_423.0) | {"hospital admissions": 49_785.0, "median age": None}
    shown = _adults(values, SmallCells(credentialed=True)).values()
    assert [str(_shown(value)) for value in shown] == ["53423", "53423", "49785", ""]


def test_groups_that_add_up_are_hidden_together() -> None:
    cells = SmallCells(credentialed=True)
    assert cells.nested([46_520, 38_425, 35_309, 35_304, 35_304]) == [46_520, 38_425, HIDDEN, 35_304, 35_304]
    assert cells.nested([60, 55, 50, 45, 40]) == [60, HIDDEN, 50, HIDDEN, 40]
    assert [cells.share(k, 90) for k in (0, 1, 10, 80, 81, 90)] == [0.0, HIDDEN, 1 / 9, 8 / 9, HIDDEN, 1.0]
    assert [cells.count(n, 100) for n in (0, 9, 10, 91, 100, 109, 110)] == [0, HIDDEN, 10, HIDDEN, 100, HIDDEN, 110]
    assert SmallCells(credentialed=False).nested([3, 2, 1]) == [3, 2, 1]


def test_check_prints_a_table_to_paste(ward: Hospital, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build(ward.write(tmp_path / "raw"), tmp_path / "out", MimicOptions(min_age=18.0))
    assert main(["mimic", "check", "--built", str(tmp_path / "out")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Built from synthetic tables; choices other than the defaults: {'min_age': 18.0}."
    assert lines[2] == "| check | name | value | published | within | verdict | source |"
    assert all(line.count("|") == 8 for line in lines[2:-2])
    assert lines[-1] == "32 public figures: 32 not judged"
    assert main(["mimic", "check", "--built", str(tmp_path)]) == 1
    assert "is not a finished build; run `python -m benchmarks mimic build` first" in capsys.readouterr().err
