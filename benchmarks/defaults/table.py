"""From the study's rows to the two tables of the documentation: what was tried, and what was confirmed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.defaults.sets import LOOKED_AT, SETS
from benchmarks.defaults.settings import TRIED

HEADINGS = {
    "model": "settings",
    "c_gain": "gain in C",
    "ibs_gain": "gain in IBS",
    "least": "least gain in C",
    "rank_by": "C + 3 IBS",
}


def paired(rows: pd.DataFrame) -> pd.DataFrame:
    """Each of SODEN's rows beside Cox's of the same split: what C gains and the integrated Brier score loses."""
    cox = rows[rows["model"] == "cox"][["set", "split", "c", "ibs"]]
    both = rows[rows["model"] != "cox"].merge(cox, on=["set", "split"], suffixes=("", "_cox"))
    return both.assign(c_gain=both["c"] - both["c_cox"], ibs_gain=both["ibs_cox"] - both["ibs"])


def chosen(rows: pd.DataFrame) -> pd.DataFrame:
    """The settings tried, best first: gains over Cox, averaged over sets, and the sum of both that ranks them."""
    both = paired(rows[rows["stage"] == "choose"])
    both = both[both["model"].isin(TRIED)]  # a few were dropped after a split, before anything was looked at
    means = both.groupby(["model", "set"], sort=False)[["c_gain", "ibs_gain", "seconds"]].mean()
    table = means.groupby("model", sort=False).mean()
    table["least"] = means.groupby("model", sort=False)["c_gain"].min()
    # IBS moves about a third as much as C does between models of these sets; weighed so, both count alike.
    table["rank_by"] = table["c_gain"] + 3 * table["ibs_gain"]
    table = table.sort_values("rank_by", ascending=False).round(4).reset_index()
    return table.rename(columns=HEADINGS)


def confirmed(rows: pd.DataFrame) -> pd.DataFrame:
    """Per set: the means of Cox, of the old and of the new defaults, and the gain in standard errors of its mean."""
    both = paired(rows[rows["stage"] == "confirm"])
    lines = []
    for name in SETS:
        new = both[(both["set"] == name) & (both["model"] == "defaults")]
        old = both[(both["set"] == name) & (both["model"] == "old")]
        if new.empty:
            continue
        line = {"set": name, "seen": "yes" if name in LOOKED_AT else "no", "rows": int(new["n"].iloc[0])}
        line |= {"splits": len(new)}
        for metric, label in (("c", "C"), ("ibs", "IBS")):
            gain = new[f"{metric}_gain"]
            line[f"{label}: Cox"] = round(new[f"{metric}_cox"].mean(), 4)
            line[f"{label}: old"] = round(old[metric].mean(), 4)
            line[f"{label}: SODEN"] = round(new[metric].mean(), 4)
            line[f"{label}: gain / s.e."] = round(gain.mean() / (gain.std(ddof=1) / np.sqrt(len(gain))), 1)
        lines.append(line | {"seconds": round(new["seconds"].median(), 1)})  # the first fit compiles
    return pd.DataFrame(lines)


def write(path: Path, folder: Path) -> None:
    """Both tables as CSV files, and on the screen."""
    rows = pd.read_csv(path)
    for name, table in (("chosen", chosen(rows)), ("confirmed", confirmed(rows))):
        # Scores and gains with four decimals, standard errors and seconds with one; no -0.0.
        digits = {c: 1 if "s.e." in c or c == "seconds" else 4 for c in table.select_dtypes("float")}
        texts = {c: [f"{value:z.{n}f}" for value in table[c]] for c, n in digits.items()}
        table.assign(**texts).to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")
        print(table.to_string(index=False))
