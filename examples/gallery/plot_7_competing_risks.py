"""
Competing risks: relapse or death
=================================

After a bone marrow transplantation leukaemia may come back, or the patient may die without it. One model per cause,
fitted with the other cause as censored, gives its hazard. 1 minus the survival curve of such a model would be the
probability of relapse if nobody could die of anything else; :func:`soden.risks.incidence` puts the causes together.
"""

# %%
# 35 patients with two kinds of leukaemia; the status is 1 for a relapse, 2 for a death without, 0 if censored.
import matplotlib.pyplot as plt
import numpy as np
from sksurv.datasets import load_bmt
from sksurv.nonparametric import cumulative_incidence_competing_risks

from soden import SODENPH
from soden.risks import incidence

X, y = load_bmt()
X = X[["dis"]].astype(float)
status, months = y["status"], y["ftime"]
models = [SODENPH(n_models=10).fit(X, months, status == cause) for cause in (1, 2)]

# %%
# The mean incidences of all patients beside the Aalen-Johansen estimate (steps), which knows no features. Dotted is the
# mistake, 1 - S of the model of relapses.
t = np.linspace(0, 60, 200)
F = incidence(models, X, t).mean(axis=1)
when, estimate = cumulative_incidence_competing_risks(status, months)
figure, ax = plt.subplots(figsize=(5.5, 3.8), layout="constrained")
for cause, colour, name in ((1, "#0072B2", "relapse"), (2, "#D55E00", "death without relapse")):
    ax.plot(t, F[cause - 1], color=colour, linewidth=1.8, label=name)
    ax.step(when, estimate[cause], where="post", color=colour, linewidth=0.8, alpha=0.6)
naive = 1 - models[0].predict_survival(X, t).mean(axis=0)
ax.plot(t, naive, ":", color="#0072B2", label="1 - S of relapses: too much")
ax.set(xlabel="months", ylabel="probability", xlim=(0, 60), ylim=(0, 1))
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The causes and the survival without either add up to 1.
print(f"by 60 months: relapse {F[0, -1]:.2f}, death {F[1, -1]:.2f}, neither {1 - F[:, -1].sum():.2f}")
print(f"Aalen-Johansen: relapse {np.interp(60, when, estimate[1]):.2f}, death {np.interp(60, when, estimate[2]):.2f}")
