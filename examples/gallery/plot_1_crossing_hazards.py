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
X = pd.DataFrame(metabric.x, columns=metabric.columns)[["age", "ER_positive"]]
event, years = metabric.event, metabric.time * 365.25 / 12  # the file has months / 365.25
print(f"{len(X)} patients, {event.sum()} deaths, {int(X.ER_positive.sum())} with receptors")

# %%
# Both models, fitted to the same two features. The default decay is meant for many features and few patients; two
# features of 1,904 patients bear a weaker one, which rounds peaks off less.
soden = SODEN(weight_decay=1e-3).fit(X, years, event)
cox = CoxPHSurvivalAnalysis().fit(X, Surv.from_arrays(event, years))
print(soden.summary())

# %%
# What happened, without a model: deaths per person-year of patients between 50 and 70, in spans of time.
spans = np.array([0, 2, 4, 6, 9, 12, 16, 20])


def rate(receptors):
    """Deaths over years lived, span by span."""
    group = X["age"].between(50, 70) & (X["ER_positive"] == receptors)
    lived = [np.clip(years[group], a, b).sum() - a * group.sum() for a, b in pairwise(spans)]
    return np.histogram(years[group & event], spans)[0] / lived


# %%
# Two patients of 60, with and without receptors, over these steps. Cox's hazard is the slope of its cumulative hazard,
# smoothed over four years; its two curves are one curve times a number, so they cannot meet. SODEN's cross where the
# steps do, after about six years, and so do those of each of its five networks, whose range is the band.
patients = pd.DataFrame({"age": [60.0, 60.0], "ER_positive": [1.0, 0.0]}, index=["with receptors", "without"])
colours = "#0072B2", "#D55E00"
figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.4), sharex=True, sharey=True, layout="constrained")
soden.plot_hazard(patients, np.linspace(0, 20, 200), ax=left)
middle = np.linspace(2, 18, 100)
for f, colour in zip(cox.predict_cumulative_hazard_function(patients), colours, strict=True):
    right.plot(middle, (f(middle + 2) - f(middle - 2)) / 4, color=colour, linewidth=1.8)
for ax, title in ((left, "SODEN"), (right, "Cox")):
    for receptors, colour in zip((1, 0), colours, strict=True):
        ax.stairs(rate(receptors), spans, color=colour, baseline=None, alpha=0.45)
    ax.set(title=title, xlabel="years since diagnosis", xlim=(0, 20), xticks=range(0, 21, 5), ylim=(0, 0.13))
    ax.spines[["top", "right"]].set_visible(False)
left.set_ylabel("deaths per person and year")
right.legend(right.patches[:1], ["steps: as observed"], frameon=False, loc="upper left")
plt.show()
