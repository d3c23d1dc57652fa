"""MIMIC and MIMIC-SEQ a second time: slow, patient by patient, in plain loops, sharing no code with the build.

Times are whole seconds. A charted row is (time, item, text, number, error). `None` is a missing value.
"""

import math
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from support.mimic_reference_items import (
    COLUMNS,
    EYES,
    FIO2,
    GAS,
    GAS_TOP,
    HEART,
    LABS,
    LISTED,
    MOTOR,
    OFF,
    SERIES,
    SPO2,
    SYSBP,
    TEMP_C,
    TEMP_F,
    VENT,
    VERBAL,
)
from support.mimic_reference_tables import Tables

HOUR, DAY, YEAR = 3600, 86400, 365.25 * 86400


@dataclass
class Reference:
    counts: list[
        int
    ]  # patients; aged; with an ICU stay and a series; not lost; span > 24 h; alive at 24 h and followed
    static: pd.DataFrame
    series: pd.DataFrame


def good(rows: list[tuple]) -> list[tuple]:
    return [r for r in rows if r[4] != "1"]


def vitals(rows: list[tuple]) -> dict[str, list[tuple[int, float]]]:
    """Section 7.1: (time, value) of every plausible charted value."""
    found: dict[str, list[tuple[int, float]]] = {"heart_rate": [], "sysbp": [], "tempc": []}
    for t, item, _, x, _ in good(rows):
        if x is None:
            continue
        if item in HEART and 0 < x < 300:
            found["heart_rate"].append((t, x))
        if item in SYSBP and 0 < x < 400:
            found["sysbp"].append((t, x))
        if item in TEMP_F and 70 < x < 120:
            found["tempc"].append((t, (x - 32) / 1.8))
        if item in TEMP_C and 10 < x < 50:
            found["tempc"].append((t, x))
    return found


def lab_values(rows: list[tuple], name: str) -> list[tuple[int, float]]:
    """Section 7.2."""
    items, bound = LABS[name]
    return [(t, x) for t, item, _, x in rows if item in items and x is not None and 0 < x <= bound]


def urine_values(rows: list[tuple]) -> list[tuple[int, float]]:
    """Section 7.3."""
    return [(t, float(v) * (-1 if item == 227488 else 1)) for t, item, v in rows if v is not None]


def biggest(values: list[float | None]) -> float | None:
    present = [v for v in values if v is not None]
    return max(present) if present else None


def latest(rows: dict[int, float | None], t: int, back: int) -> float | None:
    times = [u for u in rows if t - back <= u <= t]
    return rows[max(times)] if times else None


def chart_fio2(item: int, x: float | None) -> float | None:
    if x is None:
        return None
    if item == 223835:
        return 100 * x if 0 < x <= 1 else (x if 21 <= x <= 100 else None)
    if item == 190:
        return 100 * x if 0.20 < x < 1 else None
    return x


def arterial_gases(labs: list[tuple], chart: list[tuple], lo: int, hi: float) -> dict[int, tuple[float, float | None]]:
    """Section 7.4, steps 1-3: time -> (pO2, FiO2 in % from the gas, else from the chart)."""
    spo2, fio2 = defaultdict(list), defaultdict(list)
    for t, item, _, x, error in chart:
        if item in SPO2:
            spo2[t].append(x if x is not None and 0 < x <= 100 else None)
        if item in FIO2 and error != "1":
            fio2[t].append(chart_fio2(item, x))
    spo2_at = {t: biggest(v) for t, v in spo2.items()}
    fio2_at = {t: biggest(v) for t, v in fio2.items()}
    samples: dict[int, dict[int, list]] = defaultdict(lambda: defaultdict(list))
    for t, item, text, x in labs:
        if lo <= t <= hi and (item in GAS or item == 50821) and x is not None and 0 < x <= GAS_TOP.get(item, math.inf):
            samples[t][item].append(x)
        if lo <= t <= hi and item == 50800 and text is not None:
            samples[t][item].append(text)
    found = {}
    for t, sample in samples.items():
        if 50821 not in sample:
            continue
        gas = {item: max(values) for item, values in sample.items()}
        charted = latest(fio2_at, t, 4 * HOUR)
        terms = [(gas.get(item), *numbers) for item, numbers in GAS.items()]
        terms.append((latest(spo2_at, t, 2 * HOUR), -0.15356, 97.49420, 0.13429))
        terms.append((charted, 0.00621, 51.49550, -0.24958))
        z = -0.02544 + 0.04598 * gas[50821]
        for x, coefficient, mean, shift in terms:
            z += coefficient * x if x is not None else coefficient * mean + shift
        p = 1 / (1 + math.exp(-z)) if z > -700 else 0.0  # absurd values would overflow
        if gas.get(50800) == "ART" or p > 0.75:
            found[t] = (gas[50821], gas.get(50816, charted))
    return found


