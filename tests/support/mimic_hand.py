"""Patients written by hand: each test says what is charted, in hours from INTIME, and works out the result itself."""

import csv
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.data.mimic3 import MimicOptions, build

ZERO = datetime(2150, 1, 10, 12, 0, 0)  # INTIME of every patient's first ICU stay
HEADERS = {
    "PATIENTS": "ROW_ID SUBJECT_ID GENDER DOB DOD DOD_HOSP DOD_SSN EXPIRE_FLAG",
    "ADMISSIONS": "ROW_ID SUBJECT_ID HADM_ID ADMITTIME DISCHTIME DEATHTIME ADMISSION_TYPE DIAGNOSIS",
    "ICUSTAYS": "ROW_ID SUBJECT_ID HADM_ID ICUSTAY_ID DBSOURCE INTIME OUTTIME",
    "SERVICES": "ROW_ID SUBJECT_ID HADM_ID TRANSFERTIME PREV_SERVICE CURR_SERVICE",
    "DIAGNOSES_ICD": "ROW_ID SUBJECT_ID HADM_ID SEQ_NUM ICD9_CODE",
    "PROCEDUREEVENTS_MV": "ROW_ID SUBJECT_ID HADM_ID ICUSTAY_ID STARTTIME ENDTIME ITEMID VALUE",
    "OUTPUTEVENTS": "ROW_ID SUBJECT_ID HADM_ID ICUSTAY_ID CHARTTIME ITEMID VALUE VALUEUOM ISERROR",
    "LABEVENTS": "ROW_ID SUBJECT_ID HADM_ID ITEMID CHARTTIME VALUE VALUENUM VALUEUOM FLAG",
    "CHARTEVENTS": "ROW_ID SUBJECT_ID HADM_ID ICUSTAY_ID ITEMID CHARTTIME STORETIME VALUE VALUENUM WARNING ERROR",
}


def at(hours: float | None) -> str:
    """The time so many hours after INTIME, as MIMIC-III writes it; None is an empty field."""
    return "" if hours is None else f"{ZERO + timedelta(seconds=round(hours * 3600)):%Y-%m-%d %H:%M:%S}"


@dataclass
class Hospital:
    """The raw tables, filled patient by patient."""

    rows: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {table: [] for table in HEADERS})
    patients: int = 0

    def __post_init__(self) -> None:
        # Somebody with a needed row in every table and not one value to use, who therefore leaves at rule 4.
        other = {"SUBJECT_ID": 99999, "HADM_ID": 199999, "ICUSTAY_ID": 299999, "CHARTTIME": at(0), "STARTTIME": at(0)}
        other |= {"ICD9_CODE": "4019", "TRANSFERTIME": at(0), "CURR_SERVICE": "MED", "INTIME": at(0), "OUTTIME": at(9)}
        other |= {"DOB": "2100-01-01 00:00:00", "ADMITTIME": at(0), "DISCHTIME": at(9), "ADMISSION_TYPE": "EMERGENCY"}
        items = {"CHARTEVENTS": 211, "LABEVENTS": 51006, "OUTPUTEVENTS": 40055, "PROCEDUREEVENTS_MV": 227194}
        for table in HEADERS:
            self.add(table, **(other | {"ITEMID": items.get(table)}))

    def add(self, table: str, **row: Any) -> None:
        known = HEADERS[table].split()
        self.rows[table].append({"ROW_ID": len(self.rows[table]) + 1} | {k: v for k, v in row.items() if k in known})

    def patient(
        self,
        *,
        dob: str = "2100-01-01 00:00:00",
        admit: float = -1,
        discharge: float = 240,
        dod: float | None = None,
        dod_hosp: float | None = None,
        deathtime: float | None = None,
        kind: str = "EMERGENCY",
        icu: bool = True,
        filler: bool = True,
    ) -> "Patient":
        """One patient with one admission and one ICU stay; `filler` charts two heart rates so that rule 5 is met."""
        self.patients += 1
        who = Patient(self, self.patients, 100000 + self.patients, 200000 + 2 * self.patients)
        self.add("PATIENTS", SUBJECT_ID=who.subject, DOB=dob, DOD=at(dod), DOD_HOSP=at(dod_hosp))
        who.admission(who.hadm, admit, discharge, deathtime, kind)
        if icu:
            who.icu(who.stay, 0)
        if filler:
            who.chart(1, 220045, 80)
            who.chart(40, 220045, 80)
        return who

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for table, header in HEADERS.items():
            with (folder / f"{table}.csv").open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, header.split(), restval="", quoting=csv.QUOTE_NONNUMERIC)
                writer.writeheader()
                writer.writerows({k: v for k, v in row.items() if v != ""} for row in self.rows[table])
        (folder / "SYNTHETIC.txt").write_text("written by hand for a test\n", encoding="utf-8")
        return folder

    def build(self, folder: Path, **options: Any) -> "Result":
        """Write the tables, build, read the results back."""
        build(self.write(folder / "raw"), folder / "out", MimicOptions(**options))
        return Result.read(folder / "out")


