"""MIMIC: 26 columns from the first 24 hours in intensive care, built from the raw MIMIC-III tables (Section 5.1)."""

from benchmarks.data.dataset import Dataset
from benchmarks.data.settings import DataSettings
from benchmarks.data.units import SHIFT

NAME = "mimic"
LABEL = "MIMIC"
SEARCH = {"batch_size": (512, 1024), "intervals": (50, 100, 200, 400, 800)}
N_SPLITS = 5
CONVENTION = "published"
SPLIT_KEY = "mimic"
CREDENTIALED = True  # unless the table has a mark: the open demo, or invented


def load(settings: DataSettings) -> Dataset:
    """One row per patient alive 24 hours after INTIME; missing values stay NaN."""
    from benchmarks.data.mimic3.load import load_built

    built = load_built(NAME, LABEL, settings)
    time = built.time + SHIFT  # as the authors' loader does for SUPPORT and METABRIC, but not for MIMIC-SEQ
    return Dataset(NAME, LABEL, time, built.event, built.x, built.columns, mark=built.mark, source=built.source)
