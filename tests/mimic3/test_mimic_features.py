"""The columns of MIMIC but the oxygen ratio, on patients written by hand: windows, ranges, units, error rows, texts."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from support.mimic_hand import Hospital, Patient, Result

MINUTE = 1 / 60


Fill = Callable[[Patient], None]
Value = Callable[[str | Fill, str], float]


@pytest.fixture(scope="module")
def value(tmp_path_factory: pytest.TempPathFactory) -> Value:
    """A column of the patient of a case: all cases of this file are built at once, one patient each."""
    ward, who = Hospital(), {}
    for case in CASES:
        who[case] = ward.patient(filler=False)
        who[case].lab(0, 50885, 1.0)
        who[case].lab(60, 50885, 1.0)  # spans more than 24 hours
        if isinstance(case, str):
            who[case].diagnosis("4019")
            who[case].diagnosis(case)
        else:
            case(who[case])
    result = ward.build(tmp_path_factory.mktemp("features"))
    return lambda case, column: result.value(who[case], column)


def _window(who: Patient) -> None:
    who.chart(-MINUTE, 211, 20)
    who.chart(0, 211, 90)
    who.chart(24, 211, 60)
    who.chart(24 + MINUTE, 211, 250)


def test_vitals_use_a_window_closed_at_both_ends(value: Value) -> None:
    assert (value(_window, "heartrate_max"), value(_window, "heartrate_min")) == (90, 60)


def _pooled(who: Patient) -> None:
    for value in (0, 300, -5, 299):  # open at both ends
        who.chart(2, 220045, value)
    who.chart(3, 211, "85", "")  # VALUE alone does not count: VALUENUM is empty
    who.chart(3, 211, 1, ICUSTAY_ID="")  # not tied to the stay
    who.chart(3, 220045, 2, ERROR=1)
    who.chart(3, 220045, 50, ERROR=0)
    for hours, item, value in ((1, 51, 150), (2, 455, 110), (3, 220050, 95), (4, 220179, 180), (5, 6701, 400)):
        who.chart(hours, item, value)


def test_vitals_pool_both_systems_and_drop_what_cannot_be(value: Value) -> None:
    assert (value(_pooled, "heartrate_max"), value(_pooled, "heartrate_min")) == (299, 50)
    assert (value(_pooled, "sysbp_max"), value(_pooled, "sysbp_min")) == (180, 95)


def _temperatures(who: Patient) -> None:
    who.chart(1, 678, 98.6)  # 37 C
    who.chart(2, 223761, 104)  # 40 C
    who.chart(3, 676, 36.5)
    who.chart(4, 223762, 38)
    for item, value in ((678, 70), (223761, 120), (676, 10), (223762, 50)):  # the ranges are open
        who.chart(5, item, value)


def test_temperatures_in_both_units(value: Value) -> None:
    assert value(_temperatures, "tempc_max") == pytest.approx(40)
    assert value(_temperatures, "tempc_min") == pytest.approx(36.5)


def _labs(who: Patient) -> None:
    who.lab(-6 - MINUTE, 51006, 1)
    who.lab(-6, 51006, 20)
    who.lab(24, 51006, 300)  # the bound itself is valid
    who.lab(24 + MINUTE, 51006, 2)
    who.lab(5, 51006, 300.5)
    who.lab(5, 51006, 3, HADM_ID="")  # outpatient
    who.lab(5, 51006, 4, HADM_ID=199999)  # another admission
    who.lab(1, 50822, 3.1)  # potassium of a blood gas
    who.lab(2, 50971, 5.2)
    who.lab(3, 50971, 0)
    who.lab(1, 51300, 4.5)
    who.lab(2, 51301, 12.5)
    who.lab(1, 50824, 128)
    who.lab(2, 50983, 141)
    who.lab(1, 50882, 19)
    who.lab(2, 50882, 27)
    who.lab(3, 50885, 150)


def test_labs_reach_six_hours_back_and_include_their_bound(value: Value) -> None:
    wanted = {"bun": (20, 300), "potassium": (3.1, 5.2), "wbc": (4.5, 12.5), "sodium": (128, 141)}
    wanted |= {"bicarbonate": (19, 27), "bilirubin": (1, 150)}
    for lab, (low, high) in wanted.items():
        assert (value(_labs, f"{lab}_min"), value(_labs, f"{lab}_max")) == (low, high), lab


def _urine(who: Patient) -> None:
    who.output(-MINUTE, 40055, 1000)
    who.output(0, 40055, 100)
    who.output(3, 40055, 50)
    who.output(3, 40055, 50)  # a tie is not a duplicate
    who.output(4, 226559, 200)
    who.output(5, 227489, 700)
    who.output(5, 227488, 500)  # irrigant in: minus
    who.output(6, 40086, 7)  # labelled a drain, counted by the source
    who.output(24, 226560, 30)
    who.output(24 + MINUTE, 226560, 1000)
    who.output(7, 40055, 1000, ICUSTAY_ID="")
    who.output(7, 40055, 1000, HADM_ID=199999)
    who.output(7, 40052, 1000)  # not a urine item


def test_urine_is_a_sum_less_the_irrigant(value: Value) -> None:
    assert value(_urine, "urineoutput") == 100 + 50 + 50 + 200 + 700 - 500 + 7 + 30


def _irrigant(who: Patient) -> None:
    who.output(5, 227488, 500)


def test_urine_can_be_negative(value: Value) -> None:
    assert value(_irrigant, "urineoutput") == -500


def _nothing(who: Patient) -> None:
    pass


def test_what_was_never_measured_is_missing(value: Value) -> None:
    for column in ("heartrate_max", "sysbp_min", "tempc_max", "urineoutput", "bun_min", "mingcs", "pao2fio2_vent_min"):
        assert math.isnan(value(_nothing, column)), column
    assert [value(_nothing, column) for column in ("aids", "hem", "mets", "admissiontype")] == [0, 0, 0, 0]


CAREVUE = {"verbal": 723, "motor": 454, "eyes": 184}
METAVISION = {"verbal": 223900, "motor": 223901, "eyes": 220739}


def gcs(who: Patient, hours: float, system: dict[str, int], **parts: float) -> None:
    for part, value in parts.items():
        who.chart(hours, system[part], f"{value} text", value)


def _full(who: Patient) -> None:
    gcs(who, 1, METAVISION, motor=5, verbal=4, eyes=3)


def _tube(who: Patient) -> None:
    """A tube hides the verbal score: the time counts as 15."""
    who.chart(1, 723, "1.0 ET/Trach", 1)
    gcs(who, 1, CAREVUE, motor=1, eyes=1)


def _tube_with_blank(who: Patient) -> None:
    who.chart(1, 223900, "No Response-ETT ", 1)
    gcs(who, 1, METAVISION, motor=1, eyes=1)


def _after_tube(who: Patient) -> None:
    """No verbal score, a tube 5 h before: 15; the tube's own time is 15 too."""
    _tube(who)
    gcs(who, 6, CAREVUE, motor=1, eyes=1)