def vent_flag(item: int, text: str) -> bool:
    rules = {720: text != "Other/Remarks", 223848: text != "Other", 223849: True, 467: text == "Ventilator"}
    rules |= {648: text == "Intubated/trach", 223900: text == "No Response-ETT"}
    return rules.get(item, item in VENT)


def episodes(chart: list[tuple], extubations: list[tuple]) -> list[tuple[int, int]]:
    """Section 7.4b."""
    vent, off = set(), {t for (t,) in extubations}
    for t, item, text, _, _ in good(chart):
        if text is not None and vent_flag(item, text):
            vent.add(t)
        if text is not None and item in OFF and text in OFF[item].split("|"):
            off.add(t)
    found: list[list[int]] = []
    last, last_vent = None, None
    for t in sorted(vent | off):
        if t not in off:
            new = last in off if last is not None and last in off else last_vent is None or t - last_vent > 8 * HOUR
            if new:
                found.append([])
        if found:
            found[-1].append(t)
        last, last_vent = t, (t if t in vent else last_vent)
    return [(e[0], e[-1]) for e in found]


def worst_ratio(labs: list[tuple], chart: list[tuple], extubations: list[tuple], intime: int) -> float | None:
    """Section 7.4, steps 4-6."""
    spans = episodes(chart, extubations)
    masks = []
    for t, item, text, _, _ in good(chart):
        if item in (467, 469, 226732) and intime <= t <= intime + DAY and text is not None:
            masks += [t] if "cpap mask" in text.lower() or "bipap mask" in text.lower() else []
    if masks:
        spans = [*spans, (min(masks) - HOUR, max(masks) + 4 * HOUR)]
    ratios = []
    for t, (po2, fio2) in arterial_gases(labs, chart, intime - 6 * HOUR, intime + DAY).items():
        if fio2 and any(lo <= t <= hi for lo, hi in spans):  # a charted 0 % gives no ratio
            ratios.append(100 * po2 / fio2)
    return min(ratios, default=None)


def coma(chart: list[tuple], lo: int, hi: float) -> dict[int, float]:
    """Section 7.5: time -> GCS total."""
    parts: dict[int, dict[str, list]] = defaultdict(lambda: {"verbal": [], "motor": [], "eyes": []})
    for t, item, text, x, _ in good(chart):
        if lo <= t <= hi:
            if item in VERBAL:
                tube = (item, text) in ((723, "1.0 ET/Trach"), (223900, "No Response-ETT"))
                parts[t]["verbal"].append(0 if tube else x)
            if item in MOTOR:
                parts[t]["motor"].append(x)
            if item in EYES:
                parts[t]["eyes"].append(x)
    total, before, then = {}, {}, -math.inf
    for t in sorted(parts):
        now = {name: biggest(values) for name, values in parts[t].items()}
        prev = before if t - then < 6 * HOUR else {}
        if now["verbal"] == 0 or (now["verbal"] is None and prev.get("verbal") == 0):
            total[t] = 15.0
        else:
            carried = {} if prev.get("verbal") == 0 else prev
            usual = {"motor": 6, "verbal": 5, "eyes": 4}
            total[t] = 0.0
            for name, normal in usual.items():
                known = [v for v in (now[name], carried.get(name), normal) if v is not None]
                total[t] += known[0]
        before, then = now, t
    return total


def comorbidities(codes: list[tuple]) -> tuple[int, int, int]:
    """Section 7.6."""
    blood = "20000-20238 20240-20248 20250-20302 20310-20312 20302-20382 20400-20522 20580-20702 20720-20892"
    spread = "1960-1991 20970-20975 20979-20979 78951-78951"

    def among(c: str, ranges: str) -> bool:
        return any(lo <= c <= hi for lo, hi in (r.split("-") for r in ranges.split()))

    present = [c for (c,) in codes if c is not None]
    aids = any("042" <= c <= "0449" for c in present)
    hem = any(among(c, blood) or c in ("2386", "2733") for c in present)
    return int(aids), int(hem), int(any(among(c, spread) for c in present))


def admission_type(kind: str, services: list[tuple]) -> int:
    """Section 7.7."""
    surgical = bool(services) and "surg" in min(services)[1].lower()
    if not surgical:
        return 0
    return 1 if kind == "ELECTIVE" else 2


