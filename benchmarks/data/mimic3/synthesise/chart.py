"""Invented bedside charting: vitals, ventilation, GCS, and the rows nobody needs, with the tables' known quirks."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
HOUR = 3600
AS_NUMBER, EMPTY = -1, -2  # text codes: VALUE repeats VALUENUM; VALUE is null

# Texts by system, CareVue first: those of facts/texts.csv, where they mean anything. Some carry the trailing blank of
# the real tables; "None" is a word, not a null.
TEXTS = {
    "gcs_verbal": (
        "1 No Response|2 Incomp sounds|3 Inapprop words|4 Confused|5 Oriented|1.0 ET/Trach",
        "No Response|Incomprehensible sounds|Inappropriate Words|Confused|Oriented|No Response-ETT",
    ),
    "gcs_motor": (
        "1 No Response|2 Abnorm extensn|3 Abnorm flexion|4 Flex-withdraws|5 Localizes Pain|6 Obeys Commands",
        "No response|Abnormal extension|Abnormal Flexion|Flex-withdraws|Localizes Pain|Obeys Commands",
    ),
    "gcs_eyes": ("1 No Response|2 To pain|3 To speech|4 Spontaneously", "None|To Pain|To Speech|Spontaneously"),
    "oxygen": (
        "Nasal Cannula|None|Face Tent|Aerosol-Cool|Trach Mask |Hi Flow Neb|Non-Rebreather|Cannula|Venti Mask"
        "|Medium Conc Mask|Vapotherm|T-Piece|Hood|Hut|TranstrachealCat|Heated Neb|Ultrasonic Neb|Other/Remarks",
        "Nasal cannula|None|Face tent|Aerosol-cool|Trach mask |High flow neb|T-piece|Non-rebreather|Venti mask"
        "|Medium conc mask|High flow nasal cannula|Ultrasonic neb|Vapomist|Other",
    ),
    "mask": ("Bipap Mask|CPAP Mask ", "Bipap mask |CPAP mask "),
    "mode": ("Assist Control|CPAP+PS|SIMV+PS|Other/Remarks", "CMV/ASSIST|CPAP/PSV|MMV/PSV/AutoFlow|Standby"),
    "tube": ("Ventilator", "Endotracheal tube"),
}


@dataclass
class Rows:
    """Blocks of charted rows; texts are codes into one vocabulary, so a row is five numbers."""

    words: dict[str, int] = field(default_factory=dict)
    blocks: list[pd.DataFrame] = field(default_factory=list)

    def code(self, texts: str) -> Ints:
        """Numbers that stand for these texts, given with | between them."""
        return np.array([self.words.setdefault(t, len(self.words)) for t in texts.split("|")], dtype=np.int64)

    def codes(self, name: str, carevue: bool) -> Ints:
        """Numbers that stand for one system's texts of this name."""
        return self.code(TEXTS[name][0 if carevue else 1])

    def add(self, stay: Ints, item: Ints | int, time: Ints, num: Floats | float, text: Ints | int) -> None:
        """Take one block; scalars are spread over the rows."""
        columns = {"stay": stay, "item": item, "time": time, "num": num, "text": text, "error": 0}
        self.blocks.append(pd.DataFrame(columns))

    def frame(self) -> pd.DataFrame:
        """All rows, stay by stay in order of time."""
        return pd.concat(self.blocks, ignore_index=True).sort_values(["stay", "time"], kind="stable", ignore_index=True)