def _long_after_tube(who: Patient) -> None:
    """The tube is exactly 6 h before, so it does not count: motor 1 + verbal 5 + eyes 1."""
    _tube(who)
    gcs(who, 7, CAREVUE, motor=1, eyes=1)


def _tube_out(who: Patient) -> None:
    """A verbal score after a tube: what is missing gets its default, not the previous value: 6 + 2 + 4."""
    _tube(who)
    gcs(who, 2, CAREVUE, verbal=2)


def _carried(who: Patient) -> None:
    """2 + 3 + 2 = 7, then motor alone: 1 + verbal 3 + eyes 2 carried = 6."""
    gcs(who, 1, CAREVUE, motor=2, verbal=3, eyes=2)
    gcs(who, 4, CAREVUE, motor=1)


def _previous_only(who: Patient) -> None:
    """Only the previous time is looked at: at 3 h verbal and eyes are its blanks, so 5 and 4; 4 + 5 + 4 = 13."""
    gcs(who, 1, CAREVUE, motor=6, verbal=5, eyes=4)
    gcs(who, 2, CAREVUE, motor=6)
    gcs(who, 3, CAREVUE, motor=4)


def _largest_at_ties(who: Patient) -> None:
    gcs(who, 1, CAREVUE, motor=2, verbal=2, eyes=2)
    gcs(who, 1, CAREVUE, motor=5)


def _outside(who: Patient) -> None:
    gcs(who, 1, CAREVUE, motor=6, verbal=5, eyes=3)
    gcs(who, 24, CAREVUE, motor=6, verbal=4, eyes=3)
    gcs(who, 24.5, CAREVUE, motor=1, verbal=1, eyes=1)
    gcs(who, -0.5, CAREVUE, motor=1, verbal=1, eyes=1)


