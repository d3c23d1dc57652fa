"""Mean ranks of models over data sets: Friedman's test, and Nemenyi's critical difference after it (Demsar 2006).

The blocks are data sets, not splits, which share subjects and are not independent. Nemenyi and not Wilcoxon-Holm: a
Wilcoxon test over N data sets has no p-value below 2 / 2^N, 0.03 with six, so that among 91 pairs of 14 models no
difference whatever could survive Holm's correction. Nemenyi's can, though with six data sets only a large one does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.results.names import higher_is_better
from benchmarks.results.statistics import ALPHA
from benchmarks.results.tidy import TRUNCATIONS, require

FEWEST = {"models": 3, "datasets": 3}  # below, Friedman's statistic is far from its distribution
FLOOR = "kaplan_meier"  # knows nothing of the subject: it alone can make Friedman's test see a difference
METRICS = {"ctd": TRUNCATIONS[0], "ibll": TRUNCATIONS[0], "ibs": TRUNCATIONS[0], "nll": ""}


@dataclass(frozen=True)
class Ranking:
    """The models of one metric, best first."""

    metric: str
    datasets: tuple[str, ...]
    mean_ranks: Mapping[str, float]  # ascending: rank 1 is best
    chi2: float  # Friedman's statistic, ties corrected
    p_value: float  # of Iman and Davenport's F, which Friedman's chi-squared is too cautious for
    p_contenders: float  # the same without the floor
    critical_difference: float  # Nemenyi, alpha = 0.05
    without: tuple[str, ...]  # models that lack a score on some data set

    @property
    def cliques(self) -> list[tuple[str, ...]]:
        """The largest groups of models whose mean ranks are all within the critical difference."""
        models, groups = list(self.mean_ranks), []
        end = 0
        for k, model in enumerate(models):
            within = [m for m in models[k:] if self.mean_ranks[m] - self.mean_ranks[model] <= self.critical_difference]
            if k + len(within) > end and len(within) > 1:
                end = k + len(within)
                groups.append(tuple(within))
        return groups


def _friedman(values: pd.DataFrame) -> tuple[float, float]:
    """Friedman's statistic of models (columns) over data sets (rows), ties corrected, and the p-value of its F."""
    n, k = values.shape
    chi2, _ = stats.friedmanchisquare(*values.T.to_numpy())
    with np.errstate(divide="ignore"):
        F = np.divide((n - 1) * chi2, n * (k - 1) - chi2)
    return float(chi2), float(stats.f.sf(F, k - 1, (k - 1) * (n - 1)))


class TooFew(ValueError):
    """Not enough data sets or models to rank."""


def critical_difference(models: int, datasets: int, alpha: float = ALPHA) -> float:
    """q_alpha sqrt(k (k + 1) / (6 N)), q the studentised range's quantile over sqrt(2)."""
    q = stats.studentized_range.ppf(1 - alpha, models, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(models * (models + 1) / (6 * datasets)))


def rankings(cells: pd.DataFrame) -> tuple[list[Ranking], list[str]]:
    """A ranking per metric that enough models have on enough data sets, and why others have none."""
    ranked, reasons = [], []
    for metric in METRICS:
        try:
            ranked.append(rank_models(cells, metric))
        except TooFew as few:
            reasons.append(str(few))
    return ranked, reasons


def rank_models(cells: pd.DataFrame, metric: str) -> Ranking:
    """Rank the models by their means on every data set; those without a mean somewhere are left out and named."""
    require(cells, ["dataset", "model", "metric", "g_tau", "mean"], "cells")
    rows = cells[(cells["metric"] == metric) & (cells["g_tau"] == METRICS[metric])]
    rows = rows.drop_duplicates(["dataset", "model"]).dropna(subset="mean")
    wide = rows.pivot(index="dataset", columns="model", values="mean")
    whole = wide.dropna(axis=1)
    if whole.shape[0] < FEWEST["datasets"] or whole.shape[1] < FEWEST["models"]:
        raise TooFew(
            f"{metric}: {whole.shape[1]} models have a score on all of {whole.shape[0]} data sets; ranks need at least "
            f"{FEWEST['models']} on {FEWEST['datasets']}"
        )
    ranks = whole.rank(axis=1, ascending=not higher_is_better(metric))
    n, k = ranks.shape
    chi2, p = _friedman(whole)
    contenders = whole.drop(columns=FLOOR, errors="ignore")
    mean = ranks.mean().sort_values(kind="stable")
    return Ranking(
        metric,
        tuple(map(str, ranks.index)),
        {str(model): float(rank) for model, rank in mean.items()},
        chi2,
        p,
        _friedman(contenders)[1] if contenders.shape[1] >= FEWEST["models"] else float("nan"),
        critical_difference(k, n),
        tuple(sorted(map(str, set(wide.columns) - set(whole.columns)))),
    )
