"""The measured effects of single deviations, kept with the reference; made by `python -m benchmarks deviations`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

FILE = Path(__file__).resolve().parents[2] / "results" / "reference" / "deviations.csv"


def measured_effects() -> pd.DataFrame:
    """change, dataset, model, metric, mean and largest |change|; empty if nobody has measured them here."""
    columns = ["change", "dataset", "model", "metric", "mean", "largest"]
    return pd.read_csv(FILE) if FILE.is_file() else pd.DataFrame(columns=columns)