def _error(who: Patient) -> None:
    _full(who)
    who.chart(2, 223901, "1 No response", 1, ERROR=1)


GCS: dict[Fill, float] = {
    _full: 12,
    _tube: 15,
    _tube_with_blank: 15,
    _after_tube: 15,
    _long_after_tube: 7,
    _tube_out: 12,
    _carried: 6,
    _previous_only: 13,
    _largest_at_ties: 9,
    _outside: 13,
    _error: 12,
}


@pytest.mark.parametrize("case", GCS)
def test_mingcs(case: Fill, value: Value) -> None:
    assert value(case, "mingcs") == GCS[case]


CODES = {
    "042": "aids",
    "0449": "aids",
    "42": "",
    "04490": "",  # leading zeros are part of a code, and so is its length
    "20000": "hem",
    "20238": "hem",
    "20239": "",
    "20302": "hem",
    "2386": "hem",
    "23860": "",
    "2733": "hem",
    "1960": "mets",
    "1991": "mets",
    "19910": "",
    "20979": "mets",
    "20976": "",
    "78951": "mets",
}


@pytest.mark.parametrize("code", CODES)
def test_comorbidities(code: str, value: Value) -> None:
    found = {name: value(code, name) for name in ("aids", "hem", "mets")}
    assert found == {name: float(name == CODES[code]) for name in found}


CASES: list[str | Fill] = [_window, _pooled, _temperatures, _labs, _urine, _irrigant, _nothing, *GCS, *CODES]


@pytest.fixture(scope="module")
def types(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, dict[str, Patient]]:
    ward = Hospital()
    kinds = {"elective surgical": "ELECTIVE", "urgent surgical": "URGENT", "elective medical": "ELECTIVE"}
    kinds |= {"no service": "ELECTIVE", "surgical later": "EMERGENCY", "trauma": "EMERGENCY", "over 89": "EMERGENCY"}
    who = {name: ward.patient(kind=kind, dob=_dob(name)) for name, kind in kinds.items()}
    who["elective surgical"].service(-1, "CSURG")
    who["elective surgical"].service(5, "MED")
    who["urgent surgical"].service(-1, "SURG")
    who["elective medical"].service(-1, "MED")
    who["surgical later"].service(9, "VSURG")
    who["surgical later"].service(2, "CMED")
    who["trauma"].service(0, "TRAUM")
    result = ward.build(tmp_path_factory.mktemp("types"), admission_type="onehot", age_over_89="91.4")
    return result, who


def _dob(name: str) -> str:
    return {"over 89": "1850-01-10 00:00:00", "trauma": "2110-01-10 00:00:00"}.get(name, "2100-01-01 00:00:00")


def test_admission_types_as_dummies(types: tuple[Result, dict[str, Patient]]) -> None:
    result, who = types
    codes = {
        name: (result.value(person, "admissiontype_1"), result.value(person, "admissiontype_2"))
        for name, person in who.items()
    }
    medical = ("elective medical", "no service", "surgical later", "trauma", "over 89")
    assert codes == {"elective surgical": (1, 0), "urgent surgical": (0, 1)} | dict.fromkeys(medical, (0, 0))
    assert len(result.mimic.columns) == 4 + 27


def test_age(types: tuple[Result, dict[str, Patient]]) -> None:
    result, who = types
    assert result.value(who["over 89"], "age") == 91.4  # the option; kept at about 300 by default
    # 40 years from 2110-01-10 to 2150-01-10 hold 10 leap days: 14610 / 365.242 = 40.0009
    assert result.value(who["trauma"], "age") == 40.0


def test_age_over_89_is_kept_by_default_and_the_type_is_one_column(tmp_path: Path) -> None:
    ward = Hospital()
    who = ward.patient(dob="1850-01-10 00:00:00", kind="URGENT")
    who.service(-1, "NSURG")
    ward.patient()
    result = ward.build(tmp_path)
    # 300 years hold 300 * 365 + 75 leap days - 1900, 2100 (not leap) = 109573 days
    assert result.value(who, "age") == round(109573 / 365.242, 2) == 300.0
    assert result.value(who, "admissiontype") == 2
    assert len(result.mimic.columns) == 4 + 26
