"""Who is in MIMIC and with which outcome: every rule at its boundary, on patients written by hand."""

from pathlib import Path

import pytest
from support.mimic_hand import Hospital, Patient, Result

DAY = 24.0


@pytest.fixture(scope="module")
def ward() -> Hospital:
    return Hospital()


@pytest.fixture(scope="module")
def who(ward: Hospital) -> dict[str, Patient]:
    people = {
        "plain": ward.patient(),
        # From 2135-01-10 11:00 to ADMITTIME, 2150-01-10 11:00, are 15 * 365 + 4 = 5479 days (leap years 2136, 2140,
        # 2144, 2148), so 15 * 365.25 = 5478.75 days begin six hours later, at 17:00.
        "just 15": ward.patient(dob="2135-01-10 17:00:00"),
        "not yet 15": ward.patient(dob="2135-01-10 17:01:00"),
        "no icu": ward.patient(icu=False, filler=False),
        "died at 23:59": ward.patient(dod=12, dod_hosp=12, deathtime=24 - 1 / 60),
        "died at 24:00": ward.patient(dod=12, dod_hosp=12, deathtime=24),
        "died at 24:01": ward.patient(dod=12, dod_hosp=12, deathtime=24 + 1 / 60),
        "died a year on": ward.patient(dod=365.25 * 24),
        "dod within 24 h": ward.patient(dod=12),
        "censored": ward.patient(discharge=365.25 * 12),
        "left before": ward.patient(discharge=-0.5),
    }
    # ADMITTIME decides, not the order in the file nor the number of the admission.
    people["two admissions"] = ward.patient(admit=-1)
    people["two admissions"].admission(150001, -5000, -4900)
    people["second in icu"] = ward.patient()
    people["second in icu"].admission(150002, 5000, 365.25 * 24)
    people["dies later"] = ward.patient(dod=1000, dod_hosp=1000)
    people["dies later"].admission(150003, 900, 1012, 365.25 * 6)  # a quarter of a year, to the minute
    # Two ICU stays in one admission: the earlier is the one, though its number is higher and it comes second.
    moved = people["two stays"] = ward.patient(icu=False, filler=False)
    moved.icu(moved.stay, 30)
    moved.icu(moved.stay + 1, 0)
    moved.chart(2, 220045, 70, ICUSTAY_ID=moved.stay + 1)
    moved.chart(31, 220045, 150, ICUSTAY_ID=moved.stay)
    return people


@pytest.fixture(scope="module")
def result(ward: Hospital, who: dict[str, Patient], tmp_path_factory: pytest.TempPathFactory) -> Result:
    return ward.build(tmp_path_factory.mktemp("cohort"))


def test_who_is_in(result: Result, who: dict[str, Patient]) -> None:
    out = {name for name, person in who.items() if person not in result}
    # Of "dod within 24 h" only the day of death is known, not that the hospital saw it (the notebook's 24-hour label).
    assert out == {"not yet 15", "no icu", "died at 23:59", "died at 24:00", "two admissions", "left before"}


def test_flow_counts_each_rule(result: Result) -> None:
    # 15 patients and the one without ICU stay that fills the tables; see the rules one by one above.
    assert result.flow["left"].tolist() == [16, 16, 15, 12, 12, 12, 10, 9]
    assert result.flow["removed"].tolist() == [0, 0, 1, 3, 0, 0, 2, 1]
    assert result.flow["published"].fillna(0).tolist() == [46520, 46283, 38425, 0, 0, 35637, 35304, 0]


def test_outcomes(result: Result, who: dict[str, Patient]) -> None:
    def outcome(name: str) -> tuple[float, bool]:
        return result.value(who[name], "time"), bool(result.mimic.loc[who[name].subject, "event"])

    assert outcome("died a year on") == (pytest.approx(1.0, abs=1e-12), True)  # DOD alone
    assert outcome("dies later") == (pytest.approx(0.25, abs=1e-12), True)  # DEATHTIME of a later admission, not DOD
    assert outcome("died at 24:01") == (pytest.approx((24 + 1 / 60) / (365.25 * 24)), True)
    assert outcome("censored") == (pytest.approx(0.5, abs=1e-12), False)
    assert outcome("second in icu") == (pytest.approx(1.0, abs=1e-12), False)  # the last discharge of all admissions


def test_the_earliest_icu_stay_is_the_stay(result: Result, who: dict[str, Patient]) -> None:
    person = who["two stays"]
    assert result.mimic.loc[person.subject, "icustay_id"] == person.stay + 1
    assert result.value(person, "heartrate_max") == 70  # 150 belongs to the second stay


def test_rows_are_ordered_by_subject(result: Result) -> None:
    assert result.mimic.index.is_monotonic_increasing
    assert result.seq.index.get_level_values(0).unique().tolist() == result.mimic.index.tolist()


