"""Competing risks: from one model per cause to the probabilities of the causes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from soden.estimator import SODEN
from soden.inputs import checked_times
from soden.types import FloatArray

PANELS = 1000  # between 0 and the last time, over which the causes share what survival loses


def incidence(models: Sequence[SODEN], X: Any, times: Any) -> FloatArray:
    """Cumulative incidence F_k(t): the probability that cause k has come by time t, before any other.

    The hazard of a cause is estimated with the other causes as censored. Its 1 - S_k would be the incidence if no other
    cause existed; with S = exp(-sum of Lambda_k), F_k is the integral of S dLambda_k. Of ensembles it is computed per
    member and then averaged.

    Parameters
    ----------
    models : list of SODEN
        One fitted model per cause, all with the same number of members.
    X : array or data frame (n, p)
    times : array (k,)

    Returns
    -------
    ndarray (causes, n, k)
        1 - the sum over causes is the survival without any event.

    Examples
    --------
    >>> import numpy as np
    >>> from soden import SODEN
    >>> from soden.risks import incidence
    >>> rng = np.random.default_rng(0)
    >>> X, time, cause = rng.normal(size=(300, 1)), rng.exponential(size=300), rng.integers(1, 3, 300)
    >>> models = [SODEN(n_models=1, max_epochs=5).fit(X, time, cause == k) for k in (1, 2)]
    >>> F = incidence(models, X[:2], [0.5, 1.0])
    >>> F.shape, bool((F.sum(axis=0) < 1).all())
    ((2, 2, 2), True)
    """
    if len({len(model._fitted().models_) for model in models}) != 1:
        raise ValueError("models must have the same number of members; fit all causes with the same n_models")
    asked = checked_times(times)
    grid = np.union1d(asked, np.linspace(0, asked.max(), PANELS + 1))
    where = np.searchsorted(grid, asked)
    rows = []
    for i in range(len(X)):  # one subject at a time: causes x members x grid
        one = X.iloc[i : i + 1] if hasattr(X, "iloc") else np.asarray(X)[i : i + 1]
        Lambda = np.stack([model.predict_cumulative_hazard(one, grid, members=True)[:, 0] for model in models])
        rise = np.diff(Lambda, axis=-1)
        total = rise.sum(axis=0)
        lost = -np.diff(np.exp(-Lambda.sum(axis=0)), axis=-1)  # what all causes take in a panel, each its share
        share = np.divide(rise, total, out=np.zeros_like(rise), where=total > 0)
        F = np.concatenate([np.zeros((*rise.shape[:-1], 1)), np.cumsum(share * lost, axis=-1)], axis=-1)
        rows.append(F.mean(axis=1)[:, where])
    return np.stack(rows, axis=1)