@dataclass
class Patient:
    hospital: Hospital
    subject: int
    hadm: int
    stay: int

    def admission(
        self, hadm: int, admit: float, discharge: float, death: float | None = None, kind: str = "EMERGENCY"
    ) -> None:
        times = {"ADMITTIME": at(admit), "DISCHTIME": at(discharge), "DEATHTIME": at(death)}
        self.hospital.add("ADMISSIONS", SUBJECT_ID=self.subject, HADM_ID=hadm, ADMISSION_TYPE=kind, **times)

    def icu(self, stay: int, intime: float, hadm: int | None = None) -> None:
        ids = {"SUBJECT_ID": self.subject, "HADM_ID": hadm or self.hadm, "ICUSTAY_ID": stay}
        self.hospital.add("ICUSTAYS", **ids, DBSOURCE="metavision", INTIME=at(intime), OUTTIME=at(intime + 48))

    def chart(self, hours: float, item: int, value: Any, number: float | str | None = None, **other: Any) -> None:
        """A row of CHARTEVENTS; VALUENUM is the value if that is a number."""
        row = {"SUBJECT_ID": self.subject, "HADM_ID": self.hadm, "ICUSTAY_ID": self.stay, "ITEMID": item}
        row |= {"CHARTTIME": at(hours), "VALUE": str(value), "VALUENUM": _number(value) if number is None else number}
        self.hospital.add("CHARTEVENTS", **(row | other))

    def lab(self, hours: float, item: int, value: Any, **other: Any) -> None:
        row = {"SUBJECT_ID": self.subject, "HADM_ID": self.hadm, "ITEMID": item, "CHARTTIME": at(hours)}
        self.hospital.add("LABEVENTS", **(row | {"VALUE": str(value), "VALUENUM": _number(value)} | other))

    def output(self, hours: float, item: int, value: float, **other: Any) -> None:
        row = {"SUBJECT_ID": self.subject, "HADM_ID": self.hadm, "ICUSTAY_ID": self.stay, "ITEMID": item}
        self.hospital.add("OUTPUTEVENTS", **(row | {"CHARTTIME": at(hours), "VALUE": value} | other))

    def procedure(self, hours: float, item: int) -> None:
        ids = {"SUBJECT_ID": self.subject, "HADM_ID": self.hadm, "ICUSTAY_ID": self.stay, "ITEMID": item}
        self.hospital.add("PROCEDUREEVENTS_MV", **ids, STARTTIME=at(hours), ENDTIME=at(hours + 1))

    def diagnosis(self, code: str) -> None:
        self.hospital.add("DIAGNOSES_ICD", SUBJECT_ID=self.subject, HADM_ID=self.hadm, ICD9_CODE=code)

    def service(self, hours: float, service: str) -> None:
        row = {"SUBJECT_ID": self.subject, "HADM_ID": self.hadm, "TRANSFERTIME": at(hours)}
        self.hospital.add("SERVICES", **row, CURR_SERVICE=service)

    def gas(self, hours: float, pao2: float, specimen: str = "ART", **other: float) -> None:
        """A blood gas: specimen, pO2 and other items by name."""
        self.lab(hours, 50821, pao2)
        if specimen:
            self.lab(hours, 50800, specimen)
        for name, value in other.items():
            self.lab(hours, {"fio2": 50816, "so2": 50817, "pco2": 50818, "ph": 50820, "hb": 50811}[name], value)


@dataclass
class Result:
    """What a build wrote, by patient."""

    mimic: pd.DataFrame  # indexed by subject
    seq: pd.DataFrame  # indexed by subject and hour
    flow: pd.DataFrame

    @classmethod
    def read(cls, out: Path) -> "Result":
        seq = pd.read_parquet(out / "mimic_seq.parquet").set_index(["subject_id", "hour"])
        return cls(pd.read_parquet(out / "mimic.parquet").set_index("subject_id"), seq, pd.read_csv(out / "flow.csv"))

    def __contains__(self, who: Patient) -> bool:
        return who.subject in self.mimic.index

    def value(self, who: Patient, column: str) -> float:
        return float(self.mimic.loc[who.subject, column])

    def series(self, who: Patient, column: str) -> list[float]:
        """The 24 hourly values."""
        return [float(v) for v in self.seq.loc[who.subject, column]]


def _number(value: Any) -> Any:
    return value if isinstance(value, int | float) else ""