def columns(tables: Tables, subject: int, hadm: int, kind: str, dob: int, intime: int, stay: int) -> dict:
    """Section 5."""
    chart, labs = tables.chart[(stay,)], tables.labs[(subject, hadm)]
    in_day = [r for r in tables.vitals[(subject, hadm, stay)] if intime <= r[0] <= intime + DAY]
    in_lab = [r for r in labs if intime - 6 * HOUR <= r[0] <= intime + DAY]
    row: dict[str, float | None] = {"age": round((intime // DAY - dob // DAY) / 365.242, 2)}
    vital = vitals(in_day)
    groups = {"heartrate": vital["heart_rate"], "sysbp": vital["sysbp"], "tempc": vital["tempc"]}
    groups |= {name: lab_values(in_lab, name) for name in LABS}
    for name, values in groups.items():
        row[f"{name}_min"] = min((x for _, x in values), default=None)
        row[f"{name}_max"] = max((x for _, x in values), default=None)
    passed = [x for t, x in urine_values(tables.urine[(subject, hadm, stay)]) if intime <= t <= intime + DAY]
    row["urineoutput"] = sum(passed) if passed else None
    row["pao2fio2_vent_min"] = worst_ratio(labs, chart, tables.extubations[(stay,)], intime)
    row["mingcs"] = min(coma(chart, intime, intime + DAY).values(), default=None)
    row["aids"], row["hem"], row["mets"] = comorbidities(tables.codes[(hadm,)])
    row["admissiontype"] = admission_type(kind, tables.services[(hadm,)])
    return row


def timestamps(tables: Tables, subject: int, hadm: int) -> dict[str, dict[int, float]]:
    """Section 6: series -> time -> value, all ICU stays of the admission pooled, without an end."""
    stays = sorted(tables.stays[(hadm,)])
    pooled: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for intime, stay in stays:
        chart = [r for r in tables.chart[(stay,)] if r[0] >= intime]
        for name, values in vitals([r for r in tables.vitals[(subject, hadm, stay)] if r[0] >= intime]).items():
            for t, x in values:
                pooled[name][t].append(x)
        for name, items in (("gcs_verbal", VERBAL), ("gcs_motor", MOTOR), ("gcs_eyes", EYES)):
            for t, item, _, x, _ in good(chart):
                if item in items and x is not None:
                    pooled[name][t].append(x)
        for t, total in coma(chart, intime, math.inf).items():
            pooled["gcs"][t].append(total)
        per_time = defaultdict(list)
        for t, x in urine_values(tables.urine[(subject, hadm, stay)]):
            if t >= intime:
                per_time[t].append(x)
        for t, values in per_time.items():
            pooled["urine"][t].append(sum(values))
        labs = tables.labs[(subject, hadm)]
        for t, (po2, fio2) in arterial_gases(labs, tables.chart[(stay,)], intime - 6 * HOUR, math.inf).items():
            pooled["pao2"][t].append(po2)
            if fio2 is not None:
                pooled["fio2"][t].append(fio2)
    for name in LABS:
        for t, x in lab_values(tables.labs[(subject, hadm)], name):
            if t >= stays[0][0] - 6 * HOUR:
                pooled[name][t].append(x)
    pick = {"gcs_verbal": max, "gcs_motor": max, "gcs_eyes": max, "gcs": max} | dict.fromkeys(LABS, min)
    return {n: {t: float(pick.get(n, np.mean)(v)) for t, v in found.items()} for n, found in pooled.items()}


def fill(values: list[float], carry: bool) -> list[float]:
    """Forward, then backward (not urine); what is still missing gets the mean of what was seen."""
    s = pd.Series(values, dtype=float)
    mean = s.mean()
    if carry:
        s = s.ffill().bfill()
    return list(s.fillna(mean))


def moments(found: dict[str, dict[int, float]]) -> list[int]:
    """When one of the 13 series of Section 3, step 5, has a value: the GCS counts as the total, not by its parts."""
    return [t for name, values in found.items() if not name.startswith("gcs_") for t in values]


def hourly(
    found: dict[str, dict[int, float]], names: list[str], t0: int, end: int, first24: bool
) -> dict[str, list[float]]:
    """Binning and imputation of Section 6; nothing after `end` counts."""
    bins = max(1, math.ceil((end - t0) / HOUR))
    bins = min(bins, 24) if first24 else bins
    result = {}
    for name in names:
        inside: list[list[float]] = [[] for _ in range(bins)]
        for t, x in found.get(name, {}).items():
            if t > end:
                continue
            # Bins are closed at both ends: a time on an edge is in the bin that begins and the bin that ends there.
            for i in {(t - t0) // HOUR, -(-(t - t0) // HOUR) - 1}:
                if 0 <= i < bins:
                    inside[i].append(x)
        result[name] = fill([sum(v) / len(v) if v else math.nan for v in inside], carry=name != "urine")
    return result


def outcome(admissions: list[tuple], dod: int | None, death_time: str) -> int:
    """Section 4: when the patient died, or else left the hospital for the last time."""
    if dod is None:
        return max(left for _, _, left, _, _ in admissions)
    deaths = [death for _, _, _, death, _ in admissions if death is not None]
    return deaths[0] if deaths and death_time == "deathtime" else dod


def series_rows(found: dict, subject: int, intime: int, choices: dict) -> list[dict]:
    raw = choices["seq_features"] == "raw15"
    names = SERIES.split() if raw else ["gcs", *SERIES.split()[3:]]
    t0 = min(moments(found)) if choices["seq_start"] == "first_record" else intime
    end = max(moments(found)) if choices["seq_end"] == "hour24" else min(max(moments(found)), intime + DAY)
    bins = hourly(found, names, t0, end, choices["impute_window"] == "first24")
    if not raw:
        po2, fio2 = np.array(bins.pop("pao2")), np.array(bins.pop("fio2"))
        ratio = np.divide(po2, fio2, out=np.full(po2.size, math.nan), where=fio2 != 0)
        bins["pao2fio2"] = fill(list(ratio), carry=True)
    rows = []
    for hour in range(24):
        at = {name: values[min(hour, len(values) - 1)] for name, values in bins.items()}
        rows.append({"subject_id": subject, "hour": hour, **at})
    return rows


DEFAULTS = {"seq_features": "raw15", "impute_window": "full", "seq_start": "first_record", "origin": "intime"}
DEFAULTS |= {"death_time": "deathtime", "age_over_89": "keep", "min_age": 15.0, "seq_end": "hour24"}
DEFAULTS |= {"lost_admissions": "keep", "alive_by": "deathtime"}


def lost(tables: Tables, subject: int, hadm: int) -> bool:
    """An ICU stay without a GCS row, or without a listed laboratory value: its row has no time, the worker fails."""
    for intime, stay in tables.stays[(hadm,)]:
        coma_rows = [r for r in good(tables.chart[(stay,)]) if r[1] in VERBAL | MOTOR | EYES and r[0] >= intime]
        drawn = [t for t, item, _, x in tables.labs[(subject, hadm)] if item in LISTED and x is not None and x > 0]
        if not coma_rows or not any(t >= intime - 6 * HOUR for t in drawn):
            return True
    return False


def build(folder: Path, **options: str | float) -> Reference:
    """Cohort (Section 3), labels (4), columns (5) and series (6)."""
    choices = DEFAULTS | options
    tables = Tables(folder)
    counts, static, series = [len(tables.patients), 0, 0, 0, 0, 0], [], []
    for (subject,), [(dob, dod)] in sorted(tables.patients.items()):
        admissions = sorted(tables.admissions[(subject,)], key=lambda a: a[0])
        admitted, hadm, _, _, kind = admissions[0]
        if (admitted - dob) / DAY < choices["min_age"] * 365.25:
            continue
        counts[1] += 1
        found = timestamps(tables, subject, hadm) if tables.stays[(hadm,)] else {}
        times = moments(found)
        if not times:
            continue
        counts[2] += 1
        if choices["lost_admissions"] == "drop" and lost(tables, subject, hadm):
            continue
        counts[3] += 1
        if max(times) - min(times) <= DAY:
            continue
        counts[4] += 1
        intime, stay = min(tables.stays[(hadm,)])
        end = outcome(admissions, dod, choices["death_time"])
        deaths = [death for _, _, _, death, _ in admissions if death is not None]
        dead = end if choices["alive_by"] == "death" and dod is not None else min(deaths, default=math.inf)
        if dead - intime <= DAY or end <= (intime if choices["origin"] == "intime" else admitted):
            continue
        counts[5] += 1
        zero = intime if choices["origin"] == "intime" else admitted
        row = {"subject_id": subject, "hadm_id": hadm, "icustay_id": stay, "time": (end - zero) / YEAR}
        row |= {"event": int(dod is not None), **columns(tables, subject, hadm, kind, dob, intime, stay)}
        if choices["age_over_89"] == "91.4" and row["age"] > 89:
            row["age"] = 91.4
        static.append(row)
        series += series_rows(found, subject, intime, choices)
    keys = ["subject_id", "hadm_id", "icustay_id", "time", "event"]
    order = pd.DataFrame(static)[[*keys, *COLUMNS.split()]]
    return Reference(counts, order.astype(dict.fromkeys(COLUMNS.split(), float)), pd.DataFrame(series))
