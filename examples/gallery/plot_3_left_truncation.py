"""
Late entry: age as the clock
============================

The people of the FLCHAIN study came under observation at 50 or later. With age as the time, hardly anybody was watched
from the start: someone who entered at 70 says nothing of death before 70. `entry=` tells the likelihood so; without it,
all are taken to have been watched, and to have survived, since they were 50.
"""

# %%
# The clock starts at 50. Entry is the age at the blood sample, time the age at death or at the end of follow-up. Three
# people died on the day they came; since a time must lie after its entry, they are given half a day.
import matplotlib.pyplot as plt
import numpy as np
from lifelines import KaplanMeierFitter
from sksurv.datasets import load_flchain

from soden import SODEN

X, y = load_flchain()
entry = X["age"].to_numpy() - 50
time, event = entry + np.maximum(y["futime"], 0.5) / 365.25, y["death"]
man = (X[["sex"]] == "M").to_numpy(float)
right = SODEN().fit(man, time, event, entry=entry)
wrong = SODEN().fit(man, time, event)
print(f"{len(time)} people, {(entry > 0).sum()} of whom entered after 50; {event.sum()} deaths")

# %%
# What to compare with: Kaplan-Meier of the men with the same late entry, from lifelines.
men = man[:, 0] == 1
life_table = KaplanMeierFitter().fit(time[men], event[men], entry=entry[men])
t = np.linspace(0, 50, 200)
figure, ax = plt.subplots(figsize=(5.5, 3.8), layout="constrained")
ax.step(50 + t, life_table.survival_function_at_times(t), color="0.5", where="post", label="Kaplan-Meier with entry")
for model, colour, name in ((right, "#0072B2", "SODEN with entry"), (wrong, "#D55E00", "SODEN without")):
    ax.plot(50 + t, model.predict_survival([[1.0]], t)[0], color=colour, linewidth=1.8, label=name)
ax.set(xlabel="age", ylabel="alive, of men alive at 50", ylim=(0, 1.02), xlim=(50, 100))
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# A man of 70 sees 80 with probability S(80) / S(70), which `given=` computes. Scores need the entries, too, since a
# pair counts only if both were under observation: `right.score(man, time, event, entry=entry)`.
print(f"80, given 70: {right.predict_survival([[1.0]], [30.0], given=20.0)[0, 0]:.2f}")
