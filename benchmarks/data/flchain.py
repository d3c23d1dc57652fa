"""FLCHAIN, bundled with scikit-survival: free light chains in 7,874 residents of Olmsted County and their survival.

This is the worked example of adding a data set with one file: five names and `load`. It needs no download.
"""

import numpy as np

from benchmarks.data.dataset import Dataset
from benchmarks.data.settings import DataSettings
from benchmarks.data.units import SHIFT

NAME = "flchain"
LABEL = "FLCHAIN"
SEARCH = {"batch_size": (128, 256, 512), "intervals": (10, 50, 100, 200, 400)}  # as SUPPORT, which has a similar size
N_SPLITS = 10

CONTINUOUS = ("age", "creatinine", "kappa", "lambda", "flc.grp", "sample.yr")
# The first level is dropped by the dummy coding. `chapter` is left out: it is the cause of death, known only after it.
LEVELS = {"sex": ("F", "M"), "mgus": ("no", "yes")}


def load(settings: DataSettings) -> Dataset:
    """Return all residents; 1,350 have no creatinine: NaN here, imputed later, with a column that says so."""
    from sksurv.datasets import load_flchain

    table, outcome = load_flchain()
    columns = {name: table[name].astype(float).to_numpy() for name in CONTINUOUS}
    for name, levels in LEVELS.items():
        columns[name] = table[name].astype(str).map({level: code for code, level in enumerate(levels)}).to_numpy(float)
    columns["no_creatinine"] = np.isnan(columns["creatinine"]).astype(float)
    time = outcome["futime"] / 365.25 + SHIFT  # three residents died on the day of their blood sample
    categorical = dict.fromkeys((*LEVELS, "no_creatinine"), (0.0, 1.0))
    x = np.column_stack(list(columns.values()))
    return Dataset(NAME, LABEL, time, outcome["death"], x, tuple(columns), categorical, source="scikit-survival")