@pytest.fixture(scope="module")
def spans(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, dict[str, Patient]]:
    ward = Hospital()
    names = ("24:00", "24:01", "ward lab", "lab 6 h before", "lab 6:01 before", "invalid", "error", "gas", "empty")
    who = {name: ward.patient(filler=False) for name in names}
    for name, first, last in (("24:00", 1, 25), ("24:01", 1, 25 + 1 / 60)):
        who[name].chart(first, 211, 80)
        who[name].chart(last, 211, 80)
    who["ward lab"].chart(0, 211, 80)
    who["ward lab"].lab(200, 51006, 10)  # days after the ICU: no end bound
    for name, hours in (("lab 6 h before", -6), ("lab 6:01 before", -6 - 1 / 60)):
        who[name].lab(hours, 51006, 10)
        who[name].chart(18.5, 211, 80)
    for name, value, other in (("invalid", 300, {}), ("error", 80, {"ERROR": 1})):
        who[name].chart(0, 220045, 80)
        who[name].chart(30, 220045, value, **other)
    who["gas"].gas(-6, 90)
    who["gas"].chart(20, 211, 80)
    who["empty"].chart(0, 211, 0)
    return ward.build(tmp_path_factory.mktemp("spans")), who


def test_span_must_exceed_24_hours(spans: tuple[Result, dict[str, Patient]]) -> None:
    result, who = spans
    assert {name for name, person in who.items() if person in result} == {"24:01", "ward lab", "lab 6 h before", "gas"}
    # "empty" has no series (rule 4); the gas alone makes a span, and the funnel says what it would be without gases.
    assert result.flow["left"].tolist() == [10, 10, 10, 8, 8, 4, 4, 4]


OPTIONS: list[tuple[dict[str, object], set[str]]] = [
    ({}, {"adult", "late dod", "censored"}),
    ({"min_age": 14.0}, {"adult", "child", "late dod", "censored"}),
    ({"death_time": "dod"}, {"adult", "late dod", "censored"}),
    ({"death_time": "dod", "alive_by": "death"}, {"adult", "censored"}),
    ({"lost_admissions": "drop"}, {"adult", "late dod"}),
    ({"span_rule": False}, {"adult", "late dod", "short", "censored"}),
]


@pytest.mark.parametrize(("options", "inside"), OPTIONS)
def test_options_of_the_cohort(options: dict[str, object], inside: set[str], tmp_path: Path) -> None:
    ward = Hospital()
    who = {
        "adult": ward.patient(dod=8766, dod_hosp=8766),
        "child": ward.patient(dob="2135-06-01 00:00:00"),
        "late dod": ward.patient(dod=12, dod_hosp=12, deathtime=30),  # midnight before, the minute after 24 hours
        "short": ward.patient(filler=False),
        "censored": ward.patient(),
    }
    who["short"].chart(1, 211, 80)
    # The notebook keeps whom it has a GCS of, at INTIME or later, and a lab from six hours before INTIME on.
    for name, coma, lab in (("adult", 0, -6), ("late dod", 1, 1), ("censored", 0, -6 - 1 / 60)):
        who[name].chart(coma, 454, 6)
        who[name].lab(lab, 50912, 1.0)  # creatinine: listed, though no column needs it
    result = ward.build(tmp_path, **options)
    assert {name for name, person in who.items() if person in result} == inside


@pytest.mark.parametrize(("second", "inside"), [((48, 42), True), ((48 - 1 / 60, 42), False), ((48, None), False)])
def test_one_bad_stay_loses_an_admission(
    second: tuple[float | None, float | None], inside: bool, tmp_path: Path
) -> None:
    """The notebook's accident asks for GCS and labs in *every* ICU stay; one lab may serve several."""
    ward = Hospital()
    people = [ward.patient() for _ in range(3)]
    for person in people:
        person.chart(1, 454, 6)
        person.lab(1, 51006, 10)
    moved = people[0]
    moved.icu(moved.stay + 1, 48)
    if second[0] is not None:
        moved.chart(second[0], 454, 6, ICUSTAY_ID=moved.stay + 1)
    if second[1] is not None:
        moved.lab(second[1], 51006, 10)
    result = ward.build(tmp_path, lost_admissions="drop")
    assert (moved in result) == inside
    assert people[1] in result


def test_time_from_admission_and_days_per_year(tmp_path: Path) -> None:
    ward = Hospital()
    who = [ward.patient(admit=-12, dod=365 * 24 - 12), ward.patient()]
    result = ward.build(tmp_path, origin="admittime", days_per_year=365.0)
    assert result.value(who[0], "time") == pytest.approx(1.0, abs=1e-12)


def test_the_censoring_fixture(tmp_path: Path) -> None:
    """Without DOD_HOSP a patient counts as censored at the last discharge; alive at 24 h is still asked of all."""
    ward = Hospital()
    who = [ward.patient(dod=8766, dod_hosp=8766), ward.patient(dod=8766, discharge=4383)]
    who.append(ward.patient(dod=10, deathtime=10))
    result = ward.build(tmp_path, censor_without_dod_hosp=True)
    assert result.mimic["event"].tolist() == [True, False]
    assert result.value(who[1], "time") == pytest.approx(0.5, abs=1e-12)
    assert who[2] not in result
