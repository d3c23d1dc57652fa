"""AIDS (ACTG 320), bundled with scikit-survival: time to an AIDS-defining event or death of 1,151 patients with HIV."""

from benchmarks.data import bundled
from benchmarks.data.dataset import Dataset
from benchmarks.data.settings import DataSettings

NAME = "aids"
LABEL = "AIDS"
SEARCH = bundled.SEARCH
N_SPLITS = 5

# `txgrp` is left out: it says the same as `tx`, three patients apart.
CONTINUOUS = ("age", "cd4", "priorzdv")
LEVELS = {
    "tx": ("0", "1"),
    "strat2": ("0", "1"),
    "sex": ("1", "2"),
    "hemophil": ("0", "1"),
    "raceth": ("1", "2", "3", "4", "5"),
    "ivdrug": ("1", "2", "3"),
    "karnof": ("70", "80", "90", "100"),
}


def load(settings: DataSettings) -> Dataset:
    """Return all patients; nothing is missing. 96 of them had the event within the year: 92% are censored."""
    from sksurv.datasets import load_aids

    table, outcome = load_aids(endpoint="aids")
    return bundled.dataset(NAME, LABEL, table, outcome["time"], outcome["censor"], CONTINUOUS, LEVELS)
