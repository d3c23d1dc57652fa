"""
Hazards that cross: what a Cox model cannot show
================================================

Of the 1,904 breast cancer patients of METABRIC, those whose tumour lacks oestrogen receptors die more often in the
first years and less often later. A Cox model has one hazard ratio for all times; SODEN has a hazard that may do as it
likes, and learns the crossing from the data.
"""

# %%
# The data: age and receptor status, times in years. The data set comes from a public source and stays in a cache.
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sksurv.linear_model import CoxPHSurvivalAnalysis
from sksurv.util import Surv

from benchmarks.data import load
from soden import SODEN

metabric = load("metabric")
frame = pd.DataFrame(metabric.x, columns=metabric.columns)
X = frame[["age", "ER_positive"]]
years = metabric.time * 365.25 / 12  # the file has months / 365.25
y = Surv.from_arrays(metabric.event, years)
print(f"{len(X)} patients, {metabric.event.sum()} deaths, {int(X.ER_positive.sum())} with receptors")

# %%
# Both models, fitted to the same two features.
soden = SODEN().fit(X, y)
cox = CoxPHSurvivalAnalysis().fit(X, y)
print(soden.summary())

# %%
# Two patients of 60, with and without receptors. Cox's hazard is the slope of its cumulative hazard, smoothed over two
# years; its two curves are the same curve times a number.
patients = pd.DataFrame({"age": [60.0, 60.0], "ER_positive": [1.0, 0.0]}, index=["with receptors", "without"])
t = np.linspace(0, 20, 200)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
soden.plot_hazard(patients, t, ax=left)
left.set(title="SODEN", xlabel="years since diagnosis", ylabel="deaths per person and year", ylim=(0, 0.12))
for f, colour in zip(cox.predict_cumulative_hazard_function(patients), ("#0072B2", "#D55E00"), strict=True):
    middle = np.linspace(1, 19, 100)
    right.plot(middle, (f(middle + 1) - f(middle - 1)) / 2, color=colour, linewidth=1.8)
right.set(title="Cox", xlabel="years since diagnosis", xlim=(0, 20))
right.spines[["top", "right"]].set_visible(False)

# %%
# What happened to all patients: deaths per person-year in spans of time, no model. The crossing is in the data.
edges = np.array([0, 2, 4, 6, 9, 12, 16, 20])
figure, ax = plt.subplots(figsize=(5.5, 3.8), layout="constrained")
for status, colour, name in ((1, "#0072B2", "with receptors"), (0, "#D55E00", "without")):
    group = (X["ER_positive"] == status).to_numpy()
    lived = [np.clip(years[group], a, b).sum() - a * group.sum() for a, b in pairwise(edges)]
    died = np.histogram(years[group & metabric.event], edges)[0]
    ax.stairs(died / lived, edges, color=colour, label=name, linewidth=1.8)
ax.set(xlabel="years since diagnosis", ylabel="deaths per person and year", ylim=(0, None))
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
