"""Invented laboratory values, blood gases, outputs and procedures."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.data.mimic3.synthesise.chart import HOUR, Ints, draw, grid, ids

VENOUS = {"po2": 45.0, "oxygen_saturation": 70.0}  # mean of venous samples
LONGEST = 14 * 24 * HOUR  # labs of the first two weeks; later ones would only lengthen the file


def _scatter(time: Ints, rng: np.random.Generator) -> Ints:
    return time + 60 * rng.integers(0, 50, time.size)


def labs(
    admissions: pd.DataFrame, stays: pd.DataFrame, windows: pd.DataFrame, items: pd.DataFrame, rng: np.random.Generator
) -> dict[str, Any]:
    """LABEVENTS columns; `admissions` has begin, end (seconds), acute, subject_id, hadm_id."""
    panel, gases = _panel(admissions, items, rng), _gases(stays, windows, items, rng)
    owner = admissions[["subject_id", "hadm_id"]]
    tested = [owner.iloc[panel.pop("row").to_numpy()].reset_index(drop=True).join(panel)]
    tested.append(stays[["subject_id", "hadm_id"]].iloc[gases.pop("row").to_numpy()].reset_index(drop=True).join(gases))
    d = pd.concat(tested, ignore_index=True)
    d["hadm_id"] = d["hadm_id"].astype(float)
    # Outpatient rows: the same person, days before, no admission; and a few in-hospital rows that lost theirs.
    outside = d.sample(frac=0.03, random_state=rng)
    outside = outside.assign(hadm_id=np.nan, time=outside["time"] - rng.integers(0, 20, len(outside)) * 24 * HOUR)
    absurd = d[d["num"].notna()].sample(frac=0.003, random_state=rng)
    absurd = absurd.assign(num=rng.choice([0.0, -2.0, 99_999.0], len(absurd)), text="")
    # Not in gases: the exponential of such a haemoglobin makes the original's SQL stop.
    of_gases = items.loc[items["kind"] == "gas", "metavision"]
    absurd["num"] = absurd["num"].where(~absurd["item"].isin(of_gases) | (absurd["num"] < 1), 0.0)
    refused = d[d["num"].notna()].sample(frac=0.003, random_state=rng).assign(num=np.nan, text="UNABLE TO REPORT")
    doubled = d[d["num"].notna()].sample(frac=0.01, random_state=rng)
    doubled = doubled.assign(num=np.round(doubled["num"] * 1.07, 2))
    d = pd.concat([d, outside, absurd, refused, doubled], ignore_index=True)
    d = d.sort_values(["subject_id", "time"], kind="stable", ignore_index=True)
    unit = items[items["table"] == "lab"].astype({"metavision": int}).set_index("metavision")["unit"]
    number = pa.array(d["num"].to_numpy(), from_pandas=True)
    return {
        "SUBJECT_ID": d["subject_id"].to_numpy(),
        "HADM_ID": d["hadm_id"].to_numpy(),
        "ITEMID": d["item"].to_numpy(),
        "CHARTTIME": d["time"].to_numpy().astype("datetime64[s]"),
        "VALUE": pc.if_else(pa.array(d["text"] == ""), pc.cast(number, pa.string()), pa.array(d["text"])),
        "VALUENUM": number,
        "VALUEUOM": d["item"].map(unit).to_numpy(),
        "FLAG": np.array([None, "abnormal"], dtype=object)[(rng.random(len(d)) < 0.35).astype(int)],
    }


def _panel(a: pd.DataFrame, items: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Chemistry and blood counts from the emergency room to the ward; log-normal, hence the items' log means."""
    begin, acute = a["begin"].to_numpy() - 2 * HOUR, a["acute"].to_numpy()
    end = np.minimum(a["end"].to_numpy(), begin + LONGEST)
    blocks, drawn = [], {}
    for _, item in items[items["kind"] == "panel"].iterrows():
        every = item["every_h"]
        if every not in drawn:  # one tube serves all items of a panel: their times tie
            i, t = grid(begin, end, every, 1.0, rng)
            drawn[every] = i, _scatter(t, rng)
        i, t = drawn[every]
        kept = rng.random(i.size) < item["keep"]
        value = draw(item, acute, i, rng)
        blocks.append(pd.DataFrame({"row": i, "item": int(item["metavision"]), "time": t, "num": value})[kept])
    return pd.concat(blocks, ignore_index=True).assign(text="")


