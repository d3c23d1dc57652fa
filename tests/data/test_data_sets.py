"""Each data set against where it comes from: scikit-survival's bundled tables, and closed forms of the simulation."""

from typing import Any

import numpy as np
import pytest
from scipy.special import erf
from sksurv.datasets import load_aids, load_flchain, load_gbsg2, load_whas500

from benchmarks import data
from benchmarks.data import DataSettings
from benchmarks.data.preprocess import Preprocessor, design_columns
from benchmarks.data.simulated import cumulative_hazard, hazard, simulate, survival
from benchmarks.data.splits import make_split

# GBSG2, WHAS500 and AIDS against what scikit-survival bundles.


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


@pytest.mark.parametrize("name", [s[0] for s in SETS])
def test_they_reach_the_models(name: str) -> None:
    dataset = data.load(name)
    for split in range(1, data.module(name).N_SPLITS + 1):
        chosen = make_split(dataset, "auto", split)
        assert all(dataset.event[chosen.part(part)].sum() >= 10 for part in ("train", "valid", "test"))
    part = dataset.take(chosen.train)
    train = Preprocessor.fit(part).transform(part)
    assert train.x.shape == (len(chosen.train), len(design_columns(dataset)))
    np.testing.assert_allclose(train.x.mean(axis=0), 0, atol=1e-5)


# FLCHAIN against what scikit-survival bundles.


def test_flchain_has_the_bundled_rows_codes_and_times() -> None:
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


def test_flchain_reaches_the_models() -> None:
    dataset = data.load("flchain")
    part = dataset.take(make_split(dataset, "drawn", 1).train)
    train = Preprocessor.fit(part).transform(part)
    assert train.x.shape == (4724, len(design_columns(dataset)))
    np.testing.assert_allclose(train.x.mean(axis=0), 0, atol=1e-5)


# The simulation against its closed forms.


def test_curves_cross_at_one_and_hazards_are_their_slopes() -> None:
    t = np.linspace(0.01, 3, 400)
    assert survival(0, 1.0) == survival(1, 1.0) == pytest.approx(np.exp(-2))
    assert (survival(1, t[t < 1]) > survival(0, t[t < 1])).all()
    assert (survival(1, t[t > 1]) < survival(0, t[t > 1])).all()
    for x in (0, 1):
        slope = (cumulative_hazard(x, t + 1e-6) - cumulative_hazard(x, t - 1e-6)) / 2e-6
        np.testing.assert_allclose(hazard(x, t), slope, rtol=1e-7)
        np.testing.assert_allclose(-np.log(survival(x, t)), cumulative_hazard(x, t), rtol=1e-12)
    assert survival([[0], [1]], t).shape == (2, 400)
    with pytest.raises(ValueError, match=r"knows the groups x = 0 and x = 1; got \[0\.5\]"):
        survival(0.5, t)


def test_large_sample_agrees_with_the_formulas() -> None:
    n = 400_000
    sample = simulate(n, seed=1)
    x = sample.x[:, 0]
    # P(C < T) = 1/2 int_0^2 S(c) dc in each group; bounds are five standard errors of a proportion.
    censored = [(1 - np.exp(-4)) / 4, np.sqrt(np.pi / 2) / 4 * erf(2 * np.sqrt(2))]
    for group, expected in enumerate(censored):
        assert abs((~sample.event[x == group]).mean() - expected) < 5 * 0.5 / np.sqrt(n / 2)
    assert abs(x.mean() - 0.5) < 5 * 0.5 / np.sqrt(n)
    # P(Y > t) = S(t) P(C > t): event and censoring times are independent.
    for t in (0.2, 0.5, 1.0, 1.5):
        for group in (0, 1):
            expected = float(survival(group, t)) * (1 - t / 2)
            assert abs((sample.time[x == group] > t).mean() - expected) < 5 * 0.5 / np.sqrt(n / 2)
    assert sample.time.max() < 2


def test_seeded_prefix_stable_and_free_of_global_state() -> None:
    np.random.seed(0)  # noqa: NPY002 - to show that global state plays no part
    first = simulate(1000, seed=3)
    np.random.seed(1)  # noqa: NPY002
    again = simulate(1000, seed=3)
    assert first.sha256() == again.sha256()
    assert simulate(400, seed=3).sha256() == first.take(np.arange(400)).sha256()
    assert len({simulate(1000, 3, r).sha256() for r in range(3)} | {simulate(1000, 4).sha256()}) == 4


def test_settings_choose_size_seed_and_repetition() -> None:
    settings = DataSettings(simulated_n=50, seed=3, options={"simulated": {"repetition": 2}})
    assert data.load("simulated", settings).sha256() == simulate(50, 3, 2).sha256()
    with pytest.raises(ValueError, match="needs at least two subjects; got simulated_n = 1"):
        DataSettings(simulated_n=1)
