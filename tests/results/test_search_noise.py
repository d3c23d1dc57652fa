"""The search's own noise: probabilities by enumeration, errors by a simulated search."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.fake_run import write_run

from benchmarks.report.figures import enough
from benchmarks.report.figures.style import NothingToDraw, styled
from benchmarks.report.figures.view import View
from benchmarks.results.folder import HINDSIGHT, read_results
from benchmarks.results.published import published_cells
from benchmarks.results.search_noise import best_of, expected_scores, redrawn, search_errors


def test_the_best_of_redrawn_trials_by_enumeration() -> None:
    n = 5
    best = [min(draw) for draw in itertools.product(range(n), repeat=n)]  # rank 0 is the best trial
    wanted = np.bincount(best, minlength=n) / n**n
    np.testing.assert_allclose(redrawn(n, n), wanted, rtol=1e-12)
    np.testing.assert_allclose(redrawn(n, 2), wanted[:2] / wanted[:2].sum(), rtol=1e-12)
    assert 1 - ((100 - 10) / 100) ** 100 > 0.9999  # what ten of a hundred cover


@pytest.mark.parametrize("k", range(1, 7))
def test_the_best_of_k_trials_by_enumeration(k: int) -> None:
    best = [min(chosen) for chosen in itertools.combinations(range(6), k)]
    np.testing.assert_allclose(best_of(k, 6, 6), np.bincount(best, minlength=6) / len(best), rtol=1e-12)


def rows(values: np.ndarray, n_trials: int) -> pd.DataFrame:
    """values (splits, ranks) of one cell."""
    found = [
        {"dataset": "d", "metric": "ctd", "g_tau": "0.4", "model": "m", "split": s, "rank": r + 1, "value": v}
        for s, split in enumerate(values)
        for r, v in enumerate(split)
    ]
    return pd.DataFrame(found).assign(n_trials=n_trials)


def test_the_error_is_that_of_a_search_drawn_again() -> None:
    """Against 20,000 searches, each of which draws its 20 trials anew from those made."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(3, 20))  # test scores by rank of the validation score
    (found,) = search_errors(rows(values, 20)).to_dict("records")
    drawn = rng.integers(0, 20, size=(20_000, 3, 20)).min(axis=2)
    means = values[np.arange(3), drawn].mean(axis=1)
    # The standard deviation of 20,000 draws is known to 1 / sqrt(40,000); four of these.
    assert found["search_error"] == pytest.approx(means.std(), rel=4 / np.sqrt(40_000))
    assert found["n_splits"] == 3


def test_one_trial_far_ahead_leaves_no_noise_but_its_own_absence() -> None:
    values = np.array([[1.0, 0.0, 0.0]])
    (found,) = search_errors(rows(values, 3)).to_dict("records")
    missed = (2 / 3) ** 3
    assert found["search_error"] == pytest.approx(np.sqrt(missed * (1 - missed)))


def test_expected_scores_end_at_the_chosen_trial_and_begin_where_they_are_known() -> None:
    values = np.array([[5.0, 3.0, 1.0]])
    found = expected_scores(rows(values, 4)).set_index("k")["expected"]
    assert list(found.index) == [2, 3, 4]  # one trial of four may be the one that was not scored
    assert found[4] == 5.0
    assert found[2] == pytest.approx((3 * 5 + 2 * 3 + 1 * 1) / 6)


def test_the_figure_draws_what_is_expected_of_k_trials(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", {"support": ""}, splits=2, trials=3)
    with pytest.raises(NothingToDraw, match="no trials were scored in hindsight"):
        enough.draw(View(read_results(folder), published_cells()))
    scored = rows(np.array([[5.0, 3.0, 1.0], [4.0, 4.0, 1.0]]), 3).assign(
        dataset="support", model="soden", g_tau="1e-8"
    )
    pd.concat([scored, scored.assign(metric="ibs")]).to_parquet(folder / HINDSIGHT)
    with styled():
        [drawing] = enough.draw(View(read_results(folder), published_cells()))
    line = drawing.figure.axes[0].lines[0]
    np.testing.assert_array_equal(line.get_xdata(), [1, 2, 3])
    np.testing.assert_allclose(line.get_ydata(), [3.0, (13 / 3 + 4) / 2, 4.5])  # 3, (5 + 5 + 3) / 3 and 4, 5 and 4
