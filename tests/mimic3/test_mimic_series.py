"""The series of MIMIC-SEQ on patients written by hand: bins, edges, filling, pooled ICU stays, every option."""

import math
from typing import Any

import pytest
from support.mimic_hand import Hospital, Patient, Result

from benchmarks.data.mimic3 import MimicOptions
from benchmarks.data.mimic3.features import build_features

RAW15 = (
    *("gcs_verbal", "gcs_motor", "gcs_eyes", "sysbp", "heart_rate", "tempc", "pao2", "fio2", "urine"),
    *("bun", "wbc", "bicarbonate", "sodium", "potassium", "bilirubin"),
)


@pytest.fixture(scope="module")
def people() -> tuple[Hospital, dict[str, Patient]]:
    ward = Hospital()
    names = ("edges", "means", "labs", "urine", "late", "gcs", "gases", "two stays", "short", "no oxygen")
    who = {name: ward.patient(filler=False) for name in names}

    p = who["edges"]  # 1 h is the end of hour 0 and the start of hour 1
    for hours, rate in ((0, 60), (1, 100), (30, 80)):
        p.chart(hours, 211, rate)

    p = who["means"]  # two rates at one time are one value: (60 + 80) / 2, then with 100 at another time
    for hours, rate in ((0.5, 60), (0.5, 80), (0.75, 100), (31, 70)):
        p.chart(hours, 211, rate)

    p = who["labs"]  # hour 0 begins at the first record, three hours before INTIME
    p.lab(-3, 51006, 20)
    p.lab(-3, 51006, 30)
    p.lab(2.5, 51006, 40)
    p.chart(0.25, 211, 90)
    p.chart(30, 211, 80)

    p = who["urine"]
    for hours, item, volume in (
        (0, 226559, 100),
        (0, 226560, 50),
        (0.5, 226559, 50),
        (10, 226559, 300),
        (40, 226559, 200),
    ):
        p.output(hours, item, volume)

    p = who["late"]
    p.chart(0, 211, 80)
    p.chart(26, 676, 37)
    p.chart(27, 676, 39)

    p = who["gcs"]
    p.chart(0, 723, "1.0 ET/Trach", 1)
    p.chart(0, 454, "3 Abnorm flexion", 3)
    p.chart(0, 454, "5 Localizes Pain", 5)
    p.chart(3.5, 184, "2 To pain", 2)
    p.chart(30, 184, "4 Spontaneously", 4)

    p = who["gases"]  # not ventilated: the series does not ask
    p.chart(0, 211, 80)
    p.gas(2.5, 90, fio2=45)
    p.gas(3.5, 40, specimen="VEN", fio2=50)  # venous: z = 0.897 < log 3, worked out in test_mimic_gases.py
    p.chart(4.5, 3420, 50)
    p.gas(5.5, 60)
    p.gas(30, 99)

    p = who["no oxygen"]  # an FiO2 of 0 gives no ratio, neither at 0.5 h nor at 9.5 h
    for hours, percent, pao2 in ((0.5, 0, 70), (5.5, 50, 60), (9.5, 0, 80), (30, 100, 90)):
        p.chart(hours, 3420, percent)
        p.gas(hours, pao2)

    p = who["two stays"]
    second = p.stay + 1
    p.icu(second, 10)
    p.chart(0, 211, 60)
    p.chart(9.5, 211, 200, ICUSTAY_ID=second)  # before that stay began
    p.chart(10.5, 211, 100, ICUSTAY_ID=second)
    p.chart(30, 211, 70, ICUSTAY_ID=second)
    p.output(12.5, 226559, 100)
    p.output(12.5, 226560, 100)
    p.output(12.5, 226559, 50, ICUSTAY_ID=second)

    p = who["short"]  # spans 24.5 hours from six hours before INTIME, 18.5 hours from INTIME
    p.lab(-6, 51006, 10)
    p.chart(0.5, 211, 60)
    p.chart(18.25, 211, 90)
    p.output(0.5, 226559, 100)
    p.output(18.25, 226559, 300)
    p.lab(18.5, 51006, 30)
    return ward, who


Built = dict[str, tuple[Result, dict[str, Patient]]]


@pytest.fixture(scope="module")
def built(people: tuple[Hospital, dict[str, Patient]], tmp_path_factory: pytest.TempPathFactory) -> Built:
    ward, who = people
    folder = tmp_path_factory.mktemp("series")
    variants: dict[str, dict[str, Any]] = {"first24": {"impute_window": "first24"}, "intime": {"seq_start": "intime"}}
    variants["processed12"] = {"seq_features": "processed12"}
    found = {"default": (ward.build(folder), who)}
    for name, options in variants.items():  # the earlier stages are the same
        build_features(folder / "out", MimicOptions(**options))
        found[name] = (Result.read(folder / "out"), who)
    return found


def series(built: Built, variant: str, name: str, column: str) -> list[float]:
    result, who = built[variant]
    assert who[name] in result
    return result.series(who[name], column)


