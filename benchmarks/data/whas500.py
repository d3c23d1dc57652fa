"""WHAS500, bundled with scikit-survival: survival of 500 patients after a heart attack (Worcester)."""

from benchmarks.data import bundled
from benchmarks.data.dataset import Dataset
from benchmarks.data.settings import DataSettings

NAME = "whas500"
LABEL = "WHAS500"
SEARCH = bundled.SEARCH
N_SPLITS = 5

# `los`, the length of the stay, is left out: follow-up starts with the stay, so it is known only after part of it.
CONTINUOUS = ("age", "bmi", "diasbp", "hr", "sysbp")
LEVELS = dict.fromkeys(("afb", "av3", "chf", "cvd", "gender", "miord", "mitype", "sho"), ("0", "1"))


def load(settings: DataSettings) -> Dataset:
    """Return all patients; nothing is missing."""
    from sksurv.datasets import load_whas500

    table, outcome = load_whas500()
    return bundled.dataset(NAME, LABEL, table, outcome["lenfol"], outcome["fstat"], CONTINUOUS, LEVELS)
