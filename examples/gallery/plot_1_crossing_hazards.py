"""
Hazards that cross: what a Cox model cannot show
================================================

Of 686 women with breast cancer of a German trial, those whose tumour has few oestrogen receptors see it come back more
often in the first years and less often later. A Cox model has one hazard ratio for all times; SODEN has a hazard that
may do as it likes, and learns the crossing from the data.
"""

# %%
# The data: age and receptors (10 fmol per mg or more), times in years.
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sksurv.datasets import load_gbsg2
from sksurv.linear_model import CoxPHSurvivalAnalysis
from sksurv.util import Surv

from soden import SODEN

women, y = load_gbsg2()
X = pd.DataFrame({"age": women["age"].astype(float), "receptors": (women["estrec"] >= 10).astype(float)})
event, years = y["cens"], y["time"] / 365.25
print(f"{len(X)} women, {event.sum()} recurrences, {int(X.receptors.sum())} with receptors")

# %%
# Both models, fitted to the same two features. The default decay is meant for many features and few patients; two
# features of 686 women bear a weaker one. On the default clock a hazard follows the steps of the data's own cumulative
# hazard: with these 299 events it is too jagged to show where two hazards cross. For the shape of a hazard take time
# itself; for risks the default is the better choice.
soden = SODEN(weight_decay=1e-3, time_scale="linear").fit(X, years, event)
cox = CoxPHSurvivalAnalysis().fit(X, Surv.from_arrays(event, years))
print(soden.summary())

# %%
# What happened, without a model: recurrences per person-year, in spans of time.
spans = np.array([0, 1, 2, 3, 4, 7])


def rate(receptors):
    """Recurrences over years without, span by span."""
    group = X["receptors"] == receptors
    lived = [np.clip(years[group], a, b).sum() - a * group.sum() for a, b in pairwise(spans)]
    return np.histogram(years[group & event], spans)[0] / lived


# %%
# Two women of 55, with and without receptors, over these steps. Cox's hazard is the slope of its cumulative hazard,
# smoothed over a year; its two curves are one curve times a number, so they cannot meet. SODEN's cross where the steps
# do, after about five years; the band is the range of its five networks.
patients = pd.DataFrame({"age": [55.0, 55.0], "receptors": [1.0, 0.0]}, index=["with receptors", "with few"])
colours = "#0072B2", "#D55E00"
figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.4), sharex=True, sharey=True, layout="constrained")
soden.plot_hazard(patients, np.linspace(0, 7, 200), ax=left)
middle = np.linspace(0.5, 6.2, 100)
for f, colour in zip(cox.predict_cumulative_hazard_function(patients), colours, strict=True):
    right.plot(middle, f(middle + 0.5) - f(middle - 0.5), color=colour, linewidth=1.8)
for ax, title in ((left, "SODEN"), (right, "Cox")):
    for receptors, colour in zip((1, 0), colours, strict=True):
        ax.stairs(rate(receptors), spans, color=colour, baseline=None, alpha=0.45)
    ax.set(title=title, xlabel="years since surgery", xlim=(0, 7), ylim=(0, 0.45))
    ax.spines[["top", "right"]].set_visible(False)
left.set_ylabel("recurrences per person and year")
right.legend(right.patches[:1], ["steps: as observed"], frameon=False, loc="upper left")
plt.show()
