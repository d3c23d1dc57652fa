"""Invented bedside charting: vitals, ventilation, GCS, and the rows nobody needs, with the tables' known quirks."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
HOUR = 3600
AS_NUMBER = "="  # stands for a VALUE that repeats VALUENUM

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


def ids(owners: pd.DataFrame, index: Ints, **lost: npt.NDArray[np.bool_]) -> dict[str, Any]:
    """The three ids of each row's stay; null where `lost`."""
    found = {name: owners[name].to_numpy()[index] for name in ("subject_id", "hadm_id", "icustay_id")}
    return {name.upper(): np.where(lost[name], np.nan, v) if name in lost else v for name, v in found.items()}


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
    blocks: list[pd.DataFrame] = []
    items = items[items["table"] == "chart"]
    for system in ("carevue", "metavision"):
        known = items[items[system].notna()].assign(id=items[system])
        _System(stays, windows, known.astype({"id": int}), system == "carevue", rng, blocks).chart()
    rows = pd.concat([*blocks, *_edges(blocks, stays, items, rng)], ignore_index=True)
    return _columns(rows.sort_values(["stay", "time"], kind="stable", ignore_index=True), stays, items, rng)


def _columns(rows: pd.DataFrame, stays: pd.DataFrame, items: pd.DataFrame, rng: np.random.Generator) -> dict[str, Any]:
    stay, time, text = (rows[c].to_numpy() for c in ("stay", "time", "text"))
    carevue, lost, n = stays["carevue"].to_numpy()[stay], rng.random(len(rows)), len(rows)
    number = pa.array(rows["num"].to_numpy(), from_pandas=True)
    units = items.melt(id_vars="unit", value_vars=["carevue", "metavision"], value_name="item").dropna(subset=["item"])
    unit = units.set_index(units["item"].astype(int))["unit"]
    return {
        **ids(stays, stay, hadm_id=lost < 0.001, icustay_id=lost < 0.003),
        "ITEMID": rows["item"].to_numpy(),
        "CHARTTIME": time.astype("datetime64[s]"),
        "STORETIME": (time + 60 * rng.integers(0, 90, n)).astype("datetime64[s]"),
        "CGID": 14000 + (stay * 7 + time // (12 * HOUR)) % 6000,  # a shift of twelve hours has one nurse
        "VALUE": pc.if_else(text == AS_NUMBER, pc.cast(number, pa.string()), pa.array(text, pa.string())),
        "VALUENUM": number,
        "VALUEUOM": rows["item"].map(unit[~unit.index.duplicated()]).to_numpy(),
        "WARNING": np.where(carevue, np.nan, 0.0),
        "ERROR": np.where(carevue, np.nan, rows["error"].to_numpy()),
        "STOPPED": pa.array(["NotStopd", None]).take(pa.array(np.where(carevue, 0, 1))),
    }


def _block(stay: Ints, item: Ints | int, time: Ints, num: Any, text: Any) -> pd.DataFrame:
    """Charted rows; scalars are spread over them."""
    return pd.DataFrame({"stay": stay, "item": item, "time": time, "num": num, "text": text, "error": 0})


@dataclass
class _System:
    """One of the two charting systems: its stays and items; what is charted goes to `blocks`."""

    stays: pd.DataFrame
    windows: pd.DataFrame
    items: pd.DataFrame
    carevue: bool
    rng: np.random.Generator
    blocks: list[pd.DataFrame]

    def __post_init__(self) -> None:
        self.mine = np.flatnonzero(self.stays["carevue"].to_numpy() == self.carevue)
        self.begin, self.end, self.acute = (self.stays[c].to_numpy()[self.mine] for c in ("begin", "end", "acute"))
        self.id = self.items.set_index("signal")["id"].to_dict()

    def words(self, texts: str) -> npt.NDArray[Any]:
        """The texts of a name of TEXTS, or those given with | between them."""
        return np.array(TEXTS.get(texts, (texts, texts))[not self.carevue].split("|"), dtype=object)

    def add(self, stay: Ints, item: Ints | str, time: Ints, num: Any, text: Any = AS_NUMBER) -> None:
        """Chart an item, by its signal or the numbers of several."""
        self.blocks.append(_block(stay, self.id[item] if isinstance(item, str) else item, time, num, text))

    def chart(self) -> None:
        """All rows of this system's stays."""
        rng, level = self.rng, self.stays["acute"].to_numpy()
        for _, item in self.items[self.items["kind"].isin(["numeric", "text"])].iterrows():
            i, t = grid(self.begin, self.end, item["every_h"], item["keep"], rng)
            if item["kind"] == "numeric":
                self.add(self.mine[i], item["signal"], t, draw(item, self.acute, i, rng))
            else:
                words = self.words(item["texts"])
                # One text is usual and the others are rare, as in hourly charting by habit.
                usual = words[np.minimum(rng.geometric(0.7, i.size), words.size) - 1]
                self.add(self.mine[i], item["signal"], t, np.nan, usual)
        w = self.windows[np.isin(self.windows["stay"], self.mine)]
        at, begin, end = (w[c].to_numpy() for c in ("stay", "begin", "end"))
        for _, item in self.items[self.items["kind"] == "vent"].iterrows():
            i, t = grid(begin, end, item["every_h"], item["keep"], rng)
            self.add(at[i], item["signal"], t, draw(item, level[at], i, rng))
        self._temperature()
        self._coma()
        self._breathing()
        self._machine(w, level)

    def _temperature(self) -> None:
        """Fahrenheit in most stays, Celsius in some, both at the same minute in a few."""
        rng, n = self.rng, self.mine.size
        level = 36.9 + 0.25 * self.acute + 0.3 * rng.normal(size=n)
        unit = rng.random(n)
        i, t = grid(self.begin, self.end, 4, 0.9, rng)
        celsius = level[i] + 0.35 * rng.normal(size=i.size)
        for name, chosen, value in (("temp_f", unit < 0.8, celsius * 1.8 + 32), ("temp_c", unit > 0.72, celsius)):
            shown = chosen[i]
            self.add(self.mine[i][shown], name, t[shown], np.round(value[shown], 1))

    def _coma(self) -> None:
        """GCS every 4 h; verbal is not assessable through a tube; now and then a part is missing, or empty."""
        rng = self.rng
        i, t = grid(self.begin, self.end, 4, 0.9, rng)
        tube = inside(self.windows, self.mine[i], t)
        depth = np.maximum(0, self.acute + 0.5 * rng.normal(size=self.mine.size))[i]
        depth = depth + 0.3 * rng.normal(size=i.size) + 0.5 * tube
        for name, top in (("gcs_verbal", 5), ("gcs_motor", 6), ("gcs_eyes", 4)):
            words = self.words(name)
            score = np.clip(np.round(top - 0.22 * top * depth), 1, top).astype(np.int64)
            text = words[score - 1]
            if name == "gcs_verbal":
                text, score = np.where(tube, words[5], text), np.where(tube, 1, score)
            empty = rng.random(i.size) < 0.004
            shown = rng.random(i.size) < 0.93
            num, text = np.where(empty, np.nan, score), np.where(empty, None, text)
            self.add(self.mine[i][shown], name, t[shown], num[shown], text[shown])

    def _breathing(self) -> None:
        """The oxygen device every 4 h: a tube in the windows, a mask for some, else what frees from the ventilator."""
        rng = self.rng
        i, t = grid(self.begin, self.end, 4, 0.8, rng)
        tube = inside(self.windows, self.mine[i], t)
        masked = (rng.random(self.mine.size) < 0.08)[i] & ~tube & (t < self.begin[i] + 20 * HOUR)
        devices = self.words("oxygen")
        rare = np.full(devices.size - 3, 0.28 / (devices.size - 3))
        text = rng.choice(devices, i.size, p=[0.5, 0.2, *rare, 0.02])
        text = np.where(masked, rng.choice(self.words("mask"), i.size), text)
        text = np.where(tube, self.words("tube")[0], text)
        item = np.full(i.size, self.id["o2_device"])
        if self.carevue:
            item = np.where(masked & (rng.random(i.size) < 0.3), self.id["o2_device_2"], item)
            speech = np.where(tube, "Intubated/trach", rng.choice(self.words("Normal|Garbled"), i.size))
            self.add(self.mine[i], "speech", t, np.nan, speech)
        self.add(self.mine[i], item, t, np.nan, text)

    def _machine(self, w: pd.DataFrame, level: Floats) -> None:
        """Ventilator mode, inspired oxygen in each unit that is met, and CareVue's extubations."""
        rng = self.rng
        at, begin, end = (w[c].to_numpy() for c in ("stay", "begin", "end"))
        i, t = grid(begin, end, 3, 0.85, rng)
        self.add(at[i], "vent_mode", t, np.nan, rng.choice(self.words("mode"), i.size, p=[0.6, 0.3, 0.07, 0.03]))
        i, t = grid(begin, end, 3, 0.9, rng)
        fraction = np.clip(np.round((0.45 + 0.09 * level[at[i]] + 0.08 * rng.normal(size=i.size)) * 20) / 20, 0.2, 1.0)
        fraction = np.where(rng.random(i.size) < 0.06, 1.0, fraction)  # all of it, for a procedure
        u = rng.random(i.size)
        if self.carevue:
            item = np.select([u < 0.65, u < 0.9], [self.id["fio2"], self.id["fio2_meas"]], self.id["fio2_other"])
            self.add(at[i], item, t, np.where(u < 0.65, np.round(fraction, 2), np.round(100 * fraction)))
            out = w[w["extubated"]]
            text = rng.choice(self.words("Extubated|Self Extubation|Fluid Bolus"), len(out), p=[0.8, 0.1, 0.1])
            time = out["end"].to_numpy() // 60 * 60 + 900
            self.add(out["stay"].to_numpy(), "significant_events", time, np.nan, text)
        else:
            self.add(at[i], "fio2", t, np.select([u < 0.88, u < 0.95], [np.round(100 * fraction), fraction], 10.0))
            self.add(at, "vent_type", begin // 60 * 60, np.nan, rng.choice(self.words("Drager|Other"), at.size))


def _edges(
    blocks: list[pd.DataFrame], stays: pd.DataFrame, items: pd.DataFrame, rng: np.random.Generator
) -> list[pd.DataFrame]:
    """Heart rates exactly at INTIME, at INTIME + 24 h and just outside; errors, implausible values, doubled rows."""
    both = items.set_index("signal").loc["heart_rate", ["carevue", "metavision"]].astype(int)
    heart = np.where(stays["carevue"], both["carevue"], both["metavision"])
    begin, edges = stays["begin"].to_numpy(), []
    for offset in (0, 24 * HOUR, -600, 24 * HOUR + 60):
        i = np.flatnonzero(rng.random(begin.size) < 0.15)
        edges.append(_block(i, heart[i], begin[i] + offset, np.round(rng.uniform(40, 170, i.size)), AS_NUMBER))
    numeric = items.loc[items["kind"] == "numeric", ["carevue", "metavision"]].to_numpy().ravel()
    charted = pd.concat([*blocks, *edges], ignore_index=True)
    charted = charted[charted["item"].isin(numeric[~np.isnan(numeric)])]
    system = stays["carevue"].to_numpy()[charted["stay"]]
    wrong = charted[~system].sample(frac=0.01, random_state=rng)
    wrong = wrong.assign(num=np.round(wrong["num"] * rng.choice([0.4, 1.7], len(wrong))), error=1)
    absurd = charted.sample(frac=0.003, random_state=rng)
    absurd = absurd.assign(num=rng.choice([0.0, -1.0, 999.0, 10_000.0], len(absurd)))
    doubled = charted.sample(frac=0.01, random_state=rng)
    doubled = doubled.assign(num=doubled["num"] + 3)
    blank = charted[system].sample(frac=0.003, random_state=rng).assign(num=np.nan, text=None)
    return [*edges, wrong, absurd, doubled, blank]
