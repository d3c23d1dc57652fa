"""Weibull AFT models (lifelines) fitted to exported splits: any program that reads and writes CSV could stand here.

python -m benchmarks data export support --out exported
python examples/score_weibull.py exported weibull
python -m benchmarks score --data support --predictions weibull --label "Weibull AFT"
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from lifelines import WeibullAFTFitter


def predict(split: Path) -> pd.DataFrame:
    """Fit on train and valid, predict test: a row per subject, a column per time."""
    train = pd.concat([pd.read_csv(split / f"{part}.csv") for part in ("train", "valid")], ignore_index=True)
    test = pd.read_csv(split / "test.csv")
    times = pd.read_csv(split / "times.csv")["time"].to_numpy()
    times = np.unique(np.append(times[::10], times[-1]))  # a smooth curve needs no more
    constant = [name for name in train if train[name].nunique() == 1]
    model = WeibullAFTFitter(penalizer=1e-4)
    model.fit(train.drop(columns=["id", *constant]), "time", "event")
    curves = model.predict_survival_function(test, times=times)  # times down, subjects across
    return pd.DataFrame(curves.to_numpy().T, columns=[repr(float(t)) for t in times]).assign(id=test["id"])


def main(exported: Path, out: Path) -> None:
    """One file of predictions per split."""
    out.mkdir(parents=True, exist_ok=True)
    for split in sorted((path for path in exported.iterdir() if path.is_dir()), key=lambda path: int(path.name)):
        predict(split).round(6).to_csv(out / f"{split.name}.csv", index=False)
        print(f"split {split.name} predicted")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
