"""The small invented tables: patients, admissions, ICU stays, services, diagnoses."""

from typing import Any

import numpy as np
import pandas as pd

from benchmarks.data.mimic3.synthesise import people
from benchmarks.data.mimic3.synthesise.people import People


def small_tables(who: People, rng: np.random.Generator) -> dict[str, dict[str, Any]]:
    """Their columns, by table."""
    return {
        "PATIENTS": _patients(who),
        "ADMISSIONS": _admissions(who, rng),
        "ICUSTAYS": _icustays(who, rng),
        "SERVICES": _services(who, rng),
        "DIAGNOSES_ICD": _diagnoses(who, rng),
    }


def _patients(who: People) -> dict[str, Any]:
    p = who.patients
    times = {c.upper(): p[c].to_numpy() for c in ("dob", "dod", "dod_hosp", "dod_ssn")}
    dead = p["dod"].notna().to_numpy().astype(int)
    return {"SUBJECT_ID": p["subject_id"].to_numpy(), "GENDER": p["gender"], **times, "EXPIRE_FLAG": dead}


def _admissions(who: People, rng: np.random.Generator) -> dict[str, Any]:
    a = who.admissions
    died = a["died"].to_numpy()
    return {
        "SUBJECT_ID": a["subject_id"].to_numpy(),
        "HADM_ID": a["hadm_id"].to_numpy(),
        "ADMITTIME": a["admit"].to_numpy(),
        "DISCHTIME": a["discharge"].to_numpy(),
        "DEATHTIME": a["death"].to_numpy(),
        "ADMISSION_TYPE": a["type"],
        "ADMISSION_LOCATION": np.where(a["type"] == "ELECTIVE", "PHYS REFERRAL/NORMAL DELI", "EMERGENCY ROOM ADMIT"),
        "DISCHARGE_LOCATION": np.where(died, "DEAD/EXPIRED", "HOME"),
        "INSURANCE": rng.choice(["Medicare", "Private", "Medicaid"], len(a)),
        "ETHNICITY": rng.choice(["WHITE", "BLACK/AFRICAN AMERICAN", "UNKNOWN/NOT SPECIFIED"], len(a)),
        "DIAGNOSIS": rng.choice(["SEPSIS", "PNEUMONIA", "CHEST PAIN, UNSTABLE", "HEAD \\ BLEED"], len(a)),
        "HOSPITAL_EXPIRE_FLAG": died.astype(int),
        "HAS_CHARTEVENTS_DATA": a["intime"].notna().to_numpy().astype(int),
    }


def _icustays(who: People, rng: np.random.Generator) -> dict[str, Any]:
    s = who.stays.iloc[rng.permutation(len(who.stays))]
    unit = rng.choice(["MICU", "SICU", "CSRU", "CCU", "TSICU"], len(s))
    return {
        "SUBJECT_ID": s["subject_id"].to_numpy(),
        "HADM_ID": s["hadm_id"].to_numpy(),
        "ICUSTAY_ID": s["icustay_id"].to_numpy(),
        "DBSOURCE": np.where(s["carevue"], "carevue", "metavision"),
        "FIRST_CAREUNIT": unit,
        "LAST_CAREUNIT": unit,
        "FIRST_WARDID": np.full(len(s), 52),
        "LAST_WARDID": np.full(len(s), 52),
        "INTIME": s["intime"].to_numpy(),
        "OUTTIME": s["outtime"].to_numpy(),
        "LOS": np.round((s["outtime"] - s["intime"]).dt.total_seconds().to_numpy() / 86400, 4),
    }


def _services(who: People, rng: np.random.Generator) -> dict[str, Any]:
    """The first service and, for some, a later one of the other kind; a few admissions have none."""
    a = who.admissions[rng.random(len(who.admissions)) > 0.01]
    surgical = who.patients["surgical"].to_numpy()[a["person"]]
    pick = [rng.choice(people.MEDICAL, len(a)), rng.choice(people.SURGICAL, len(a))]
    first = np.where(a["type"] == "NEWBORN", "NB", np.where(surgical, pick[1], pick[0]))
    moved = rng.random(len(a)) < 0.15
    d = pd.DataFrame({"s": a["subject_id"], "h": a["hadm_id"], "t": a["admit"], "prev": "", "curr": first})
    later = d[moved].assign(prev=first[moved], curr=np.where(surgical, pick[0], pick[1])[moved])
    later["t"] += rng.integers(3600, 90_000, len(later)).astype("timedelta64[s]")
    d = pd.concat([d, later])
    d = d.iloc[rng.permutation(len(d))]
    d["prev"] = d["prev"].replace("", None)
    named = {"SUBJECT_ID": "s", "HADM_ID": "h", "TRANSFERTIME": "t", "PREV_SERVICE": "prev", "CURR_SERVICE": "curr"}
    return {column: d[short].to_numpy() for column, short in named.items()}


def _diagnoses(who: People, rng: np.random.Generator) -> dict[str, Any]:
    """Ten codes or so per admission; the comorbidities' codes go to the patients who have them."""
    a, p = who.admissions, who.patients
    count = rng.integers(4, 14, len(a))
    row = np.repeat(np.arange(len(a)), count)
    code = rng.choice(people.CODES, row.size).astype(object)
    code[rng.random(row.size) < 0.0005] = None
    rows, codes = [row], [code]
    for name, pool in (("aids", people.AIDS), ("hem", people.HEM), ("mets", people.METS)):
        has = np.flatnonzero(p[name].to_numpy()[a["person"]])
        rows.append(has)
        codes.append(rng.choice(pool, has.size).astype(object))
    d = pd.DataFrame({"row": np.concatenate(rows), "code": np.concatenate(codes)})
    d = d.iloc[rng.permutation(len(d))].sort_values("row", kind="stable")
    return {
        "SUBJECT_ID": a["subject_id"].to_numpy()[d["row"]],
        "HADM_ID": a["hadm_id"].to_numpy()[d["row"]],
        "SEQ_NUM": d.groupby("row").cumcount().to_numpy() + 1,
        "ICD9_CODE": d["code"].to_numpy(),
    }
