"""PaO2/FiO2 while ventilated or on CPAP, on patients written by hand: oxygen units, arterial classifier, episodes."""

import math
import re
import shlex

import pytest
from support.mimic_hand import Hospital, Patient, Result

# case | pO2/FiO2 of the ratio worked out by hand, or - | rows: method of Patient, hours (1m is a minute), values.
# `ventilated` is a PEEP every 8 hours: one episode from 0 to 24 h.
TABLE = """
lab fio2 comes first | 80/40 | ventilated; gas 4 80 fio2=40; chart 3 223835 60
metavision fraction | 80/50 | ventilated; gas 4 80; chart 3 223835 0.5
metavision percent | 80/50 | ventilated; gas 4 80; chart 3 223835 50
metavision one is all oxygen | 80/100 | ventilated; gas 4 80; chart 3 223835 1
metavision room air | 80/21 | ventilated; gas 4 80; chart 3 223835 21
# between 1 and 21: null
the latest row counts though its value does not | - | ventilated; gas 4 80; chart 2 223835 50; chart 3 223835 15
error rows are not the latest | 80/50 | ventilated; gas 4 80; chart 2 223835 50; chart 3 223835 15 ERROR=1
carevue fraction | 80/40 | ventilated; gas 4 80; chart 3 190 0.4
carevue one is lost | - | ventilated; gas 4 80; chart 3 190 1
carevue percent as it is | 80/50 | ventilated; gas 4 80; chart 3 3420 50
the largest at one time | 80/60 | ventilated; gas 4 80; chart 3 3420 50; chart 3 3422 60
charted four hours before | 80/50 | ventilated; gas 4 80; chart 0 3420 50
charted longer before | - | ventilated; gas 4+1m 80; chart 0 3420 50
charted at the same time but not after | 80/50 | ventilated; gas 4 80; chart 4 3420 50; chart 4+1m 3420 100
the worst of several | 60/50 | ventilated; gas 2 80 fio2=40; gas 5 60 fio2=50; gas 9 95 fio2=50
# the larger of the two FiO2 is not possible
impossible values are dropped | 80/50 | ventilated; gas 4 80 fio2=50; gas 5 801 fio2=100; gas 6 0 fio2=100;
    lab 4 50816 101
only the window counts | 80/50 | ventilated; chart -7 220339 5; gas -6-1m 10 fio2=100; gas 24+1m 10 fio2=100;
    gas 24 80 fio2=50
breathing alone | - | gas 4 80 fio2=40
# Without specimen, z = -0.02544 + 0.04598 pO2 + the terms of what is missing. Those sum to -1.02099, of which SpO2
# is -14.83692 and lab FiO2 0.63546. A lab FiO2 of 50 contributes 0.0148 * 50 = 0.74, so that with pO2 = 50
#   z = -0.02544 + 2.299 - 1.02099 - 0.63546 + 0.74 = 1.3571 > log 3 (p > 0.75), and with SpO2 = 99
#   z = 1.3571 + 14.83692 - 0.15356 * 99 = 0.9916 < log 3.
arterial by its values | 50/50 | ventilated; gas 4 50 specimen='' fio2=50
# two hours before is still attached
venous by its values | - | ventilated; chart 2 646 99; gas 4 50 specimen='' fio2=50
saturation too old | 50/50 | ventilated; chart 2-1m 646 99; gas 4 50 specimen='' fio2=50
saturation marked as error still counts | - | ventilated; chart 3 220277 99 ERROR=1; gas 4 50 specimen='' fio2=50
saturation that cannot be hides the one before | 50/50 | ventilated; chart 3 220277 99; chart 3.5 220277 101;
    gas 4 50 specimen='' fio2=50
# pO2 = 40: z = 1.3571 - 0.4598 = 0.8973 < log 3.
low oxygen is venous | - | ventilated; gas 4 40 specimen=VEN fio2=50
# pO2 = 90: z = 1.3571 + 1.8392 = 3.20, p = 0.96; the label does not exclude it.
labelled venous but surely arterial | 90/50 | ventilated; gas 4 90 specimen=VEN fio2=50
labelled arterial | 40/50 | ventilated; gas 4 40 specimen='ART ' fio2=50
a gap of eight hours is one episode | 50/50 | chart 0 445 9; chart 8 445 9; gas 4 50 fio2=50
a longer gap makes two | - | chart 0 445 9; chart 8+1m 445 9; gas 4 50 fio2=50
the ends belong to the episode | 50/50 | chart 4 445 9; gas 4 50 fio2=50
# Ventilated at 1 h, then a mask at 3 and 6 h: the episode runs to 6 h.
# with a trailing blank
oxygen rows stay in the episode before | 50/50 | chart 1 445 9; chart 3 226732 'Nasal cannula ';
    chart 6 226732 'Face tent'; gas 5 50 fio2=50
# Episodes [1, 2] and [3, 3]: off at 2 h, so ventilation at 3 h is a new one.
until the next ventilation | - | chart 1 445 9; chart 2 640 Extubated; chart 3 445 9; gas 2.5 50 fio2=50
extubation as a procedure | - | chart 1 445 9; procedure 2 227194; chart 3 445 9; gas 2.5 50 fio2=50
off before any ventilation is no episode | - | chart 1 467 'Nasal Cannula'; chart 6 467 None; gas 3 50 fio2=50
a remark is not a mode | - | chart 1 720 Other/Remarks; chart 7 223848 Other; gas 3 50 fio2=50
a mode is | 50/50 | chart 1 720 'Assist Control'; chart 7 648 'Intubated/trach '; gas 3 50 fio2=50
error rows and empty values do not ventilate | - | chart 1 220339 5 ERROR=1; chart 2 220339 '' 5;
    chart 7 220339 5 ERROR=1; gas 1 50 fio2=50; gas 2 50 fio2=50
cpap reaches one hour back and four on | 70/50 | chart 3 226732 'CPAP mask '; chart 5 467 'BiPap Mask';
    gas 2-1m 10 fio2=50; gas 2 70 fio2=50; gas 9 80 fio2=50; gas 9+1m 10 fio2=50
cpap after the first day | - | chart 24+1m 469 'CPAP mask'; gas 24 80 fio2=50
"""
CASES = {
    name: (100 * eval(ratio) if ratio != "-" else math.nan, rows.split("; "))
    for name, ratio, rows in (
        line.split(" | ") for line in re.sub(r"\n +", " ", TABLE).splitlines() if line and not line.startswith("#")
    )
}


