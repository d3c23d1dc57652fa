"""The measured effects of single deviations, kept with the reference.

Made by `python -m benchmarks deviations` (how scores are read) and `python -m benchmarks switches` (how models are
trained).
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

REFERENCE = Path(__file__).resolve().parents[2] / "results" / "reference"
FILE = REFERENCE / "deviations.csv"
SWITCHES = REFERENCE / "switches.csv"


def measured_effects() -> pd.DataFrame:
    """change, dataset, model, metric, mean and largest |change|; empty if nobody has measured them here."""
    columns = ["change", "dataset", "model", "metric", "mean", "largest"]
    return pd.read_csv(FILE) if FILE.is_file() else pd.DataFrame(columns=columns)


def trained_otherwise() -> pd.DataFrame:
    """change, dataset, model, metric, g_tau, without, effect, standard_error, splits; empty if nobody measured them."""
    columns = ["change", "dataset", "model", "metric", "g_tau", "without", "effect", "standard_error", "splits"]
    if not SWITCHES.is_file():
        return pd.DataFrame(columns=columns)
    return pd.read_csv(SWITCHES, dtype={"g_tau": str}).fillna({"g_tau": ""})