def test_columns_and_hours(built: Built) -> None:
    result, _ = built["default"]
    assert tuple(result.seq.columns) == RAW15
    assert result.seq.index.get_level_values("hour").tolist() == list(range(24)) * len(result.mimic)


def test_a_record_on_an_edge_is_in_both_hours(built: Built) -> None:
    assert series(built, "default", "edges", "heart_rate") == [80.0] + [100.0] * 23


def test_an_hour_is_the_mean_over_its_times(built: Built) -> None:
    assert series(built, "default", "means", "heart_rate")[0] == 85.0


def test_hour_zero_is_the_first_record_and_gaps_are_filled_forward_then_backward(built: Built) -> None:
    # t0 = -3 h: the labs at 2.5 h are in hour 5, the rate at 0.25 h in hour 3; ties of a lab count with their minimum.
    assert series(built, "default", "labs", "bun") == [20.0] * 5 + [40.0] * 19
    assert series(built, "default", "labs", "heart_rate") == [90.0] * 24


def test_hour_zero_at_intime(built: Built) -> None:
    assert series(built, "intime", "labs", "bun") == [40.0] * 24  # the lab before INTIME is left out
    # Seconds from INTIME: nothing changes for who has no earlier record.
    assert series(built, "intime", "edges", "heart_rate") == [80.0] + [100.0] * 23


def test_urine_is_filled_with_its_own_mean(built: Built) -> None:
    # Hour 0: (150 + 50) / 2; 10 h is in hours 9 and 10; 40 h in hour 39 alone, the last. Mean of those four: 225.
    wanted = [225.0] * 24
    wanted[0], wanted[9], wanted[10] = 100.0, 300.0, 300.0
    assert series(built, "default", "urine", "urine") == pytest.approx(wanted)


def test_urine_filled_from_the_first_24_hours_only(built: Built) -> None:
    wanted = [700 / 3] * 24
    wanted[0], wanted[9], wanted[10] = 100.0, 300.0, 300.0
    assert series(built, "first24", "urine", "urine") == pytest.approx(wanted)


def test_later_values_fill_backward_unless_told_otherwise(built: Built) -> None:
    assert series(built, "default", "late", "tempc") == [37.0] * 24
    assert all(math.isnan(value) for value in series(built, "first24", "late", "tempc"))
    assert series(built, "first24", "late", "heart_rate") == [80.0] * 24


def test_what_was_never_measured_stays_missing(built: Built) -> None:
    assert all(math.isnan(value) for value in series(built, "default", "late", "bilirubin"))


def test_parts_of_the_coma_scale(built: Built) -> None:
    assert series(built, "default", "gcs", "gcs_verbal") == [1.0] * 24  # a tube is 1 here, not 15
    assert series(built, "default", "gcs", "gcs_motor") == [5.0] * 24  # the larger of two
    assert series(built, "default", "gcs", "gcs_eyes") == [2.0] * 24


def test_gases_need_no_ventilation(built: Built) -> None:
    assert series(built, "default", "gases", "pao2") == [90.0] * 5 + [60.0] * 19
    assert series(built, "default", "gases", "fio2") == [45.0] * 5 + [50.0] * 19


def test_icu_stays_of_an_admission_are_pooled(built: Built) -> None:
    assert series(built, "default", "two stays", "heart_rate") == [60.0] * 10 + [100.0] * 14
    assert series(built, "default", "two stays", "urine") == [125.0] * 24  # (100 + 100 and 50) / 2, the only value


def test_fewer_than_24_hours_repeat_the_last(built: Built) -> None:
    # From INTIME to 18.5 h are 19 bins; the mean of urine is 200.
    assert series(built, "intime", "short", "heart_rate") == [60.0] * 18 + [90.0] * 6
    assert series(built, "intime", "short", "urine") == [100.0] + [200.0] * 17 + [300.0] * 6


def test_twelve_series(built: Built) -> None:
    result, _ = built["processed12"]
    assert tuple(result.seq.columns) == (
        *("gcs", "sysbp", "heart_rate", "tempc", "pao2fio2", "urine"),
        *("bun", "wbc", "bicarbonate", "sodium", "potassium", "bilirubin"),
    )
    assert series(built, "processed12", "gases", "pao2fio2") == [2.0] * 5 + [1.2] * 19
    # 60 / 50 at 5 h, filled backward and, over the FiO2 of 0 at 9 h, forward.
    assert series(built, "processed12", "no oxygen", "pao2fio2") == [1.2] * 24
    # Tube: 15 in hour 0. At 3.5 h the tube is less than 6 h ago and there is no verbal score: 15 again.
    assert series(built, "processed12", "gcs", "gcs") == [15.0] * 24


def test_options_do_not_change_who_is_in(built: Built) -> None:
    assert len({tuple(result.mimic.index) for result, _ in built.values()}) == 1