def number(word: str) -> float | str:
    """A number, whole where it is written so; hours with minutes, such as 2-1m; or the word itself."""
    if hours := re.fullmatch(r"(-?\d+)([+-])1m", word):
        return int(hours[1]) + (1 if hours[2] == "+" else -1) / 60
    return eval(word) if re.fullmatch(r"-?[\d.]+", word) else word


def fill(who: Patient, rows: list[str]) -> None:
    for row in rows:
        method, *words = shlex.split(row)
        if method == "ventilated":
            fill(who, [f"chart {hours} 220339 5" for hours in (0, 8, 16, 24)])
            continue
        named = dict(word.split("=") for word in words if "=" in word)
        values = [number(word) for word in words if "=" not in word]
        getattr(who, method)(*values, **{name: number(value) for name, value in named.items()})


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, dict[str, Patient]]:
    ward = Hospital()
    who = {case: ward.patient() for case in CASES}
    for case, patient in who.items():
        fill(patient, CASES[case][1])
    return ward.build(tmp_path_factory.mktemp("gases")), who


@pytest.mark.parametrize("case", CASES)
def test_ratio(case: str, result: tuple[Result, dict[str, Patient]]) -> None:
    built, who = result
    assert built.value(who[case], "pao2fio2_vent_min") == pytest.approx(CASES[case][0], nan_ok=True)
