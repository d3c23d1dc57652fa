"""
A hazard over time, and where the models agree on it
====================================================

A SODEN is five networks by default, trained from other weights on other parts of the rows. Their mean is the
prediction; where they part, the data say little. Here: 7,874 people of the FLCHAIN study, and their risk of dying over
13 years.
"""

# %%
# Age, sex and two free light chains of immunoglobulin in the blood, known for all. A quarter is kept for the end.
import matplotlib.pyplot as plt
import numpy as np
from sksurv.datasets import load_flchain

from soden import SODEN

X, y = load_flchain()
X = X[["age", "kappa", "lambda"]].assign(male=X["sex"] == "M").astype(float)
event, years = y["death"], y["futime"] / 365.25  # three people died on the day they came: times of 0 are fine
test = np.random.default_rng(0).random(len(X)) < 0.25
model = SODEN().fit(X[~test], years[~test], event[~test])
print(model.summary())

# %%
# Three women: two with the median amount of light chains, one with twice as much. The band is the range over the five
# networks: narrow where there are many like her, wide where there are few. It is no confidence interval: the networks
# share most of their rows, so they may agree and be wrong together.
people = X.median().to_frame().T.loc[[0, 0, 0]].assign(age=[60, 75, 75], male=0)
people.loc[:, ["kappa", "lambda"]] *= np.array([[1], [1], [2]])
people.index = ["60 years old", "75 years old", "75, twice the light chain"]
ax = model.plot_hazard(people, np.linspace(0, 13, 200))
ax.set(xlabel="years", ylabel="deaths per person and year")

# %%
# Are the curves right? For people not trained on, predictions against Kaplan-Meier in ten groups: on the line is right.
ax = model.plot_calibration(X[test], years[test], event[test], at=10)
plt.show()

# %%
# Order and curves in two numbers: concordance (1 is perfect, 1/2 is chance) and mean log-likelihood.
outcome = X[test], years[test], event[test]
print(f"C = {model.score(*outcome):.3f}, log-likelihood {model.log_likelihood(*outcome):.3f}")
print("expected years of the next 10, of the three women:", model.predict_expected(people, horizon=10).round(1))
