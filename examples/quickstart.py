"""Fit SODEN to 5,906 people of the FLCHAIN study and look at the curves it predicts (half a minute on one core).

python examples/quickstart.py --out library.png
"""

from __future__ import annotations

import argparse
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sksurv.datasets import load_flchain
from sksurv.nonparametric import kaplan_meier_estimator

from soden import SODEN

YEAR = 365.25
GROUPS = {"50 to 59": (50, 60), "60 to 74": (60, 75), "75 and older": (75, 120)}
COLOURS = ("#0072B2", "#E69F00", "#CC3311")


def load(rows: int | None, seed: int = 0) -> tuple[Any, Any, Any, Any]:
    """Features (age, sex, two free light chains) and outcomes in days, one quarter held out."""
    X, y = load_flchain()
    X = X[["age", "kappa", "lambda"]].assign(female=X["sex"] == "F")
    order = np.random.default_rng(seed).permutation(len(X))[:rows]
    test, train = np.split(order, [len(order) // 4])
    return X.iloc[train], y[train], X.iloc[test], y[test]


def draw(model: SODEN, X: Any, y: Any, path: str) -> None:
    """Three people's survival and hazard; mean predictions against Kaplan-Meier for people not trained on."""
    t = np.linspace(0, min(13 * YEAR, model.horizon_), 200)
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    people = X.iloc[[np.abs(X["age"] - age).argmin() for age in (55, 68, 82)]]
    S, hazard = model.predict_survival(people, t), model.predict_hazard(people, t)
    for i, colour in enumerate(COLOURS):
        left.plot(t / YEAR, S[i], color=colour, label=f"aged {people['age'].iloc[i]:.0f}")
        middle.plot(t / YEAR, hazard[i] * YEAR, color=colour)
    for (name, (low, high)), colour in zip(GROUPS.items(), COLOURS, strict=True):
        group = ((X["age"] >= low) & (X["age"] < high)).to_numpy()
        right.plot(t / YEAR, model.predict_survival(X[group], t).mean(axis=0), color=colour, label=name)
        when, observed = kaplan_meier_estimator(y["death"][group], y["futime"][group])
        right.step(when / YEAR, observed, where="post", color=colour, alpha=0.5, linewidth=0.8)
    left.set(title="Survival of three people", ylim=(0, 1.02))
    middle.set(title="Their hazard: deaths per year", ylim=(0, None))
    right.set(title="Held-out people by age,\nand Kaplan-Meier (steps)", ylim=(0, 1.02))
    left.legend(frameon=False)
    right.legend(frameon=False)
    for axes in (left, middle, right):
        axes.set(xlabel="years", xlim=(0, 13))
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Fit, score, draw."""
    parser = argparse.ArgumentParser(description="Fit SODEN to the FLCHAIN study and draw its predictions.")
    parser.add_argument("--rows", type=int, help="use so many people only")
    parser.add_argument("--out", default="library.png")
    args = parser.parse_args()
    X, y, X_test, y_test = load(args.rows)
    model = SODEN(verbose=1).fit(X, y)
    print(f"concordance on {len(X_test)} people not trained on: {model.score(X_test, y_test):.3f}")
    oldest = X_test.nlargest(5, "age")
    print("median survival of the five oldest, in years:", np.round(model.predict_median(oldest) / YEAR, 1))
    draw(model, X_test, y_test, args.out)


if __name__ == "__main__":
    main()
