"""The yardstick of published means: draws from a pool of configurations, its intervals and its verdicts."""

import itertools

import numpy as np
import pytest
from scipy.stats import hypergeom

from benchmarks.results.pool import (
    Interval,
    Pool,
    draw_growth,
    draw_means,
    draw_winners,
    interval,
    one_search,
    percentile,
    verdict,
    widening,
)


def simulated(rng: np.random.Generator, lists: int, splits: int = 10, size: int = 100, common: float = 0.7) -> Pool:
    """Configurations with a quality of their own, seen with noise on the validation and the test part of each split."""
    n = lists * size
    quality = rng.normal(size=n)
    own = rng.normal(size=(splits, n))
    truth = np.sqrt(common) * quality + np.sqrt(1 - common) * own
    valid = truth + 0.5 * rng.normal(size=(splits, n))
    return Pool(valid, 0.65 + 0.01 * (truth + 0.5 * rng.normal(size=(splits, n))))


def test_a_draw_of_all_is_the_pools_own_mean() -> None:
    pool = simulated(np.random.default_rng(0), 1)
    expected = np.mean([pool.test[s, np.argmax(pool.valid[s])] for s in range(10)])
    for lists in ("shared", "per_split"):
        assert draw_means(pool, lists, draws=3, size=100) == pytest.approx(np.full(3, expected))
    assert pool.mean() == pytest.approx(expected)


def test_the_best_is_drawn_as_often_as_the_hypergeometric_law_says() -> None:
    """One split: test scores are ranks, so the share of draws whose best is of rank r has a closed form."""
    n, size = 50, 10
    pool = Pool(np.arange(n, 0, -1.0)[None], np.arange(n, dtype=float)[None])
    means = draw_means(pool, "shared", draws=20_000, size=size)
    for r in range(4):
        expected = hypergeom.pmf(0, n, r, size) - hypergeom.pmf(0, n, r + 1, size)
        assert (means == r).mean() == pytest.approx(expected, abs=4 * np.sqrt(expected / 20_000))


def test_one_list_for_all_splits_varies_more_where_configurations_are_alike_on_all() -> None:
    pool = simulated(np.random.default_rng(1), 5, common=0.9)
    spread = {lists: draw_means(pool, lists).std() for lists in ("shared", "per_split")}
    assert spread["shared"] > 1.5 * spread["per_split"]


def test_ties_go_to_the_earlier_trial() -> None:
    pool = Pool(np.zeros((1, 4)), np.array([[1.0, 2.0, 3.0, 4.0]]))
    assert set(draw_means(pool, "shared", draws=50, size=4)) == {1.0}


def test_a_choice_that_was_not_scored_is_missing_and_counted() -> None:
    pool = Pool(np.array([[3.0, 2.0, 1.0]]), np.array([[1.0, np.nan, np.nan]]))
    means = draw_means(pool, "shared", draws=600, size=1)
    assert np.isnan(means).mean() == pytest.approx(2 / 3, abs=0.1)
    assert interval(means, 1.0).missing == np.isnan(means).mean()
    assert interval(np.full(3, np.nan), 1.0).missing == 1


@pytest.mark.parametrize("common", [0.2, 0.8])
def test_a_new_list_is_inside_as_often_as_promised(common: float) -> None:
    """95 % intervals from pools of five lists, each judged by a sixth that had no part in them."""
    rng = np.random.default_rng(2)
    inside = []
    for k in range(100):
        pool = simulated(rng, 6, common=common)
        means = draw_means(pool.part(np.arange(500)), "shared", draws=300, seed=k)
        inside.append(interval(means, widening(500), 0.0).contains(pool.part(np.arange(500, 600)).mean()))
    assert 0.90 <= np.mean(inside) <= 0.995


def test_without_widening_it_would_be_too_narrow() -> None:
    assert widening(500) == pytest.approx(np.sqrt(1.5))
    assert widening(400) == pytest.approx(np.sqrt(5 / 3))
    assert widening(100, 50, 100) == pytest.approx(np.sqrt(2))
    # A pool whose luck is common to all splits counts in full, however much a list per split averages out.
    assert widening(500, ratio=10.0) == pytest.approx(np.sqrt((1 + 10 / 5) / (1 - 1 / 5)))
    with pytest.raises(ValueError, match="draws of 100 from 100 configurations are all the same"):
        widening(100)
    means = np.random.default_rng(0).normal(0.65, 0.002, 4000)
    plain, wide = interval(means, 1.0, 0.0), interval(means, 2.0, 0.0)
    assert wide.half_width == pytest.approx(2 * plain.half_width)
    assert plain.high - plain.low == pytest.approx(2 * 1.96 * 0.002, rel=0.05)