def grid(begin: Ints, end: Ints, every_h: float, keep: float, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Index and time of charting about every `every_h` hours: mostly on the hour, so that times tie across items."""
    step = int(every_h * HOUR)
    start = -(-begin // HOUR) * HOUR + rng.integers(0, max(1, int(every_h)), begin.size) * HOUR
    count = np.maximum(0, (end - start) // step + 1)
    index = np.repeat(np.arange(begin.size), count)
    slot = np.arange(index.size) - np.repeat(np.cumsum(count) - count, count)
    time = start[index] + slot * step
    time = time + np.where(rng.random(time.size) < 0.08, 60 * rng.integers(1, 59, time.size), 0)
    kept = (rng.random(time.size) < keep) & (time <= end[index])
    return index[kept], time[kept]


def draw(item: pd.Series, acute: Floats, index: Ints, rng: np.random.Generator) -> Floats:
    """Values of one item: a level per stay that moves with the illness, and noise around it."""
    level = item["mean"] + item["slope"] * acute + item["between"] * rng.normal(size=acute.size)
    value = level[index] + item["within"] * rng.normal(size=index.size)
    value = np.exp(value) if item["kind"] == "panel" else value  # laboratory values are log-normal
    return np.asarray(np.round(np.clip(value, item["low"], item["high"]), int(item["decimals"])))


def ventilation(begin: Ints, end: Ints, acute: Floats, rng: np.random.Generator) -> pd.DataFrame:
    """Windows of mechanical ventilation; some stays have a second one, after a gap around the 8 h of the rule."""
    stay = np.flatnonzero(rng.random(begin.size) < 1 / (1 + np.exp(0.5 - 1.1 * acute)))
    start = begin[stay] + rng.integers(0, 3 * HOUR, stay.size)
    stop = np.minimum(end[stay], start + rng.exponential(28 * HOUR, stay.size).astype(np.int64) + HOUR)
    first = pd.DataFrame({"stay": stay, "begin": start, "end": stop})
    again = first[rng.random(len(first)) < 0.3].copy()
    again["begin"] = again["end"] + rng.integers(5 * HOUR, 14 * HOUR, len(again))
    again["end"] = np.minimum(end[again["stay"]], again["begin"] + rng.integers(2 * HOUR, 20 * HOUR, len(again)))
    w = pd.concat([first, again[again["begin"] < again["end"]]], ignore_index=True)
    w["extubated"] = rng.random(len(w)) < 0.6
    return w


def inside(windows: pd.DataFrame, stay: Ints, time: Ints) -> npt.NDArray[np.bool_]:
    """Whether each (stay, time) lies in a window of its stay; a stay has at most two."""
    result = np.zeros(stay.size, dtype=bool)
    for _, group in windows.groupby(windows.groupby("stay").cumcount()):
        w = group.set_index("stay")[["begin", "end"]].reindex(stay).to_numpy()
        result |= (time >= w[:, 0]) & (time <= w[:, 1])
    return result


def chart_rows(
    stays: pd.DataFrame, windows: pd.DataFrame, items: pd.DataFrame, rng: np.random.Generator
) -> dict[str, Any]:
    """CHARTEVENTS columns of all stays; `stays` has begin, end (seconds), acute and carevue."""
    rows, mine = Rows(), items[items["table"] == "chart"]
    for carevue in (True, False):
        _one_system(rows, stays, windows, mine, carevue, rng)
    _edges(rows, stays, mine, rng)
    return _columns(rows, stays, mine, rng)


def _columns(rows: Rows, stays: pd.DataFrame, items: pd.DataFrame, rng: np.random.Generator) -> dict[str, Any]:
    base = rows.frame()
    stay, time, num, text = (base[c].to_numpy() for c in ("stay", "time", "num", "text"))
    carevue, lost, n = stays["carevue"].to_numpy()[stay], rng.random(len(base)), len(base)
    number = pa.array(num, from_pandas=True)
    word = pa.array(list(rows.words)).take(pa.array(np.maximum(text, 0), mask=text < 0))
    units = items.melt(id_vars="unit", value_vars=["carevue", "metavision"], value_name="item").dropna(subset=["item"])
    unit = units.set_index(units["item"].astype(int))["unit"]
    return {
        "SUBJECT_ID": stays["subject_id"].to_numpy()[stay],
        "HADM_ID": np.where(lost < 0.001, np.nan, stays["hadm_id"].to_numpy()[stay]),
        "ICUSTAY_ID": np.where(lost < 0.003, np.nan, stays["icustay_id"].to_numpy()[stay]),
        "ITEMID": base["item"].to_numpy(),
        "CHARTTIME": time.astype("datetime64[s]"),
        "STORETIME": (time + 60 * rng.integers(0, 90, n)).astype("datetime64[s]"),
        "CGID": 14000 + (stay * 7 + time // (12 * HOUR)) % 6000,  # a shift of twelve hours has one nurse
        "VALUE": pc.if_else(pa.array(text == AS_NUMBER), pc.cast(number, pa.string()), word),
        "VALUENUM": number,
        "VALUEUOM": base["item"].map(unit[~unit.index.duplicated()]).to_numpy(),
        "WARNING": np.where(carevue, np.nan, 0.0),
        "ERROR": np.where(carevue, np.nan, base["error"].to_numpy()),
        "STOPPED": pa.array(["NotStopd", None]).take(pa.array(np.where(carevue, 0, 1))),
    }


def _one_system(
    rows: Rows, stays: pd.DataFrame, windows: pd.DataFrame, items: pd.DataFrame, carevue: bool, rng: np.random.Generator
) -> None:
    stay_rows = np.flatnonzero(stays["carevue"].to_numpy() == carevue)
    begin, end, acute = (stays[c].to_numpy()[stay_rows] for c in ("begin", "end", "acute"))
    column = "carevue" if carevue else "metavision"
    system_items = items[items[column].notna()].assign(id=lambda d: d[column].astype(int))
    for _, item in system_items[system_items["kind"].isin(["numeric", "text"])].iterrows():
        i, t = grid(begin, end, item["every_h"], item["keep"], rng)
        if item["kind"] == "numeric":
            rows.add(stay_rows[i], item["id"], t, draw(item, acute, i, rng), AS_NUMBER)
        else:
            words = rows.code(item["texts"])
            # One text is usual and the others are rare, as in hourly charting by habit.
            rows.add(stay_rows[i], item["id"], t, np.nan, words[np.minimum(rng.geometric(0.7, i.size), words.size) - 1])
    w = windows[np.isin(windows["stay"], stay_rows)]
    at, level = w["stay"].to_numpy(), stays["acute"].to_numpy()
    for _, item in system_items[system_items["kind"] == "vent"].iterrows():
        i, t = grid(w["begin"].to_numpy(), w["end"].to_numpy(), item["every_h"], item["keep"], rng)
        rows.add(at[i], item["id"], t, draw(item, level[at], i, rng), AS_NUMBER)
    ids = system_items.set_index("signal")["id"].to_dict()
    _temperature(rows, stay_rows, begin, end, acute, ids, rng)
    _coma(rows, stay_rows, begin, end, acute, windows, ids, carevue, rng)
    _breathing(rows, stay_rows, begin, end, windows, ids, carevue, rng)
    _machine(rows, w, level, ids, carevue, rng)


def _temperature(
    rows: Rows, stay_rows: Ints, begin: Ints, end: Ints, acute: Floats, ids: dict[str, int], rng: np.random.Generator
) -> None:
    """Fahrenheit in most stays, Celsius in some, both at the same minute in a few."""
    level = 36.9 + 0.25 * acute + 0.3 * rng.normal(size=stay_rows.size)
    unit = rng.random(stay_rows.size)
    i, t = grid(begin, end, 4, 0.9, rng)
    celsius = level[i] + 0.35 * rng.normal(size=i.size)
    for name, chosen, value in (("temp_f", unit < 0.8, celsius * 1.8 + 32), ("temp_c", unit > 0.72, celsius)):
        shown = chosen[i]
        rows.add(stay_rows[i][shown], ids[name], t[shown], np.round(value[shown], 1), AS_NUMBER)


def _coma(
    rows: Rows, stay_rows: Ints, begin: Ints, end: Ints, acute: Floats, windows: pd.DataFrame, ids: dict[str, int],
    carevue: bool, rng: np.random.Generator,
) -> None:  # fmt: skip
    """GCS every 4 h; verbal is not assessable through a tube; now and then a part is missing, or empty."""
    i, t = grid(begin, end, 4, 0.9, rng)
    tube = inside(windows, stay_rows[i], t)
    depth = np.maximum(0, acute + 0.5 * rng.normal(size=stay_rows.size))[i] + 0.3 * rng.normal(size=i.size) + 0.5 * tube
    for name, top in (("gcs_verbal", 5), ("gcs_motor", 6), ("gcs_eyes", 4)):
        codes = rows.codes(name, carevue)
        score = np.clip(np.round(top - 0.22 * top * depth), 1, top).astype(np.int64)
        code = codes[score - 1]
        if name == "gcs_verbal":
            code, score = np.where(tube, codes[5], code), np.where(tube, 1, score)
        empty = rng.random(i.size) < 0.004
        shown = rng.random(i.size) < 0.93
        num, code = np.where(empty, np.nan, score), np.where(empty, EMPTY, code)
        rows.add(stay_rows[i][shown], ids[name], t[shown], num[shown], code[shown])


def _breathing(
    rows: Rows, stay_rows: Ints, begin: Ints, end: Ints, windows: pd.DataFrame, ids: dict[str, int], carevue: bool,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    """The oxygen device every 4 h: a tube in the windows, a mask for some, else what frees from the ventilator."""
    i, t = grid(begin, end, 4, 0.8, rng)
    tube = inside(windows, stay_rows[i], t)
    masked = (rng.random(stay_rows.size) < 0.08)[i] & ~tube & (t < begin[i] + 20 * HOUR)
    devices = rows.codes("oxygen", carevue)
    rare = np.full(devices.size - 3, 0.28 / (devices.size - 3))
    code = rng.choice(devices, i.size, p=[0.5, 0.2, *rare, 0.02])
    code = np.where(masked, rng.choice(rows.codes("mask", carevue), i.size), code)
    code = np.where(tube, rows.codes("tube", carevue)[0], code)
    item = np.full(i.size, ids["o2_device"])
    if carevue:
        item = np.where(masked & (rng.random(i.size) < 0.3), ids["o2_device_2"], item)
        talk = rows.code("Intubated/trach|Normal|Garbled")
        rows.add(stay_rows[i], ids["speech"], t, np.nan, np.where(tube, talk[0], rng.choice(talk[1:], i.size)))
    rows.add(stay_rows[i], item, t, np.nan, code)


def _machine(
    rows: Rows, w: pd.DataFrame, level: Floats, ids: dict[str, int], carevue: bool, rng: np.random.Generator
) -> None:
    """Ventilator mode, inspired oxygen in each unit that is met, and CareVue's extubations."""
    at, begin, end = (w[c].to_numpy() for c in ("stay", "begin", "end"))
    i, t = grid(begin, end, 3, 0.85, rng)
    mode = rng.choice(rows.codes("mode", carevue), i.size, p=[0.6, 0.3, 0.07, 0.03])
    rows.add(at[i], ids["vent_mode"], t, np.nan, mode)
    i, t = grid(begin, end, 3, 0.9, rng)
    fraction = np.clip(np.round((0.45 + 0.09 * level[at[i]] + 0.08 * rng.normal(size=i.size)) * 20) / 20, 0.2, 1.0)
    fraction = np.where(rng.random(i.size) < 0.06, 1.0, fraction)  # all of it, for a procedure
    u = rng.random(i.size)
    if carevue:
        item = np.select([u < 0.65, u < 0.9], [ids["fio2"], ids["fio2_meas"]], ids["fio2_other"])
        rows.add(at[i], item, t, np.where(u < 0.65, np.round(fraction, 2), np.round(100 * fraction)), AS_NUMBER)
        out = w[w["extubated"]]
        code = rng.choice(rows.code("Extubated|Self Extubation|Fluid Bolus"), len(out), p=[0.8, 0.1, 0.1])
        time = out["end"].to_numpy() // 60 * 60 + 900
        rows.add(out["stay"].to_numpy(), ids["significant_events"], time, np.nan, code)
    else:
        num = np.select([u < 0.88, u < 0.95], [np.round(100 * fraction), fraction], 10.0)
        rows.add(at[i], ids["fio2"], t, num, AS_NUMBER)
        rows.add(at, ids["vent_type"], begin // 60 * 60, np.nan, rng.choice(rows.code("Drager|Other"), at.size))


def _edges(rows: Rows, stays: pd.DataFrame, items: pd.DataFrame, rng: np.random.Generator) -> None:
    """Heart rates exactly at INTIME, at INTIME + 24 h and just outside; errors, implausible values, doubled rows."""
    both = items.set_index("signal").loc["heart_rate", ["carevue", "metavision"]].astype(int)
    heart = np.where(stays["carevue"], both["carevue"], both["metavision"])
    begin = stays["begin"].to_numpy()
    for offset in (0, 24 * HOUR, -600, 24 * HOUR + 60):
        i = np.flatnonzero(rng.random(begin.size) < 0.15)
        rows.add(i, heart[i], begin[i] + offset, np.round(rng.uniform(40, 170, i.size)), AS_NUMBER)
    numeric = items.loc[items["kind"] == "numeric", ["carevue", "metavision"]].to_numpy().ravel()
    charted = pd.concat(rows.blocks, ignore_index=True)
    charted = charted[charted["item"].isin(numeric[~np.isnan(numeric)])]
    system = stays["carevue"].to_numpy()
    wrong = charted[~system[charted["stay"]]].sample(frac=0.01, random_state=rng)
    rows.blocks.append(wrong.assign(num=np.round(wrong["num"] * rng.choice([0.4, 1.7], len(wrong))), error=1))
    absurd = charted.sample(frac=0.003, random_state=rng)
    rows.blocks.append(absurd.assign(num=rng.choice([0.0, -1.0, 999.0, 10_000.0], len(absurd))))
    doubled = charted.sample(frac=0.01, random_state=rng)
    rows.blocks.append(doubled.assign(num=doubled["num"] + 3))
    blank = charted[system[charted["stay"]]].sample(frac=0.003, random_state=rng)
    rows.blocks.append(blank.assign(num=np.nan, text=EMPTY))
