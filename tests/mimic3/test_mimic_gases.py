"""PaO2/FiO2 while ventilated or on CPAP, on patients written by hand: oxygen units, arterial classifier, episodes."""

import math
from collections.abc import Callable

import pytest
from support.mimic_hand import Hospital, Patient, Result

Fill = Callable[[Patient], None]
NONE = math.nan
MINUTE = 1 / 60
CASES: dict[Fill, float] = {}  # case: the ratio worked out by hand, NONE where there must be none


def gives(ratio: float) -> Callable[[Fill], Fill]:
    def keep(fill: Fill) -> Fill:
        CASES[fill] = ratio
        return fill

    return keep


def ventilated(who: Patient) -> None:
    """A PEEP every 8 hours: one episode from 0 to 24 h."""
    for hours in (0, 8, 16, 24):
        who.chart(hours, 220339, 5)


@gives(100 * 80 / 40)
def lab_fio2_comes_first(who: Patient) -> None:
    ventilated(who)
    who.gas(4, 80, fio2=40)
    who.chart(3, 223835, 60)


@gives(100 * 80 / 50)
def metavision_fraction(who: Patient) -> None:
    ventilated(who)
    who.gas(4, 80)
    who.chart(3, 223835, 0.5)


@gives(100 * 80 / 50)
def metavision_percent(who: Patient) -> None:
    ventilated(who)
    who.gas(4, 80)
    who.chart(3, 223835, 50)


@gives(100 * 80 / 100)
def metavision_one_is_all_oxygen(who: Patient) -> None:
    ventilated(who)
    who.gas(4, 80)
    who.chart(3, 223835, 1)


@gives(100 * 80 / 21)
def metavision_room_air(who: Patient) -> None:
    ventilated(who)
    who.gas(4, 80)
    who.chart(3, 223835, 21)


@gives(NONE)
def the_latest_row_counts_though_its_value_does_not(who: Patient) -> None:
    ventilated(who)
    who.gas(4, 80)
    who.chart(2, 223835, 50)
    who.chart(3, 223835, 15)  # between 1 and 21: null


@gives(100 * 80 / 50)
def error_rows_are_not_the_latest(who: Patient) -> None:
    ventilated(who)
    who.gas(4, 80)
    who.chart(2, 223835, 50)
    who.chart(3, 223835, 15, ERROR=1)


@gives(100 * 80 / 40)
def carevue_fraction(who: Patient) -> None:
    ventilated(who)
    who.gas(4, 80)
    who.chart(3, 190, 0.4)


@gives(NONE)
def carevue_one_is_lost(who: Patient) -> None:
    ventilated(who)
    who.gas(4, 80)
    who.chart(3, 190, 1)


@gives(100 * 80 / 50)
def carevue_percent_as_it_is(who: Patient) -> None:
    ventilated(who)
    who.gas(4, 80)
    who.chart(3, 3420, 50)


@gives(100 * 80 / 60)
def the_largest_at_one_time(who: Patient) -> None:
    ventilated(who)
    who.gas(4, 80)
    who.chart(3, 3420, 50)
    who.chart(3, 3422, 60)


@gives(100 * 80 / 50)
def charted_four_hours_before(who: Patient) -> None:
    ventilated(who)
    who.gas(4, 80)
    who.chart(0, 3420, 50)


@gives(NONE)
def charted_longer_before(who: Patient) -> None:
    ventilated(who)
    who.gas(4 + MINUTE, 80)
    who.chart(0, 3420, 50)


@gives(100 * 80 / 50)
def charted_at_the_same_time_but_not_after(who: Patient) -> None:
    ventilated(who)
    who.gas(4, 80)
    who.chart(4, 3420, 50)
    who.chart(4 + MINUTE, 3420, 100)


@gives(100 * 60 / 50)
def the_worst_of_several(who: Patient) -> None:
    ventilated(who)
    who.gas(2, 80, fio2=40)
    who.gas(5, 60, fio2=50)
    who.gas(9, 95, fio2=50)


@gives(100 * 80 / 50)
def impossible_values_are_dropped(who: Patient) -> None:
    ventilated(who)
    who.gas(4, 80, fio2=50)
    who.gas(5, 801, fio2=100)
    who.gas(6, 0, fio2=100)
    who.lab(4, 50816, 101)  # the larger of the two FiO2 is not possible


@gives(100 * 80 / 50)
def only_the_window_counts(who: Patient) -> None:
    ventilated(who)
    who.chart(-7, 220339, 5)
    who.gas(-6 - MINUTE, 10, fio2=100)
    who.gas(24 + MINUTE, 10, fio2=100)
    who.gas(24, 80, fio2=50)


@gives(NONE)
def breathing_alone(who: Patient) -> None:
    who.gas(4, 80, fio2=40)


# Without specimen, z = -0.02544 + 0.04598 pO2 + the terms of what is missing. Those sum to -1.02099, of which SpO2
# is -14.83692 and lab FiO2 0.63546. A lab FiO2 of 50 contributes 0.0148 * 50 = 0.74, so that with pO2 = 50
#   z = -0.02544 + 2.299 - 1.02099 - 0.63546 + 0.74 = 1.3571 > log 3 (p > 0.75), and with SpO2 = 99
#   z = 1.3571 + 14.83692 - 0.15356 * 99 = 0.9916 < log 3.
@gives(100.0)
def arterial_by_its_values(who: Patient) -> None:
    ventilated(who)
    who.gas(4, 50, specimen="", fio2=50)


