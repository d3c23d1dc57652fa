"""Invented patients: who they are, when they come, when they die (hazards that cross), and the small tables of that."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

Array = npt.NDArray[np.float64]
HOUR, DAY, YEAR = 3600.0, 86400.0, 365.25 * 86400.0
LATER = 4  # most admissions after the first

MEDICAL = np.array(["MED", "CMED", "NMED", "OMED", "TRAUM", "ORTHO", "GYN"])
SURGICAL = np.array(["SURG", "CSURG", "NSURG", "TSURG", "VSURG", "PSURG"])
# Common codes, several with leading zeros, and the near misses of the three comorbidities.
CODES = np.array([
    "0389", "00845", "07054", "0414", "04104", "0088", "4019", "4280", "42731", "5849", "51881", "41401", "25000",
    "2724", "5990", "2859", "486", "5070", "2762", "2851", "1992", "78959", "20969", "2387", "2732", "1959",
])  # fmt: skip
AIDS = np.array(["042", "0430", "0449"])
HEM = np.array(["20280", "20300", "20400", "20500", "2386", "2733", "20210"])
METS = np.array(["1970", "1977", "1985", "1991", "1960", "20970", "78951"])


@dataclass(frozen=True)
class People:
    """One row per patient, admission, ICU stay; times are datetime64[s], hidden drivers sit in `stays`."""

    patients: pd.DataFrame
    admissions: pd.DataFrame
    stays: pd.DataFrame


def death_years(acute: Array, chronic: Array, rng: np.random.Generator) -> Array:
    """Years from ICU admission to death, T = min(T1, T2), with hazards that cross in `acute`.

    T1, the acute illness: log-normal, for a share that grows with `acute`, earlier the higher it is.
    T2, everything else: Weibull with rising hazard, earlier for a high `chronic` and *later* for a high `acute`
    (who survives an acute illness was the healthier one). A high `acute` thus means more danger now and less later.
    The numbers are set so that deaths, share and times come out as in the paper's table of data sets.
    """
    n = acute.size
    struck = rng.random(n) < 1.0 / (1.0 + np.exp(1.75 - 1.4 * acute))
    t1 = np.where(struck, 0.15 * np.exp(-1.1 * acute + 1.1 * rng.normal(size=n)), np.inf)
    t2 = 31.0 * np.exp(-1.3 * chronic + 0.8 * acute) * rng.weibull(1.35, n)
    at_once = np.where(rng.random(n) < 0.02, rng.uniform(2 * HOUR, 23.9 * HOUR, n) / YEAR, np.inf)
    return np.asarray(np.minimum(np.minimum(t1, t2), at_once))


def _ids(n: int, first: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    return first + rng.permutation(max(99_999, 2 * n))[:n].astype(np.int64)


def _times(start: npt.NDArray[np.datetime64], seconds: Array) -> npt.NDArray[np.datetime64]:
    return np.asarray(start + np.round(seconds).astype("timedelta64[s]"))


def _drivers(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """What a patient brings: age, comorbidities, the acute illness, the kind of admission."""
    kind = rng.choice(["adult", "old", "newborn", "child"], n, p=[0.79, 0.05, 0.145, 0.015])
    adult = np.clip(rng.normal(63, 17, n), 15.02, 88.9)
    age = np.select([kind == "newborn", kind == "child"], [0.0, rng.uniform(9, 14.98, n)], adult)
    age = np.where(kind == "old", rng.uniform(89.1, 98, n), age)
    grown = np.isin(kind, ["adult", "old"])
    p = pd.DataFrame({"kind": kind, "age": age, "acute": rng.normal(size=n)})
    for name, share in (("aids", 0.015), ("hem", 0.035), ("mets", 0.06)):
        p[name] = (rng.random(n) < share) & grown
    p["elective"] = (rng.random(n) < 0.15) & grown
    p["surgical"] = rng.random(n) < np.where(p["elective"], 0.75, 0.22)
    p["acute"] -= 0.5 * p["elective"]
    p["chronic"] = 0.7 * (p["age"] - 64) / 17 + 1.5 * p["mets"] + 0.9 * p["hem"] + 0.6 * p["aids"]
    p["carevue"] = rng.random(n) < 0.55
    return p


def make_people(n: int, rng: np.random.Generator) -> People:
    """Draw n patients with all their admissions and ICU stays, and the death that ends them, where it is recorded."""
    p = _drivers(n, rng)
    p["subject_id"] = _ids(n, 2, rng)
    newborn = p["kind"].to_numpy() == "newborn"
    minutes = rng.integers(0, 100 * 525_960, n)
    admit = np.datetime64("2100-01-01", "s") + minutes.astype("timedelta64[m]")
    brief = rng.random(n) < 0.08  # in and out within a day
    wait = rng.exponential(np.where(p["elective"], 20 * HOUR, 4 * HOUR)) + 61
    wait = np.where(brief, rng.uniform(60, 2 * HOUR, n), wait)
    intime = _times(admit, wait)
    years = death_years(p["acute"].to_numpy(), p["chronic"].to_numpy(), rng)
    years = np.where(newborn, 25 * rng.weibull(0.9, n), years)
    years = np.where(brief, np.maximum(years, 0.05), years)
    death = _times(intime, years * YEAR)
    stay = np.exp(np.log(6.0 * DAY) + 0.12 * p["acute"].to_numpy() + 0.8 * rng.normal(size=n))
    stay = np.where(brief, rng.uniform(4 * HOUR, 19 * HOUR, n), np.maximum(stay, 25 * HOUR))
    admissions = _admissions(p, admit, intime, _times(intime, stay), death, rng)
    # Deaths outside the hospital are only known while the social-security file is followed.
    followed = _times(intime, rng.uniform(0.3, 9.8, n) * YEAR)
    death_known = (death < followed) | p["subject_id"].isin(admissions.loc[admissions["died"], "subject_id"]).to_numpy()
    in_hospital = p["subject_id"].isin(admissions.loc[admissions["died"], "subject_id"]).to_numpy()
    day = death.astype("datetime64[D]").astype("datetime64[s]")
    never = np.datetime64("NaT", "s")
    p["dod"] = np.where(death_known, day, never)
    p["dod_hosp"] = np.where(in_hospital, day, never)
    p["dod_ssn"] = np.where(death_known & (~in_hospital | (rng.random(n) < 0.7)), day, never)
    born = _times(admit, -p["age"].to_numpy() * YEAR)
    born = np.where(p["kind"] == "old", _times(admit, -(300 + rng.uniform(0, 1, n)) * YEAR), born)
    p["dob"] = born.astype("datetime64[D]").astype("datetime64[s]")
    p["gender"] = np.where(rng.random(n) < 0.56, "M", "F")
    return People(p, admissions, _stays(p, admissions, rng))


def _admissions(
    p: pd.DataFrame,
    admit: npt.NDArray[np.datetime64],
    intime: npt.NDArray[np.datetime64],
    discharge: npt.NDArray[np.datetime64],
    death: npt.NDArray[np.datetime64],
    rng: np.random.Generator,
) -> pd.DataFrame:
    """First and later admissions; those after death never happen, the one around it ends with it."""
    n = len(p)
    parts = [pd.DataFrame({"person": np.arange(n), "admittime": admit, "intime": intime, "dischtime": discharge})]
    again, last = np.ones(n, dtype=bool), discharge
    for k in range(LATER):
        again &= rng.random(n) < (0.19 if k == 0 else 0.4)
        again &= (p["kind"] != "newborn").to_numpy()
        admit = _times(last, DAY + rng.exponential(0.6 * YEAR, n)).astype("datetime64[m]").astype("datetime64[s]")
        intime = _times(admit, 90 + rng.exponential(5 * HOUR, n))
        intime = np.where(rng.random(n) < 0.2, np.datetime64("NaT", "s"), intime)  # a ward-only admission
        last = _times(admit, DAY + np.exp(np.log(5 * DAY) + 0.8 * rng.normal(size=n)))
        last = np.maximum(last, np.where(np.isnat(intime), last, _times(intime, np.full(n, 6 * HOUR))))
        later = pd.DataFrame({"person": np.arange(n), "admittime": admit, "intime": intime, "dischtime": last})
        parts.append(later[again & (admit < death)])
    # A few have an earlier admission that never reached an ICU: it is their first one.
    who = np.flatnonzero(rng.random(n) < 0.01)
    before = _times(parts[0]["admittime"].to_numpy()[who], -rng.uniform(30, 400, who.size) * DAY)
    left, no_icu = _times(before, np.full(who.size, 3 * DAY)), np.full(who.size, np.datetime64("NaT", "s"))
    parts.append(pd.DataFrame({"person": who, "admittime": before, "intime": no_icu, "dischtime": left}))
    a = pd.concat(parts, ignore_index=True)
    a["intime"] = a["intime"].astype("datetime64[s]")
    died_at = death[a["person"]]
    a["died"] = (died_at > a["admittime"]) & (died_at <= a["dischtime"])
    died_at = died_at.astype("datetime64[m]").astype("datetime64[s]")  # the chart knows the minute
    a["dischtime"] = np.where(a["died"], died_at, a["dischtime"].to_numpy().astype("datetime64[m]"))
    a["deathtime"] = np.where(a["died"], died_at, np.datetime64("NaT", "s"))
    a.loc[a["died"] & ~(a["dischtime"] > a["intime"]), "intime"] = pd.NaT
    a = a.iloc[rng.permutation(len(a))].reset_index(drop=True)  # files are not in order of time
    a["subject_id"] = p["subject_id"].to_numpy()[a["person"]]
    a["hadm_id"] = _ids(len(a), 100_001, rng)
    first = (a.groupby("person")["admittime"].transform("min") == a["admittime"]).to_numpy()
    kinds = rng.choice(["EMERGENCY", "URGENT"], len(a), p=[0.96, 0.04])
    kinds = np.where(p["elective"].to_numpy()[a["person"]] & first, "ELECTIVE", kinds)
    a["admission_type"] = np.where((p["kind"] == "newborn").to_numpy()[a["person"]] & first, "NEWBORN", kinds)
    return a


def _stays(p: pd.DataFrame, a: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """One ICU stay per admission with an INTIME, and a second one in some that last."""
    s = a[a["intime"].notna()].copy()
    length = np.exp(np.log(2.1 * DAY) + 0.1 * p["acute"].to_numpy()[s["person"]] + 0.75 * rng.normal(size=len(s)))
    s["outtime"] = np.minimum(_times(s["intime"].to_numpy(), length), s["dischtime"].to_numpy())
    back = s[((s["dischtime"] - s["outtime"]).dt.total_seconds() > 48 * HOUR) & (rng.random(len(s)) < 0.12)].copy()
    back["intime"] = _times(back["outtime"].to_numpy(), rng.uniform(0.02 * HOUR, 30 * HOUR, len(back)))
    length = rng.uniform(4 * HOUR, 60 * HOUR, len(back))
    back["outtime"] = np.minimum(_times(back["intime"].to_numpy(), length), back["dischtime"].to_numpy())
    s = pd.concat([s, back]).sort_values(["subject_id", "intime"], kind="stable").reset_index(drop=True)
    s["icustay_id"] = _ids(len(s), 200_001, rng)
    for name in ("acute", "chronic", "kind"):
        s[name] = p[name].to_numpy()[s["person"]]
    s["acute"] += 0.25 * rng.normal(size=len(s))
    # The hospital changed its system in 2008: a few patients have stays in both.
    later = s.groupby("person")["intime"].transform("min") < s["intime"]
    s["carevue"] = p["carevue"].to_numpy()[s["person"]] & ~(later & (rng.random(len(s)) < 0.2))
    return s


def small_tables(who: People, rng: np.random.Generator) -> dict[str, dict[str, Any]]:
    """Their columns, by table."""
    return {
        "PATIENTS": _patients_table(who),
        "ADMISSIONS": _admissions_table(who, rng),
        "ICUSTAYS": _icustays_table(who, rng),
        "SERVICES": _services_table(who, rng),
        "DIAGNOSES_ICD": _diagnoses_table(who, rng),
    }


def _named(d: pd.DataFrame, names: str) -> dict[str, Any]:
    return {name.upper(): d[name].to_numpy() for name in names.split()}


def _patients_table(who: People) -> dict[str, Any]:
    p = who.patients.assign(expire_flag=who.patients["dod"].notna().astype(int))
    return _named(p, "subject_id gender dob dod dod_hosp dod_ssn expire_flag")


def _admissions_table(who: People, rng: np.random.Generator) -> dict[str, Any]:
    a = who.admissions
    planned, died = a["admission_type"] == "ELECTIVE", a["died"].to_numpy()
    return {
        **_named(a, "subject_id hadm_id admittime dischtime deathtime admission_type"),
        "ADMISSION_LOCATION": np.where(planned, "PHYS REFERRAL/NORMAL DELI", "EMERGENCY ROOM ADMIT"),
        "DISCHARGE_LOCATION": np.where(died, "DEAD/EXPIRED", "HOME"),
        "INSURANCE": rng.choice(["Medicare", "Private", "Medicaid"], len(a)),
        "ETHNICITY": rng.choice(["WHITE", "BLACK/AFRICAN AMERICAN", "UNKNOWN/NOT SPECIFIED"], len(a)),
        "DIAGNOSIS": rng.choice(["SEPSIS", "PNEUMONIA", "CHEST PAIN, UNSTABLE", "HEAD \\ BLEED"], len(a)),
        "HOSPITAL_EXPIRE_FLAG": died.astype(int),
        "HAS_CHARTEVENTS_DATA": a["intime"].notna().to_numpy().astype(int),
    }


def _icustays_table(who: People, rng: np.random.Generator) -> dict[str, Any]:
    s = who.stays.iloc[rng.permutation(len(who.stays))]
    unit = rng.choice(["MICU", "SICU", "CSRU", "CCU", "TSICU"], len(s))
    return {
        **_named(s, "subject_id hadm_id icustay_id intime outtime"),
        **dict.fromkeys(("FIRST_CAREUNIT", "LAST_CAREUNIT"), unit),
        **dict.fromkeys(("FIRST_WARDID", "LAST_WARDID"), np.full(len(s), 52)),
        "DBSOURCE": np.where(s["carevue"], "carevue", "metavision"),
        "LOS": np.round((s["outtime"] - s["intime"]).dt.total_seconds().to_numpy() / 86400, 4),
    }


def _services_table(who: People, rng: np.random.Generator) -> dict[str, Any]:
    """The first service and, for some, a later one of the other kind; a few admissions have none."""
    a = who.admissions[rng.random(len(who.admissions)) > 0.01]
    surgical = who.patients["surgical"].to_numpy()[a["person"]]
    pick = [rng.choice(MEDICAL, len(a)), rng.choice(SURGICAL, len(a))]
    first = np.where(a["admission_type"] == "NEWBORN", "NB", np.where(surgical, pick[1], pick[0]))
    moved = rng.random(len(a)) < 0.15
    ids = a[["subject_id", "hadm_id"]]
    d = ids.assign(transfertime=a["admittime"], prev_service=None, curr_service=first)
    later = d[moved].assign(prev_service=first[moved], curr_service=np.where(surgical, pick[0], pick[1])[moved])
    later["transfertime"] += rng.integers(3600, 90_000, len(later)).astype("timedelta64[s]")
    d = pd.concat([d, later])
    d = d.iloc[rng.permutation(len(d))]
    return _named(d, " ".join(d.columns))


def _diagnoses_table(who: People, rng: np.random.Generator) -> dict[str, Any]:
    """Ten codes or so per admission; the comorbidities' codes go to the patients who have them."""
    a, p = who.admissions, who.patients
    count = rng.integers(4, 14, len(a))
    row = np.repeat(np.arange(len(a)), count)
    code = rng.choice(CODES, row.size).astype(object)
    code[rng.random(row.size) < 0.0005] = None
    rows, codes = [row], [code]
    for name, pool in (("aids", AIDS), ("hem", HEM), ("mets", METS)):
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
