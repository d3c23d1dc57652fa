"""The same predictions under every C-index and Brier convention, and whether the ranking of the models changes."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from benchmarks.results.names import DATASETS, higher_is_better, in_order, metric_label, model_order
from benchmarks.results.tidy import TRUNCATIONS

# Family -> its base (what the published tables use), then the others: (convention, metric, g_tau).
Key = tuple[str, str, str]
FAMILIES: dict[str, tuple[Key, ...]] = {
    "C-index": (
        *(("published", "ctd", g) for g in TRUNCATIONS),
        *(("text", "ctd", g) for g in TRUNCATIONS),
        ("published", "antolini", ""),
        *(("published", "uno", g) for g in TRUNCATIONS),
    ),
    "Brier score": (*(("published", "ibs", g) for g in TRUNCATIONS), *(("text", "ibs", g) for g in TRUNCATIONS)),
    "Binomial log-likelihood": (
        *(("published", "ibll", g) for g in TRUNCATIONS),
        *(("text", "ibll", g) for g in TRUNCATIONS),
    ),
}


@dataclass(frozen=True)
class Convention:
    """The models under one convention; rank 1 is best."""

    key: Key
    means: dict[str, float]
    ranks: dict[str, int]
    tau: float  # Kendall's, of the ranks against the base's
    best: list[str]
    same_order: bool
    same_best: bool

    @property
    def label(self) -> str:
        """As printed."""
        return convention_label(self.key)


@dataclass(frozen=True)
class Comparison:
    """One family of conventions on one data set; the first row is the base."""

    dataset: str
    family: str
    models: tuple[str, ...]
    rows: tuple[Convention, ...]


def convention_label(key: Key) -> str:
    """As printed: "published Cᵗᵈ 0.2"."""
    convention, metric, g_tau = key
    prefix = f"{convention} " if metric in ("ctd", "ibs", "ibll", "nll") else ""
    return f"{prefix}{metric_label(metric)}{' ' + g_tau if g_tau else ''}"


def comparisons(conventions: pd.DataFrame) -> list[Comparison]:
    """All families on all data sets; only models that have every convention of a family are ranked in it."""
    means = conventions.groupby(["dataset", "convention", "metric", "g_tau", "model"])["value"].mean()
    compared = []
    for dataset in in_order(conventions["dataset"], list(DATASETS)):
        for family, keys in FAMILIES.items():
            columns = {key: means.loc[(dataset, *key)] for key in keys if (dataset, *key) in means.index.droplevel(4)}
            wide = pd.DataFrame(columns).dropna()
            if len(wide) > 1 and columns:
                compared.append(_compare(dataset, family, wide))
    return compared


def _compare(dataset: str, family: str, wide: pd.DataFrame) -> Comparison:
    from scipy.stats import kendalltau

    models = model_order(wide.index)
    wide = wide.loc[models]
    base = _ranks(wide, wide.columns[0])
    first = base.index[base == 1].tolist()
    rows = []
    for key in wide.columns:
        ranks = _ranks(wide, key)
        best = ranks.index[ranks == 1].tolist()
        tau = float(kendalltau(base, ranks).statistic)
        same = bool((ranks == base).all())
        means = wide[key].to_dict()
        rows.append(Convention(key, means, ranks.astype(int).to_dict(), tau, best, same, best == first))
    return Comparison(dataset, family, tuple(models), tuple(rows))


def _ranks(wide: pd.DataFrame, key: Key) -> pd.Series:
    """1 is best; by the mean rounded as printed, so that a difference nobody sees is no change of rank."""
    return wide[key].round(3).rank(method="min", ascending=not higher_is_better(key[1]))


def rankings(found: list[Comparison]) -> pd.DataFrame:
    """The same as one tidy table: a row per data set, convention and model."""
    out: list[dict[str, object]] = []
    for comparison in found:
        for row in comparison.rows:
            convention, metric, g_tau = row.key
            head: dict[str, object] = {
                "dataset": comparison.dataset,
                "family": comparison.family,
                "convention": convention,
            }
            head |= {"metric": metric, "g_tau": g_tau, "kendall_tau": row.tau}
            out += [{**head, "model": m, "mean": row.means[m], "rank": row.ranks[m]} for m in comparison.models]
    return pd.DataFrame(out)


def summary(comparison: Comparison) -> str:
    """In words: does it matter which convention is used?"""
    base, *rest = comparison.rows
    moved, new_best = sum(not row.same_order for row in rest), sum(not row.same_best for row in rest)
    by_model = [[row.means[model] for row in comparison.rows] for model in comparison.models]
    largest = max(max(values) - min(values) for values in by_model)
    between = max(base.means.values()) - min(base.means.values())
    return (
        f"Against {base.label}, the order of the models changes under {moved} of {len(rest)} other conventions and "
        f"the best model under {new_best}. The convention moves one model by up to {largest:.3f}; the models differ "
        f"among themselves by {between:.3f}."
    )


def effect(conventions: pd.DataFrame, metric: str) -> list[tuple[str, float, float]]:
    """Per data set: mean and largest |published - text| over models and truncations, of means over splits."""
    part = conventions[conventions["metric"] == metric]
    if part.empty:
        return []
    means = part.groupby(["dataset", "model", "g_tau", "convention"])["value"].mean().unstack("convention")
    if not {"published", "text"} <= set(means.columns):
        return []
    gap = (means["text"] - means["published"]).abs().dropna()
    names = in_order(gap.index.get_level_values("dataset"), list(DATASETS))
    return [(name, float(gap.loc[name].mean()), float(gap.loc[name].max())) for name in names]
