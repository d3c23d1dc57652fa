"""Write invented tables that look like MIMIC-III v1.4: same files, columns, item ids and quirks, no real patient."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute

from benchmarks.data.mimic3 import synthesise_people as people_
from benchmarks.data.mimic3.synthesise_chart import AS_NUMBER, HOUR, chart, ventilation
from benchmarks.data.mimic3.synthesise_fluids import labs, outputs, procedures
from benchmarks.data.mimic3.synthesise_people import People, make_people
from benchmarks.data.mimic3.synthesise_tables import dictionaries, to_arrow, write_table

MARKER = "SYNTHETIC.txt"
ITEMS = Path(__file__).with_name("synthesise_items.csv")
BLOCK = 500_000  # rows of CHARTEVENTS held as text at a time


def write(out: Path, patients: int, seed: int = 0, rows_chartevents: int | None = None, compress: bool = True) -> None:
    """Write the eleven tables for so many patients into `out`; equal arguments give equal bytes.

    `rows_chartevents` lengthens CHARTEVENTS to that many rows by charting the same stays more densely.
    """
    if patients < 1:
        raise ValueError(f"patients is {patients}; give at least 1")
    items = pd.read_csv(ITEMS)
    rng = np.random.default_rng(seed)
    who = make_people(patients, rng)
    stays = who.stays.assign(begin=_seconds(who.stays["intime"]), end=_seconds(who.stays["outtime"]))
    windows = ventilation(stays["begin"].to_numpy(), stays["end"].to_numpy(), stays["acute"].to_numpy(), rng)
    a = who.admissions
    a = a.assign(begin=_seconds(a["admit"]), end=_seconds(a["discharge"]))
    a["acute"] = who.patients["acute"].to_numpy()[a["person"]]
    tables = {
        "PATIENTS": _patients(who),
        "ADMISSIONS": _admissions(who, rng),
        "ICUSTAYS": _icustays(who, rng),
        "SERVICES": _services(who, rng),
        "DIAGNOSES_ICD": _diagnoses(who, rng),
        "LABEVENTS": labs(a, stays, windows, items, rng),
        "OUTPUTEVENTS": outputs(stays, items, rng),
        "PROCEDUREEVENTS_MV": procedures(stays, windows, items, rng),
    }
    charted = chart(stays, windows, items[items["table"] == "chart"], rng)
    base = charted.frame()
    rows = len(base) if rows_chartevents is None else rows_chartevents
    if rows < len(base):
        raise ValueError(f"rows_chartevents is {rows}, but these patients alone need {len(base)} rows; ask for more")
    # The mark comes first: an interrupted run must not leave tables that pass for real ones.
    text = f"Invented data: {patients} patients, seed {seed}. No row stems from a person or from MIMIC-III.\n"
    out.mkdir(parents=True, exist_ok=True)
    (out / MARKER).write_text(text, encoding="utf-8")
    for table, columns in tables.items():
        write_table(out, table, [to_arrow(table, columns)], compress)
    for table, content in dictionaries(items).items():
        write_table(out, table, [content], compress)
    words = pa.array(list(charted.words))
    write_table(out, "CHARTEVENTS", _chartevents(base, words, stays, items, rows, rng), compress)


def _seconds(times: pd.Series) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.asarray(times.to_numpy().astype("datetime64[s]").astype(np.int64))


def _chartevents(
    base: pd.DataFrame, words: pa.Array, stays: pd.DataFrame, items: pd.DataFrame, total: int, rng: np.random.Generator
) -> Iterator[pa.Table]:
    """Blocks of CHARTEVENTS; to reach `total`, every row is repeated so often, a few minutes later each time."""
    copies = np.full(len(base), total // len(base))
    copies[: total % len(base)] += 1
    units = items.melt(id_vars="unit", value_vars=["carevue", "metavision"], value_name="item").dropna(subset=["item"])
    unit = units.set_index(units["item"].astype(int))["unit"]
    units_of = base["item"].map(unit[~unit.index.duplicated()]).to_numpy()
    starts = np.searchsorted(np.cumsum(copies), np.arange(0, total, BLOCK), side="right")
    for lo, hi in zip(starts, [*starts[1:], len(base)], strict=True):
        part = np.repeat(np.arange(lo, hi), copies[lo:hi])
        first = np.concatenate([[True], part[1:] != part[:-1]]) if part.size else np.zeros(0, dtype=bool)
        yield _block(base, stays, units_of, words, part, first, rng)


def _block(
    base: pd.DataFrame, stays: pd.DataFrame, units_of: Any, words: pa.Array, part: Any, first: Any,
    rng: np.random.Generator,
) -> pa.Table:  # fmt: skip
    n = part.size
    stay, num, text = (base[c].to_numpy()[part] for c in ("stay", "num", "text"))
    time = base["time"].to_numpy()[part] + np.where(first, 0, 60 * rng.integers(1, 50, n))
    carevue = stays["carevue"].to_numpy()[stay]
    as_text = pa.compute.cast(pa.array(num, from_pandas=True), pa.string())
    word = words.take(pa.array(np.maximum(text, 0), mask=text < 0))
    lost = rng.random(n)
    return to_arrow(
        "CHARTEVENTS",
        {
            "SUBJECT_ID": stays["subject_id"].to_numpy()[stay],
            "HADM_ID": np.where(lost < 0.001, np.nan, stays["hadm_id"].to_numpy()[stay]),
            "ICUSTAY_ID": np.where(lost < 0.003, np.nan, stays["icustay_id"].to_numpy()[stay]),
            "ITEMID": base["item"].to_numpy()[part],
            "CHARTTIME": time.astype("datetime64[s]"),
            "STORETIME": (time + 60 * rng.integers(0, 90, n)).astype("datetime64[s]"),
            "CGID": 14000 + (stay * 7 + time // (12 * HOUR)) % 6000,  # a shift of twelve hours has one nurse
            "VALUE": pa.compute.if_else(pa.array(text == AS_NUMBER), as_text, word),
            "VALUENUM": pa.array(num, from_pandas=True),
            "VALUEUOM": pa.array(units_of[part], type=pa.string(), from_pandas=True),
            "WARNING": np.where(carevue, np.nan, 0.0),
            "ERROR": np.where(carevue, np.nan, base["error"].to_numpy()[part]),
            "STOPPED": pa.array(["NotStopd", None]).take(pa.array(np.where(carevue, 0, 1))),
        },
    )


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
    pick = [rng.choice(people_.MEDICAL, len(a)), rng.choice(people_.SURGICAL, len(a))]
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
    code = rng.choice(people_.CODES, row.size).astype(object)
    code[rng.random(row.size) < 0.0005] = None
    rows, codes = [row], [code]
    for name, pool in (("aids", people_.AIDS), ("hem", people_.HEM), ("mets", people_.METS)):
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
