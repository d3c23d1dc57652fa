"""GBSG2, WHAS500, AIDS and FLCHAIN against what scikit-survival bundles."""

from typing import Any

import numpy as np
import pytest
from sksurv.datasets import load_aids, load_flchain, load_gbsg2, load_whas500

from benchmarks import data
from benchmarks.data.preprocess import Preprocessor, design_columns
from benchmarks.data.splits import make_split

# Name, table and outcome, the outcome's fields, left-out columns, subjects and events as scikit-survival's pages say.
SETS: list[tuple[str, Any, tuple[str, str], set[str], int, int]] = [
    ("gbsg2", load_gbsg2(), ("time", "cens"), set(), 686, 299),
    ("whas500", load_whas500(), ("lenfol", "fstat"), {"los"}, 500, 215),
    ("aids", load_aids(), ("time", "censor"), {"txgrp"}, 1151, 96),
]


@pytest.mark.parametrize(("name", "bundled", "fields", "without", "n", "events"), SETS, ids=[s[0] for s in SETS])
def test_rows_codes_and_times(
    name: str, bundled: Any, fields: tuple[str, str], without: set[str], n: int, events: int
) -> None:
    table, outcome = bundled
    dataset = data.load(name)
    assert (len(dataset), int(dataset.event.sum())) == (n, events)
    np.testing.assert_allclose(dataset.time, outcome[fields[0]] / 365.25)
    assert (dataset.event == outcome[fields[1]]).all()
    assert set(dataset.columns) == set(table.columns) - without
    for column, values in zip(dataset.columns, dataset.x.T, strict=True):
        if column in dataset.categorical:
            # Every subject's code leads back to its level, whatever scikit-survival's own order of the levels is.
            codes = {code: set(table[column][values == code].astype(str)) for code in dataset.categorical[column]}
            assert all(len(levels) == 1 for levels in codes.values()), column
            assert len(set.union(*codes.values())) == len(codes), column
        else:
            np.testing.assert_array_equal(values, table[column])
    assert np.isfinite(dataset.x).all()


def test_the_first_level_is_the_one_that_dummies_are_compared_with() -> None:
    """No hormone therapy, grade I, the control arm."""
    for name, column, level in (("gbsg2", "horTh", "no"), ("gbsg2", "tgrade", "I"), ("aids", "tx", "0")):
        dataset = data.load(name)
        table = {"gbsg2": SETS[0], "aids": SETS[2]}[name][1][0]
        first = dataset.x[:, dataset.columns.index(column)] == 0
        np.testing.assert_array_equal(first, table[column].astype(str) == level)


def test_flchain_has_a_column_for_missing_creatinine_and_none_for_the_cause_of_death() -> None:
    table, outcome = load_flchain()
    dataset = data.load("flchain")
    column = dict(zip(dataset.columns, dataset.x.T, strict=True))
    np.testing.assert_allclose(dataset.time, outcome["futime"] / 365.25 + 0.001)
    assert (outcome["futime"] == 0).sum() == 3
    assert dataset.time.min() == 0.001
    assert (dataset.event == outcome["death"]).all()
    np.testing.assert_array_equal(column["sex"], (table["sex"] == "M").to_numpy(float))
    np.testing.assert_array_equal(column["mgus"], (table["mgus"] == "yes").to_numpy(float))
    np.testing.assert_array_equal(column["creatinine"], table["creatinine"])
    assert np.isnan(dataset.x).sum() == table["creatinine"].isna().sum() == column["no_creatinine"].sum() == 1350
    assert "chapter" not in dataset.columns, "the cause of death must not predict death"


@pytest.mark.parametrize("name", ["flchain", *(s[0] for s in SETS)])
def test_they_reach_the_models(name: str) -> None:
    dataset = data.load(name)
    for split in range(1, data.module(name).N_SPLITS + 1):
        chosen = make_split(dataset, "auto", split)
        assert all(dataset.event[chosen.part(part)].sum() >= 10 for part in ("train", "valid", "test"))
    part = dataset.take(chosen.train)
    train = Preprocessor.fit(part).transform(part)
    assert train.x.shape == (len(chosen.train), len(design_columns(dataset)))
    np.testing.assert_allclose(train.x.mean(axis=0), 0, atol=1e-5)
