"""The raw rows for the slow reference, in plain lists.

Times are whole seconds, `None` is a missing value; a charted row is (time, item, text, number, error).
"""

from collections import defaultdict
from pathlib import Path

import pandas as pd
from support.mimic_reference_items import CHARTED, EXTUBATION, TESTED, URINE


def read(folder: Path, table: str, columns: str, items: set[int] | None = None) -> pd.DataFrame:
    path = next(p for p in folder.iterdir() if p.name.upper() in (f"{table}.CSV", f"{table}.CSV.GZ"))
    d = pd.read_csv(path, usecols=lambda c: c.upper() in columns.split(), dtype=str, keep_default_na=False)
    d.columns = d.columns.str.upper()
    d = d if items is None else d[d["ITEMID"].astype(int).isin(items)]
    for name in d.columns:
        if name.endswith("TIME") or name in ("DOB", "DOD"):
            stamp = pd.to_datetime(d[name].where(d[name] != "")).astype("datetime64[s]")
            d[name] = [None if pd.isna(s) else int(s.timestamp()) for s in stamp]
        elif name.endswith("ID") or name == "VALUENUM":
            d[name] = [None if x == "" else (float(x) if name == "VALUENUM" else int(x)) for x in d[name]]
        else:
            d[name] = [None if x == "" else x.strip() for x in d[name]]
    return d.astype(object).where(d.notna(), None)


def by(d: pd.DataFrame, keys: list[str], values: list[str]) -> dict[tuple[int, ...], list[tuple]]:
    found = defaultdict(list)
    for key, row in zip(d[keys].itertuples(index=False), d[values].itertuples(index=False), strict=True):
        found[tuple(key)].append(tuple(None if v is None or v != v else v for v in row))
    return found


class Tables:
    """The raw rows, looked up by patient, admission or stay."""

    def __init__(self, folder: Path) -> None:
        self.patients = by(read(folder, "PATIENTS", "SUBJECT_ID DOB DOD"), ["SUBJECT_ID"], ["DOB", "DOD"])
        names = ["ADMITTIME", "HADM_ID", "DISCHTIME", "DEATHTIME", "ADMISSION_TYPE"]
        self.admissions = by(read(folder, "ADMISSIONS", " ".join(["SUBJECT_ID", *names])), ["SUBJECT_ID"], names)
        stays = read(folder, "ICUSTAYS", "HADM_ID ICUSTAY_ID INTIME")
        self.stays = by(stays, ["HADM_ID"], ["INTIME", "ICUSTAY_ID"])
        services = read(folder, "SERVICES", "HADM_ID TRANSFERTIME CURR_SERVICE")
        self.services = by(services, ["HADM_ID"], ["TRANSFERTIME", "CURR_SERVICE"])
        self.codes = by(read(folder, "DIAGNOSES_ICD", "HADM_ID ICD9_CODE"), ["HADM_ID"], ["ICD9_CODE"])
        ids, values = ["SUBJECT_ID", "HADM_ID", "ICUSTAY_ID"], ["CHARTTIME", "ITEMID", "VALUE", "VALUENUM", "ERROR"]
        charted = read(folder, "CHARTEVENTS", " ".join(ids + values), CHARTED)
        self.chart, self.vitals = by(charted, ["ICUSTAY_ID"], values), by(charted, ids, values)
        tested = read(folder, "LABEVENTS", "SUBJECT_ID HADM_ID ITEMID CHARTTIME VALUE VALUENUM", TESTED)
        self.labs = by(tested, ["SUBJECT_ID", "HADM_ID"], ["CHARTTIME", "ITEMID", "VALUE", "VALUENUM"])
        passed = read(folder, "OUTPUTEVENTS", "SUBJECT_ID HADM_ID ICUSTAY_ID ITEMID CHARTTIME VALUE", URINE)
        self.urine = by(passed, ["SUBJECT_ID", "HADM_ID", "ICUSTAY_ID"], ["CHARTTIME", "ITEMID", "VALUE"])
        done = read(folder, "PROCEDUREEVENTS_MV", "ICUSTAY_ID ITEMID STARTTIME", EXTUBATION)
        self.extubations = by(done, ["ICUSTAY_ID"], ["STARTTIME"])