@gives(NONE)
def venous_by_its_values(who: Patient) -> None:
    ventilated(who)
    who.chart(2, 646, 99)  # two hours before is still attached
    who.gas(4, 50, specimen="", fio2=50)


@gives(100.0)
def saturation_too_old(who: Patient) -> None:
    ventilated(who)
    who.chart(2 - MINUTE, 646, 99)
    who.gas(4, 50, specimen="", fio2=50)


@gives(NONE)
def saturation_marked_as_error_still_counts(who: Patient) -> None:
    ventilated(who)
    who.chart(3, 220277, 99, ERROR=1)
    who.gas(4, 50, specimen="", fio2=50)


@gives(100.0)
def saturation_that_cannot_be_hides_the_one_before(who: Patient) -> None:
    ventilated(who)
    who.chart(3, 220277, 99)
    who.chart(3.5, 220277, 101)
    who.gas(4, 50, specimen="", fio2=50)


@gives(NONE)
def low_oxygen_is_venous(who: Patient) -> None:
    """pO2 = 40: z = 1.3571 - 0.4598 = 0.8973 < log 3."""
    ventilated(who)
    who.gas(4, 40, specimen="VEN", fio2=50)


@gives(100 * 90 / 50)
def labelled_venous_but_surely_arterial(who: Patient) -> None:
    """pO2 = 90: z = 1.3571 + 1.8392 = 3.20, p = 0.96; the label does not exclude it."""
    ventilated(who)
    who.gas(4, 90, specimen="VEN", fio2=50)


@gives(100 * 40 / 50)
def labelled_arterial(who: Patient) -> None:
    ventilated(who)
    who.gas(4, 40, specimen="ART ", fio2=50)


@gives(100.0)
def a_gap_of_eight_hours_is_one_episode(who: Patient) -> None:
    who.chart(0, 445, 9)
    who.chart(8, 445, 9)
    who.gas(4, 50, fio2=50)


@gives(NONE)
def a_longer_gap_makes_two(who: Patient) -> None:
    who.chart(0, 445, 9)
    who.chart(8 + MINUTE, 445, 9)
    who.gas(4, 50, fio2=50)


@gives(100.0)
def the_ends_belong_to_the_episode(who: Patient) -> None:
    who.chart(4, 445, 9)
    who.gas(4, 50, fio2=50)


@gives(100.0)
def oxygen_rows_stay_in_the_episode_before(who: Patient) -> None:
    """Ventilated at 1 h, then a mask at 3 and 6 h: the episode runs to 6 h."""
    who.chart(1, 445, 9)
    who.chart(3, 226732, "Nasal cannula ")  # with a trailing blank
    who.chart(6, 226732, "Face tent")
    who.gas(5, 50, fio2=50)


@gives(NONE)
def until_the_next_ventilation(who: Patient) -> None:
    """Episodes [1, 2] and [3, 3]: off at 2 h, so ventilation at 3 h is a new one."""
    who.chart(1, 445, 9)
    who.chart(2, 640, "Extubated")
    who.chart(3, 445, 9)
    who.gas(2.5, 50, fio2=50)


@gives(NONE)
def extubation_as_a_procedure(who: Patient) -> None:
    who.chart(1, 445, 9)
    who.procedure(2, 227194)
    who.chart(3, 445, 9)
    who.gas(2.5, 50, fio2=50)


@gives(NONE)
def off_before_any_ventilation_is_no_episode(who: Patient) -> None:
    who.chart(1, 467, "Nasal Cannula")
    who.chart(6, 467, "None")
    who.gas(3, 50, fio2=50)


@gives(NONE)
def a_remark_is_not_a_mode(who: Patient) -> None:
    who.chart(1, 720, "Other/Remarks")
    who.chart(7, 223848, "Other")
    who.gas(3, 50, fio2=50)


@gives(100.0)
def a_mode_is(who: Patient) -> None:
    who.chart(1, 720, "Assist Control")
    who.chart(7, 648, "Intubated/trach ")
    who.gas(3, 50, fio2=50)


@gives(NONE)
def error_rows_and_empty_values_do_not_ventilate(who: Patient) -> None:
    who.chart(1, 220339, 5, ERROR=1)
    who.chart(2, 220339, "", 5)
    who.chart(7, 220339, 5, ERROR=1)
    who.gas(1, 50, fio2=50)
    who.gas(2, 50, fio2=50)


@gives(100 * 70 / 50)
def cpap_reaches_one_hour_back_and_four_on(who: Patient) -> None:
    who.chart(3, 226732, "CPAP mask ")
    who.chart(5, 467, "BiPap Mask")
    who.gas(2 - MINUTE, 10, fio2=50)
    who.gas(2, 70, fio2=50)
    who.gas(9, 80, fio2=50)
    who.gas(9 + MINUTE, 10, fio2=50)


@gives(NONE)
def cpap_after_the_first_day(who: Patient) -> None:
    who.chart(24 + MINUTE, 469, "CPAP mask")
    who.gas(24, 80, fio2=50)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, dict[Fill, Patient]]:
    ward = Hospital()
    who = {case: ward.patient() for case in CASES}
    for case, patient in who.items():
        case(patient)
    return ward.build(tmp_path_factory.mktemp("gases")), who


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_ratio(case: Fill, result: tuple[Result, dict[Fill, Patient]]) -> None:
    built, who = result
    assert built.value(who[case], "pao2fio2_vent_min") == pytest.approx(CASES[case], nan_ok=True)
