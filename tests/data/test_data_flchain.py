"""FLCHAIN against what scikit-survival bundles."""

import numpy as np
from sksurv.datasets import load_flchain

from benchmarks import data
from benchmarks.data.preprocess import Preprocessor, design_columns
from benchmarks.data.splits import make_split


def test_rows_codes_and_times() -> None:
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


def test_it_reaches_the_models() -> None:
    dataset = data.load("flchain")
    part = dataset.take(make_split(dataset, "drawn", 1).train)
    train = Preprocessor.fit(part).transform(part)
    assert train.x.shape == (4724, len(design_columns(dataset)))
    np.testing.assert_allclose(train.x.mean(axis=0), 0, atol=1e-5)
