"""MIMIC-SEQ: the patients of MIMIC with 5 static columns and 15 series of 24 hours (Section 5.1)."""

from benchmarks.data.dataset import Dataset
from benchmarks.data.settings import DataSettings

NAME = "mimic_seq"
LABEL = "MIMIC-SEQ"
SEARCH = {"batch_size": (512, 1024), "intervals": (50, 100, 200, 400, 800)}
N_SPLITS = 5
CONVENTION = "published"
SERIES = True
CREDENTIALED = True  # unless the table has a mark: the open demo, or invented
SPLIT_KEY = "mimic"  # the same patients in the same order, so the same splits
STATIC = ("age", "aids", "hem", "mets", "admissiontype")


def load(settings: DataSettings) -> Dataset:
    """One row per patient; a series never measured is NaN in all hours."""
    from benchmarks.data.mimic3.load import load_built

    built = load_built(NAME, LABEL, settings)
    static = [i for i, column in enumerate(built.columns) if column.startswith(STATIC)]
    return Dataset(
        NAME,
        LABEL,
        built.time,
        built.event,
        built.x[:, static],
        tuple(built.columns[i] for i in static),
        seq=built.seq,
        seq_columns=built.seq_columns,
        mark=built.mark,
        source=built.source,
    )
