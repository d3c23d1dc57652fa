"""The small studies bundled with scikit-survival: categories as codes, days as years."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.data.dataset import Dataset

DAYS_PER_YEAR = 365.25
# A training part has 300 to 700 subjects and 60 to 180 events: METABRIC's ranges without what would leave a handful of
# steps per epoch, or of events per interval.
SEARCH = {"batch_size": (32, 64, 128), "intervals": (10, 25, 50)}


def dataset(
    name: str,
    label: str,
    table: Any,
    days: Any,
    event: Any,
    continuous: Sequence[str],
    levels: Mapping[str, tuple[str, ...]],
) -> Dataset:
    """The named columns of a table; a category's code is its place among its levels, of which the first is dropped."""
    columns = {column: table[column].astype(float).to_numpy() for column in continuous}
    for column, known in levels.items():
        codes = {level: code for code, level in enumerate(known)}
        columns[column] = table[column].astype(str).map(codes).to_numpy(float)
    categorical = {column: tuple(map(float, range(len(known)))) for column, known in levels.items()}
    x = np.column_stack(list(columns.values()))
    return Dataset(name, label, days / DAYS_PER_YEAR, event, x, tuple(columns), categorical, source="scikit-survival")
