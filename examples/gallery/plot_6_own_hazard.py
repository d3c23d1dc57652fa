"""
A hazard of your own: frailty
=============================

Some people are frailer than others for reasons nobody measured. Let the hazard of a person be z h0(t) exp(x beta),
with a gamma-distributed z of mean 1 and variance theta. Of those alive at a later time the frail are missing, so that
the hazard of the survivors is lower:

λ(t | x) = h0(t) exp(x beta) exp(-theta Λ(t | x))

It depends on Λ, as SODEN's hazards do, so that it is one class with one method. A Cox model without theta takes the
shrinking difference for a smaller effect.
"""

# %%
# 4,000 people with beta = 1, theta = 1 and the baseline exp(-1 + 0.2 t); all are watched for at most five years.
import matplotlib.pyplot as plt
import numpy as np
import torch

from soden import SODEN, SODENCox
from soden.hazard import Hazard

rng = np.random.default_rng(0)
n, beta, theta = 4000, 1.0, 1.0
X = rng.integers(0, 2, (n, 1)).astype(float)
z = rng.gamma(1 / theta, theta, n)
died = np.log1p(0.2 * rng.exponential(size=n) / (z * np.exp(-1 + beta * X[:, 0]))) / 0.2
time, event = np.minimum(died, 5), died < 5


class Frailty(Hazard):
    """exp(a + b t + x beta - theta Lambda), theta at least 0."""

    def __init__(self, encoder, width, layers):
        super().__init__(encoder, width, layers)
        self.a, self.b, self.log_theta = (torch.nn.Parameter(torch.zeros(())) for _ in range(3))
        self.beta = torch.nn.Parameter(torch.zeros(encoder.outputs))

    def forward(self, Lambda, t, encoded):
        """The population's hazard, as above."""
        return torch.exp(self.a + self.b * t + encoded @ self.beta - torch.exp(self.log_theta) * Lambda)


# %%
# Features stay as they are, so that beta is per unit of x, and nothing pulls the parameters towards 0. `t` is in years,
# because a hazard of your own runs on your own time.
options = {"n_models": 1, "standardise": False, "weight_decay": 0, "lr": 1e-2, "batch_size": 256, "patience": 20}
model = SODEN(hazard=Frailty, **options).fit(X, time, event)
net = model.models_[0].net
cox = SODENCox(**options).fit(X, time, event)
print(f"beta  {net.beta.item():.2f} with frailty, {cox.coef_[0]:.2f} without; in truth {beta}")
print(f"theta {net.log_theta.exp().item():.2f}; in truth {theta}")

# %%
# The ratio of the two hazards falls from exp(beta): the frail of the group at risk die first.
t = np.linspace(0, 5, 200)
figure, ax = plt.subplots(figsize=(5.5, 3.8), layout="constrained")
for fitted, colour, name in ((model, "#0072B2", "with frailty"), (cox, "#D55E00", "Cox")):
    low, high = fitted.predict_hazard([[0.0], [1.0]], t.clip(max=fitted.horizon_))
    ax.plot(t, high / low, color=colour, linewidth=1.8, label=name)
H0 = np.exp(-1) * np.expm1(0.2 * t) / 0.2
ax.plot(t, np.exp(beta) * (1 + theta * H0) / (1 + theta * H0 * np.exp(beta)), "k--", linewidth=0.8, label="truth")
ax.set(xlabel="years", ylabel="hazard ratio of the two groups", ylim=(1, None), xlim=(0, 5))
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
