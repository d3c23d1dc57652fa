"""The search's own noise: how much a cell would move if the random search were drawn again on the same splits.

The published means and ours stand on the same splits, so they differ by search and training alone, and the standard
error over splits is the wrong yardstick. Here the best trials of each split are scored on its test part in hindsight,
long after the choice was made; drawing the trials anew from those that were made then says how the chosen one's test
score would vary.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.results.tidy import CELL

Values = npt.NDArray[np.float64]
LEFT_OUT = 0.01  # share of the draws whose best trial was not scored, up to which an expectation is given


def redrawn(n: int, scored: int) -> Values:
    """P(the best of n draws with replacement from n trials is the r-th best), r = 1..scored, given it is one of them.

    All n draws miss the r best with probability ((n - r) / n)^n. With ten of a hundred scored, one draw in 40,000 has
    a best trial that was not.
    """
    r = np.arange(scored + 1)
    missed = ((n - r) / n) ** n
    chances = missed[:-1] - missed[1:]
    return np.asarray(chances / chances.sum())


def best_of(k: int, n: int, scored: int) -> Values:
    """P(the best of k out of n trials is the r-th best), r = 1..scored: C(n - r, k - 1) / C(n, k)."""
    chances = np.zeros(scored)
    left = 1.0  # P(none of the r - 1 best is among the k)
    for r in range(min(scored, n)):
        taken = min(1.0, k / (n - r))
        chances[r] = left * taken
        left *= 1 - taken
    return chances


def search_errors(hindsight: pd.DataFrame) -> pd.DataFrame:
    """Per data set, model, metric and g_tau: the standard error of the mean over splits that a redrawn search has.

    `hindsight` has a row per scored trial: the cell, model, split, n_trials, rank (1 is the chosen one) and value.
    """
    rows = []
    for key, part in hindsight.groupby([*CELL, "model"]):
        variances = []
        for _, split in part.groupby("split"):
            ordered = split.sort_values("rank")
            chances = redrawn(int(ordered["n_trials"].iloc[0]), len(ordered))
            values = ordered["value"].to_numpy(float)
            mean = chances @ values
            variances.append(float(chances @ (values - mean) ** 2))
        rows.append((*key, float(np.sqrt(np.sum(variances)) / len(variances)), len(variances)))
    return pd.DataFrame(rows, columns=[*CELL, "model", "search_error", "n_splits"])


def expected_scores(hindsight: pd.DataFrame) -> pd.DataFrame:
    """Per cell and model: the expected test score of the best of k trials, for every k that the scored trials cover."""
    rows = []
    for key, part in hindsight.groupby([*CELL, "model"]):
        n = int(part["n_trials"].min())
        for k in range(1, n + 1):
            means = []
            for _, split in part.groupby("split"):
                chances = best_of(k, n, len(split))
                if chances.sum() < 1 - LEFT_OUT:
                    break
                means.append(chances @ split.sort_values("rank")["value"].to_numpy(float) / chances.sum())
            else:
                rows.append((*key, k, float(np.mean(means))))
    return pd.DataFrame(rows, columns=[*CELL, "model", "k", "expected"])
