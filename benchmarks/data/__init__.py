"""The data sets: one file each, found by folder.

To add a data set, put ONE file into this folder (`flchain.py` is the worked example). Its name is the data set's name
everywhere: in the config, in paths, on the command line. It defines

- `NAME`      the file's own name, e.g. "flchain"
- `LABEL`     as printed in tables, e.g. "FLCHAIN"
- `SEARCH`    {"batch_size": (...), "intervals": (...)}: search ranges that depend on the size (Appendix D)
- `N_SPLITS`  how many random splits a full run draws
- `load(settings: DataSettings) -> Dataset`  the raw table, or DataUnavailable with what was tried and what to do
- `SERIES`    optional: True where subjects have series
- `CONVENTION` optional: how metrics are computed. "text", the default, as the paper's formulas read: right also where
  censoring happens at one time (administrative censoring). "published", for the paper's data sets: as its numbers were
- `SPLIT_KEY` optional: data sets of the same subjects in the same order name the same key and get the same splits
- `CREDENTIALED` optional: True where only people with credentials may see rows; what is made from them is kept in

`load` gives raw numbers: category codes, original units, NaN where a value is missing. Times are positive and in years.
Dummy coding, imputation and standardisation happen later, fitted on each training part alone. A file without `NAME`
is a helper. Import heavy libraries inside `load`.
"""

from benchmarks.data.dataset import Dataset
from benchmarks.data.registry import DatasetModule, credentialed, gather, has_series, load, module, names, split_key
from benchmarks.data.settings import DataSettings
from benchmarks.data.sources import DataUnavailable

__all__ = [
    "DataSettings",
    "DataUnavailable",
    "Dataset",
    "DatasetModule",
    "credentialed",
    "gather",
    "has_series",
    "load",
    "module",
    "names",
    "split_key",
]
