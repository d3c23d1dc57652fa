"""GBSG2, bundled with scikit-survival: recurrence-free survival of 686 women with node-positive breast cancer."""

from benchmarks.data import bundled
from benchmarks.data.dataset import Dataset
from benchmarks.data.settings import DataSettings

NAME = "gbsg2"
LABEL = "GBSG2"
SEARCH = bundled.SEARCH
N_SPLITS = 5

CONTINUOUS = ("age", "estrec", "pnodes", "progrec", "tsize")
LEVELS = {"horTh": ("no", "yes"), "menostat": ("Pre", "Post"), "tgrade": ("I", "II", "III")}


def load(settings: DataSettings) -> Dataset:
    """Return all patients; nothing is missing. `cens`, in spite of its name, is true where the cancer came back."""
    from sksurv.datasets import load_gbsg2

    table, outcome = load_gbsg2()
    return bundled.dataset(NAME, LABEL, table, outcome["time"], outcome["cens"], CONTINUOUS, LEVELS)
