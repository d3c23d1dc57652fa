"""Small random tables where every rule, bound, tie and window edge is met often: medically absurd on purpose."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
from support import mimic_reference_items as known

HOUR = 3600
TEXTS = {
    720: ["Assist Control", "Other/Remarks", "CPAP+PS "],
    223848: ["Drager", "Other"],
    223849: ["CMV/ASSIST", "Standby"],
    467: ["Ventilator", "None", "Nasal Cannula", "Trach Mask ", "Bipap Mask", "CPAP Mask ", "Other", "nasal cannula"],
    469: ["BiPap Mask", "cpap mask ", "Nasal Cannula"],
    226732: ["Endotracheal tube", "Trach mask ", "None", "Bipap mask ", "T-piece", "CPAP mask", "Other"],
    640: ["Extubated", "Self Extubation ", "Fluid Bolus"],
    648: ["Intubated/trach", "Normal"],
    723: ["1.0 ET/Trach", "5 Oriented", "4 Confused", "1.0 ET/Trach "],
    223900: ["No Response-ETT", "No Response", "Oriented"],
    50800: ["ART", "VEN", "MIX", "ART "],
}
# At, just inside and just outside the bounds of Section 7.
NUMBERS = {
    "heart": [0, 1, 60, 80, 299, 300, -1],
    "pressure": [0, 90, 120, 399, 400, 401],
    "fahrenheit": [70, 71, 98.6, 101.3, 119, 120],
    "celsius": [10, 11, 36.6, 39, 49, 50],
    "saturation": [0, 80, 95, 100, 101],
    "coma": [1, 2, 3, 4, 5, 6],
    "oxygen": [*[0] * 6, 0.2, 0.21, 0.5, 1, 1.5, 20, 21, 40, 100, 101],
    "lab": [0, -1, 0.5, 4, 20, 30, 31, 70, 71, 100, 101, 150, 151, 200, 201, 300, 301, 800, 801, 1000, 1001, 10001],
}
CODES = "042 0429 0449 045 0419 20000 20238 20239 2024 20248 20249 2025 20302 20303 2386 2387 2733 20892 20893".split()  # noqa: SIM905
CODES += ["1960", "196", "1991", "19910", "1992", "20970", "20975", "20976", "20979", "78951", "7895", "", "4280"]


def kind_of(item: int) -> str:
    groups = {"heart": known.HEART, "pressure": known.SYSBP, "fahrenheit": known.TEMP_F, "celsius": known.TEMP_C}
    groups |= {"saturation": known.SPO2, "coma": known.VERBAL | known.MOTOR | known.EYES, "oxygen": known.FIO2}
    return next((name for name, items in groups.items() if item in items), "lab")


class Writer:
    """Draws the rows of all tables; every time lies on a half-hour grid around an INTIME, so that edges are hit."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.rows: dict[str, list[dict[str, Any]]] = {}

    def add(self, table: str, **row: Any) -> None:
        self.rows.setdefault(table, []).append({"ROW_ID": len(self.rows.get(table, [])), **row})

    def pick(self, options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def at(self, origin: int, low_h: float, high_h: float) -> int:
        if self.rng.random() < 0.1:
            return origin + HOUR * self.pick([0, 24, max(low_h, -6)])  # the ends of the windows
        return origin + 1800 * int(self.rng.integers(2 * low_h, 2 * high_h + 1)) + self.pick([0, 0, 0, 0, -60, 60])

    def patient(self, subject: int) -> None:
        admit = 5_000_000_000 // 86400 * 86400 + 18 * HOUR + subject * 40 * 86400
        # Exactly fifteen years of 365.25 days, a day less, and old enough; some are "300".
        age = self.pick([5478.75, 5477.75, *[20000.75, 25000.75, 30000.75] * 3, 109_600.75])
        first = admit + HOUR * self.pick([0, 1, 7])
        death = self.pick([*[None] * 5, 23.75, 24, 24 + 1 / 60, 60, 24 * 400, 0.5])
        dod = "" if death is None else stamp((first + int(death * HOUR)) // 86400 * 86400)
        self.add("PATIENTS", SUBJECT_ID=subject, DOB=stamp(admit - int(age * 86400)), DOD=dod, DOD_HOSP="")
        for k in range(self.pick([1, 1, 2])):
            start = admit + k * 20 * 86400
            in_hospital = k == 0 and death is not None and death < 100 and self.rng.random() < 0.8
            self.admission(subject, start, first + k * 20 * 86400, first + int(death * HOUR) if in_hospital else None)

    def admission(self, subject: int, admit: int, intime: int, death: int | None) -> None:
        hadm = len(self.rows.get("ADMISSIONS", [])) + 100_000
        left = death or intime + HOUR * self.pick(range(30, 200))
        kind = self.pick(["ELECTIVE", "EMERGENCY", "URGENT"])
        died = "" if death is None else stamp(death)
        times = {"ADMITTIME": stamp(admit), "DISCHTIME": stamp(left), "DEATHTIME": died}
        self.add("ADMISSIONS", SUBJECT_ID=subject, HADM_ID=hadm, **times, ADMISSION_TYPE=kind)
        for i in range(self.pick([0, 1, 2])):
            service = self.pick(["MED", "CSURG", "TRAUM", "VSURG", "SURG"])
            moved = stamp(admit + HOUR * (5 - 3 * i))
            self.add("SERVICES", SUBJECT_ID=subject, HADM_ID=hadm, TRANSFERTIME=moved, CURR_SERVICE=service)
        for _ in range(self.pick([0, 1, 3])):
            self.add("DIAGNOSES_ICD", SUBJECT_ID=subject, HADM_ID=hadm, SEQ_NUM=1, ICD9_CODE=self.pick(CODES))
        long = self.pick([6, 25, 40, 60])
        for i in range(self.pick([0, *[1] * 6, 2, 3])):
            self.stay(subject, hadm, intime + i * self.pick([2, 10, 24]) * HOUR, long)
        for _ in range(self.pick([0, 5, 20, 50])):
            item, number = self.pick(sorted(known.TESTED - {50800, 50821})), self.pick([*NUMBERS["lab"], ""])
            self.lab(subject, hadm, item, self.at(intime, -8, long), str(number), number)
        for _ in range(self.pick([1, 2, 4])):
            self.gas(subject, hadm, self.at(intime, -8, 30))

    def stay(self, subject: int, hadm: int, intime: int, long: int) -> None:
        stay = len(self.rows.get("ICUSTAYS", [])) + 200_000
        ids = {"SUBJECT_ID": subject, "HADM_ID": hadm, "ICUSTAY_ID": stay}
        source = self.pick(["carevue", "metavision"])
        span = {"INTIME": stamp(intime), "OUTTIME": stamp(intime + long * HOUR)}
        self.add("ICUSTAYS", **ids, DBSOURCE=source, **span)
        coma, oxygen = sorted(known.VERBAL | known.MOTOR | known.EYES), sorted(known.FIO2 | known.SPO2)
        vent = [*sorted(known.VENT)[:3], 720, 223848, 223849, 467, 648, 640, 226732]
        # What the stay is rich in, and how often it is charted: rules about gaps need rare rows, ties need many.
        for items, rows in self.pick([
            [(sorted(known.CHARTED - known.VENT), 80), (sorted(known.VENT), 4)],
            [([467, 469, 226732], self.pick([1, 2, 4])), (oxygen, 20)],
            [(vent, self.pick([2, 4, 8])), (oxygen, 20)],
            [(coma, self.pick([8, 15, 60])), (vent, 3), (oxygen, 5)],
        ]):  # fmt: skip
            for _ in range(rows):
                time = self.at(intime, -2, long)
                time -= (
                    (time - intime) % (4 * HOUR) if items is vent and self.rng.random() < 0.6 else 0
                )  # gaps of exactly 8 h
                self.charted(ids, self.pick(items), time)
        for _ in range(self.pick([0, 5, 15])):
            item, ml = self.pick([*sorted(known.URINE), 40054, 227488]), self.pick([0, 50, 120.5, "", 3000])
            self.add("OUTPUTEVENTS", **ids, ITEMID=item, CHARTTIME=stamp(self.at(intime, -2, long)), VALUE=ml)
        for _ in range(self.pick([0, 0, 2])):
            item = self.pick([*sorted(known.EXTUBATION), 225792])
            self.add("PROCEDUREEVENTS_MV", **ids, STARTTIME=stamp(self.at(intime, 0, long)), ITEMID=item)

    def charted(self, ids: dict[str, Any], item: int, time: int) -> None:
        number = self.pick([*NUMBERS[kind_of(item)], ""])
        text = self.pick([*TEXTS[item], ""]) if item in TEXTS else str(number)
        lost = self.pick([{}] * 46 + [{"ICUSTAY_ID": ""}, {"HADM_ID": ""}, {"HADM_ID": 100_000}, {"SUBJECT_ID": 1}])
        values = {"VALUE": text, "VALUENUM": number, "ERROR": self.pick(["", "0", "", "0", "", "0", "1"])}
        self.add("CHARTEVENTS", **(ids | lost), ITEMID=item, CHARTTIME=stamp(time), **values)

    def gas(self, subject: int, hadm: int, time: int) -> None:
        """A sample near the classifier's threshold, now and then drawn twice or with a flaw."""
        for _ in range(self.pick([1, 1, 2])):
            po2 = self.pick([*[int(self.rng.integers(38, 62))] * 4, int(self.rng.integers(30, 130)), 0, 800, 801])
            self.lab(subject, hadm, 50821, time, str(po2), po2)
            if self.rng.random() < 0.4:
                self.lab(subject, hadm, 50800, time, self.pick(TEXTS[50800]), "")
            if self.rng.random() < 0.5:
                fio2 = self.pick([21, 40, 50, 100, 101])
                self.lab(subject, hadm, 50816, time, str(fio2), fio2)

    def lab(self, subject: int, hadm: int, item: int, time: int, text: str, number: Any) -> None:
        owner = {"SUBJECT_ID": subject, "HADM_ID": "" if self.rng.random() < 0.03 else hadm}
        self.add("LABEVENTS", **owner, ITEMID=item, CHARTTIME=stamp(time), VALUE=text, VALUENUM=number)


def stamp(seconds: int) -> str:
    return str(np.datetime64(int(seconds), "s")).replace("T", " ")


def write(out: Path, patients: int, seed: int, columns: dict[str, list[str]]) -> None:
    """Write all tables with these columns; headers lower-case and rows out of order, as a demo download may have."""
    writer = Writer(seed)
    for subject in range(1, patients + 1):
        writer.patient(subject)
    for table, names in columns.items():
        rows = writer.rows.get(table, [])
        with (out / f"{table}.csv").open("w", newline="", encoding="utf-8") as file:
            lines = csv.writer(file)
            lines.writerow([name.lower() for name in names])
            lines.writerows([rows[i].get(n, "") for n in names] for i in writer.rng.permutation(len(rows)))