def _gases(s: pd.DataFrame, windows: pd.DataFrame, items: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Blood gases: often while ventilated, sometimes else; a few are venous, a few do not say what they are."""
    specimen = int(items.set_index("signal").loc["specimen", "metavision"])
    begin, end, acute = s["begin"].to_numpy(), s["end"].to_numpy(), s["acute"].to_numpy()
    at = windows["stay"].to_numpy()
    i, t = grid(windows["begin"].to_numpy() - HOUR, windows["end"].to_numpy(), 5, 0.85, rng)
    some = np.flatnonzero(rng.random(begin.size) < 0.3)
    j, u = grid(begin[some] - 4 * HOUR, np.minimum(end[some], begin[some] + 48 * HOUR), 12, 0.7, rng)
    row, time = np.concatenate([at[i], some[j]]), _scatter(np.concatenate([t, u]), rng)
    k, ill = row.size, acute[row]
    kind = rng.choice(["ART", "VEN", "MIX", "CENTRAL VENOUS", ""], k, p=[0.86, 0.05, 0.03, 0.01, 0.05])
    venous = np.isin(kind, ["VEN", "MIX", "CENTRAL VENOUS"])
    gases, values = items[items["kind"] == "gas"], []
    for gas in gases.itertuples():
        mean = gas.mean + gas.slope * ill
        mean = np.where(venous, VENOUS[gas.signal], mean) if gas.signal in VENOUS else mean
        value = np.clip(mean + gas.within * rng.normal(size=k), gas.low, gas.high)
        values.append(np.round(value, int(gas.decimals)))
    said = kind != ""
    blocks = [pd.DataFrame({"row": row, "item": specimen, "time": time, "num": np.nan, "text": kind})[said]]
    for gas, value in zip(gases.itertuples(), values, strict=True):
        b = pd.DataFrame({"row": row, "item": int(gas.metavision), "time": time, "num": value, "text": ""})
        blocks.append(b[rng.random(k) < gas.keep])
    return pd.concat(blocks, ignore_index=True)


def outputs(stays: pd.DataFrame, items: pd.DataFrame, rng: np.random.Generator) -> dict[str, Any]:
    """OUTPUTEVENTS columns: urine and other outputs, irrigation in pairs, a few empty or orphaned rows."""
    begin, end, acute = stays["begin"].to_numpy(), stays["end"].to_numpy(), stays["acute"].to_numpy()
    carevue, blocks = stays["carevue"].to_numpy(), []
    mine = items[(items["table"] == "output") & (items["kind"] == "numeric")]
    for _, item in mine.iterrows():
        i, t = grid(begin, end, item["every_h"], item["keep"], rng)
        code = np.where(carevue[i], item["carevue"], item["metavision"]).astype(int)
        blocks.append(pd.DataFrame({"stay": i, "item": code, "time": t, "num": draw(item, acute, i, rng)}))
    item_of = items.set_index("signal")["metavision"]
    washed = np.flatnonzero(~carevue & (rng.random(begin.size) < 0.06))
    i, t = grid(begin[washed], end[washed], 4, 0.7, rng)
    for name, volume in (("irrigant_in", 3000.0), ("irrigant_out", 2950.0)):
        ml = volume + np.round(rng.normal(0, 100, i.size))
        blocks.append(pd.DataFrame({"stay": washed[i], "item": int(item_of[name]), "time": t, "num": ml}))
    d = pd.concat(blocks, ignore_index=True)
    twice = d.sample(frac=0.01, random_state=rng)
    d = pd.concat([d, twice], ignore_index=True).sort_values(["stay", "time"], kind="stable", ignore_index=True)
    i = d["stay"].to_numpy()
    return {
        **ids(stays, i, icustay_id=rng.random(i.size) < 0.003),
        "CHARTTIME": d["time"].to_numpy().astype("datetime64[s]"),
        "ITEMID": d["item"].to_numpy(),
        "VALUE": np.where(rng.random(i.size) < 0.003, np.nan, d["num"].to_numpy()),
        "VALUEUOM": np.where(carevue[i], "ml", "mL"),
        "STORETIME": (d["time"].to_numpy() + 1200).astype("datetime64[s]"),
        "CGID": 14000.0 + i % 6000,
        "ISERROR": np.where(~carevue[i] & (rng.random(i.size) < 0.002), 1.0, np.nan),
    }


def procedures(
    stays: pd.DataFrame, windows: pd.DataFrame, items: pd.DataFrame, rng: np.random.Generator
) -> dict[str, Any]:
    """PROCEDUREEVENTS_MV columns: MetaVision's extubations, and rows of no use here."""
    item_of = items[items["table"] == "procedure"].set_index("signal")["metavision"].astype(int)
    w = windows[~stays["carevue"].to_numpy()[windows["stay"]]]
    out = w[w["extubated"]]
    kinds = item_of[["extubation", "unplanned_extubation_patient", "unplanned_extubation_other"]].to_numpy()
    lines = np.flatnonzero(~stays["carevue"].to_numpy() & (rng.random(len(stays)) < 0.5))
    stay: Ints = np.concatenate([out["stay"], w["stay"], lines])
    start: Ints = np.concatenate([out["end"], w["begin"], stays["begin"].to_numpy()[lines] + HOUR]) // 60 * 60
    item = np.concatenate([
        rng.choice(kinds, len(out), p=[0.9, 0.06, 0.04]),
        np.full(len(w), item_of["invasive_ventilation"]),
        np.full(lines.size, item_of["arterial_line"]),
    ])  # fmt: skip
    span: npt.NDArray[np.int64] = np.where(item == item_of["extubation"], 60, 6 * HOUR)
    return {
        **ids(stays, stay),
        "STARTTIME": start.astype("datetime64[s]"),
        "ENDTIME": (start + span).astype("datetime64[s]"),
        "ITEMID": item,
        "VALUE": span / 60.0,
        "VALUEUOM": np.full(stay.size, "min"),
        "STORETIME": (start + span).astype("datetime64[s]"),
        "STATUSDESCRIPTION": np.full(stay.size, "FinishedRunning"),
    }
