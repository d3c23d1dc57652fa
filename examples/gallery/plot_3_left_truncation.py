"""
Late entry: age as the clock
============================

The people of the FLCHAIN study came under observation at 50 or later. With age as the time, nobody was watched from
birth: someone who entered at 70 says nothing of death before 70. `entry=` tells the likelihood so; without it, all are
taken to have been watched, and to have survived, from age 0.
"""

# %%
# Entry is the age at the blood sample, time the age at death or at the end of follow-up.
import matplotlib.pyplot as plt
import numpy as np
from sksurv.datasets import load_flchain

from soden import SODEN

X, y = load_flchain()
known = y["futime"] > 0
entry = X["age"][known].to_numpy()
age = entry + y["futime"][known] / 365.25
event = y["death"][known]
X = (X[["sex"]][known] == "M").astype(float)
right = SODEN().fit(X.to_numpy(), age, event, entry=entry)
wrong = SODEN().fit(X.to_numpy(), age, event)

# %%
# The truth to compare with: Kaplan-Meier of the men with the same late entry, from lifelines. The curve starts at 50,
# since nobody was seen earlier; the models' curves are divided by their value there.
from lifelines import KaplanMeierFitter  # noqa: E402

man = (X["sex"] == 1).to_numpy()
life_table = KaplanMeierFitter().fit(age[man], event[man], entry=entry[man])
ages = np.linspace(50, 100, 200)
figure, ax = plt.subplots(figsize=(5.5, 3.8), layout="constrained")
S = life_table.survival_function_at_times(ages)
ax.step(ages, S / S.iloc[0], color="0.5", where="post", label="Kaplan-Meier with entry")
for model, colour, name in ((right, "#0072B2", "SODEN with entry"), (wrong, "#D55E00", "SODEN without")):
    S = model.predict_survival([[1.0]], ages)[0]
    ax.plot(ages, S / S[0], color=colour, linewidth=1.8, label=name)
ax.set(xlabel="age", ylabel="alive, of men alive at 50", ylim=(0, 1.02), xlim=(50, 100))
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Scores need the entries too: a pair counts only if both were under observation.
print(f"C = {right.score(X.to_numpy(), age, event, entry=entry):.3f}")
