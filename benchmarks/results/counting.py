"""Count the significant tests of each table: as printed, after Holm's correction, and for overlapping splits.

A table of 45 tests at 5% has two asterisks by chance alone. Holm's correction bounds the chance of one false asterisk
in the table; Nadeau and Bengio's corrects the variance, because the training parts of the splits overlap. Wins, ties
and losses per split need no test. Everything is computed from scores.csv.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from benchmarks.results.names import MODELS, REFERENCE, VARIANTS
from benchmarks.results.statistics import ALPHA, TEST_TO_TRAIN, compare
from benchmarks.results.tidy import CELL, PAPER_METRICS, TRUNCATIONS, tidy_scores

Values = npt.NDArray[np.float64]
TIE = 0.0005  # differences below half of the last printed digit
MAIN = [(metric, g_tau) for metric, g_tau in PAPER_METRICS if metric != "nll"]
ABLATION = [(metric, g_tau) for metric, g_tau in PAPER_METRICS if metric in ("ctd", "nll")]
BEYOND = [(metric, g_tau) for metric, g_tau in PAPER_METRICS if g_tau in ("", TRUNCATIONS[0])]
WAYS = {"plain": "p_value", "holm": "p_holm", "corrected": "p_corrected", "both": "p_corrected_holm"}


def holm(p: Sequence[float] | Values) -> Values:
    """Holm's adjusted p-values: the k-th smallest of m times m - k + 1, never below a smaller one's; nan stays nan."""
    p = np.asarray(p, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    adjusted = np.full(len(p), np.nan)
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return adjusted


def corrected_interval(differences: Values, test_to_train: float = TEST_TO_TRAIN) -> tuple[float, float, float]:
    """Mean of paired differences and its 95% interval, variance corrected for overlapping splits."""
    n, mean = len(differences), float(np.mean(differences))
    if n < 2:
        return mean, float("nan"), float("nan")
    spread = np.sqrt((1 / n + test_to_train) * differences.var(ddof=1))
    half = float(stats.t.ppf(1 - ALPHA / 2, n - 1) * spread)
    return mean, mean - half, mean + half


def gains(scores: pd.DataFrame, reference: str = REFERENCE) -> pd.DataFrame:
    """By how much each model is better than the reference on each split, in the metric's own direction.

    Columns: dataset, metric, g_tau, model, split, gain; splits where one of the two has no score are left out.
    """
    from benchmarks.metrics.base import metrics

    sign = {name: 1.0 if metric.higher_is_better else -1.0 for name, metric in metrics().items()}
    scores = tidy_scores(scores)
    scores = scores[scores["metric"].isin(list(sign))]
    theirs = scores.loc[scores["model"] == reference, [*CELL, "split", "value"]]
    both = scores[scores["model"] != reference].merge(theirs, on=[*CELL, "split"], suffixes=("", "_reference"))
    both["gain"] = (both["value"] - both["value_reference"]) * both["metric"].map(sign)
    return both.dropna(subset="gain")[[*CELL, "model", "split", "gain"]].reset_index(drop=True)


def families(scores: pd.DataFrame) -> Iterator[tuple[str, pd.Series]]:
    """The tables whose asterisks are counted together: each one's name, and which rows of the tests it prints.

    A table per data set with the paper's models, the ablation over all of them, and, where a model is not the paper's,
    the table beyond the paper.
    """
    key = pd.Series(list(zip(scores["metric"], scores["g_tau"], strict=True)), index=scores.index)
    of_paper, variant = scores["model"].isin(list(MODELS)), scores["model"].isin(VARIANTS)
    for dataset in dict.fromkeys(scores["dataset"]):
        yield dataset, of_paper & ~variant & (scores["dataset"] == dataset) & key.isin(MAIN)
    yield "ablation", variant & key.isin(ABLATION)
    if not of_paper.all():
        yield "beyond", key.isin(BEYOND)


def counted(scores: pd.DataFrame, reference: str = REFERENCE) -> pd.DataFrame:
    """Every test behind an asterisk with its four p-values, and wins, ties and losses of the model over the splits."""
    tests = compare(scores, reference)
    gained = gains(scores, reference)
    sides = pd.cut(gained["gain"], [-np.inf, -TIE, TIE, np.inf], labels=["losses", "ties", "wins"], right=False)
    tally = gained.groupby([*CELL, "model", sides], observed=False).size().unstack(fill_value=0).reset_index()
    mean = gained.groupby([*CELL, "model"])["gain"].mean().reset_index()
    parts = []
    for name, rows in families(tests):
        part = tests[rows].assign(table=name)
        part["p_holm"], part["p_corrected_holm"] = holm(part["p_value"]), holm(part["p_corrected"])
        parts.append(part)
    found = pd.concat(parts, ignore_index=True).merge(mean, on=[*CELL, "model"], how="left")
    found = found.merge(tally, on=[*CELL, "model"], how="left")
    columns = ["table", *CELL, "model", "gain", "wins", "ties", "losses", "t", "df", *WAYS.values(), "n_splits"]
    return found[columns].astype({"wins": int, "ties": int, "losses": int})


def counts(tests: pd.DataFrame) -> pd.DataFrame:
    """Per table: tests, and of each way to judge them how many are significant for the model and for the reference."""
    rows = []
    for table, part in tests.groupby("table", sort=False):
        row: dict[str, object] = {"table": table, "tests": int(part["p_value"].notna().sum())}
        for way, column in WAYS.items():
            significant = part[part[column] < ALPHA]
            row[way] = len(significant)
            row[f"{way}_better"] = int((significant["gain"] > 0).sum())
        rows.append(row | {side: int(part[side].sum()) for side in ("wins", "ties", "losses")})
    return pd.DataFrame(rows)
