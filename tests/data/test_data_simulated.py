"""The simulation against its closed forms."""

import numpy as np
import pytest
from scipy.special import erf

from benchmarks import data
from benchmarks.data import DataSettings
from benchmarks.data.simulated import cumulative_hazard, hazard, simulate, survival


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