def test_verdicts() -> None:
    narrow, wide = Interval(0.65, 0.647, 0.652, 0.0), Interval(0.65, 0.635, 0.66, 0.0)
    assert verdict(0.648, narrow, "ctd") == "reproduced"
    assert verdict(0.655, narrow, "ctd") == "close"
    assert verdict(0.6551, narrow, "ctd") == "different"
    assert verdict(0.65, wide, "ctd") == "cannot tell"
    assert verdict(0.65, wide, "nll") == "reproduced"
    assert verdict(0.65, Interval(np.nan, np.nan, np.nan, 1.0), "ctd") == "cannot tell"


def test_percentile() -> None:
    means = np.array([1.0, 2.0, 2.0, 3.0, np.nan])
    assert percentile(2.0, means) == 50
    assert percentile(0.0, means) == 0
    assert percentile(9.0, means) == 100


def test_percentiles_are_of_new_searches_which_vary_more() -> None:
    means = np.linspace(-1, 1, 201)
    assert percentile(1.5, means, widen=2.0) == pytest.approx(87.5, abs=0.5)


def test_growth_is_the_mean_over_all_ways_to_take_k_trials() -> None:
    """One split: the best of k of n is of rank r with probability C(n - r, k - 1) / C(n, k)."""
    values = np.array([5.0, 3.0, 1.0, 2.0])
    mean, sd = draw_growth(Pool(-np.arange(4.0)[None], values[None, None]), "shared", draws=20_000, size=4)
    ways = {k: [values[min(c)] for c in itertools.combinations(range(4), k)] for k in range(1, 5)}
    np.testing.assert_allclose(mean[0], [np.mean(w) for w in ways.values()], atol=0.05)
    np.testing.assert_allclose(sd[0], [np.std(w) for w in ways.values()], atol=0.05)


def test_growth_begins_where_the_chosen_trials_were_scored() -> None:
    test = np.full((1, 1, 100), np.nan)
    test[0, 0, :10] = 1.0
    mean, _ = draw_growth(Pool(-np.arange(100.0)[None], test), "shared", draws=2000)
    first = np.flatnonzero(~np.isnan(mean[0]))[0] + 1
    # All k miss the ten best with probability C(90, k) / C(100, k), which is 1 % at 37.
    assert hypergeom.pmf(0, 100, 10, first) == pytest.approx(0.01, abs=0.004)
    assert not np.isnan(mean[0, first:]).any()


def test_all_cells_are_judged_by_the_same_draws() -> None:
    pool = simulated(np.random.default_rng(3), 2)
    both = Pool(pool.valid, np.stack([pool.test, -pool.test]))
    means = draw_means(both, "per_split", draws=50)
    np.testing.assert_allclose(means[0], draw_means(pool, "per_split", draws=50))
    np.testing.assert_allclose(means[0], -means[1])
    np.testing.assert_allclose(both.mean(), [pool.mean(), -pool.mean()])
    every = draw_winners(pool.valid, "shared", draws=50, size=20, every=True)
    rising = np.take_along_axis(pool.valid[None], every, axis=2)
    assert (np.diff(rising, axis=2) >= 0).all()


def test_an_interval_of_one_search_is_around_its_own_mean() -> None:
    pool = simulated(np.random.default_rng(4), 1)
    [where] = one_search(pool, "shared", pool.mean())
    halves = draw_means(pool, "shared", size=50)
    assert where.centre == pool.mean()
    low, high = np.quantile(halves, [0.025, 0.975]) - halves.mean()
    assert where.low == pytest.approx(pool.mean() + np.sqrt(2) * low - 0.0005)
    assert where.high == pytest.approx(pool.mean() + np.sqrt(2) * high + 0.0005)


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(ValueError, match="100 configurations cannot be drawn from a pool of 3"):
        draw_means(Pool(np.zeros((1, 3)), np.zeros((1, 3))), "shared")
    with pytest.raises(ValueError, match="same splits and configurations"):
        Pool(np.zeros((1, 3)), np.zeros((2, 3)))
