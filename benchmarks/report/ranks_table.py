"""The table of mean ranks over data sets: a row per model, a column per metric, Friedman's test below."""

from __future__ import annotations

import math

import pandas as pd

from benchmarks.report.latex import Style, floating, latex_arrow
from benchmarks.report.result_tables import HEADS
from benchmarks.results.names import model_order
from benchmarks.results.ranks import Ranking, rankings

CAPTION = (
    r"Mean ranks over {n} data sets, 1 is best, with $\mathcal{{P}}(C>\tau) = 10^{{-8}}$; models that lack a score on "
    r"some data set are not ranked. $p$ is of Friedman's test with Iman and Davenport's $F$; mean ranks that differ by "
    r"less than Nemenyi's critical difference (5\%) are not told apart."
)


def rank_rows(cells: pd.DataFrame) -> pd.DataFrame:
    """One row per metric and model, best first: mean rank, Friedman's p and Nemenyi's critical difference."""
    found, reasons = rankings(cells)
    if not found:
        raise ValueError("no ranks: " + "; ".join(reasons))
    rows = [
        (r.metric, model, round(rank, 4), len(r.datasets), r.chi2, r.p_value, r.p_contenders, r.critical_difference)
        for r in found
        for model, rank in r.mean_ranks.items()
    ]
    columns = ["metric", "model", "mean_rank", "datasets", "friedman_chi2", "p_value", "p_contenders"]
    return pd.DataFrame(rows, columns=[*columns, "critical_difference"])


def render_ranks(cells: pd.DataFrame, style: Style) -> str:
    """Models in printed order; the best of each metric in bold."""
    found, _ = rankings(cells)
    models = model_order({model for r in found for model in r.mean_ranks})
    heads = (f"{HEADS.get(r.metric, r.metric.upper())} {latex_arrow(r.metric)}" for r in found)
    lines = [" & ".join(["Model", *heads]) + r" \\", r"\midrule"]
    lines += [" & ".join([style.model(m), *(_rank(r, m) for r in found)]) + r" \\" for m in models]
    lines += [r"\midrule", " & ".join(["$p$", *(_p(r.p_value) for r in found)]) + r" \\"]
    lines += [" & ".join(["$p$ without Kaplan-Meier", *(_p(r.p_contenders) for r in found)]) + r" \\"]
    lines += [" & ".join(["critical difference", *(f"{r.critical_difference:.1f}" for r in found)]) + r" \\"]
    caption = CAPTION.format(n=len(found[0].datasets))
    return floating("\n".join(lines), "l|" + "r" * len(found), caption, "tab:ranks")


def _rank(ranking: Ranking, model: str) -> str:
    rank = ranking.mean_ranks.get(model)
    if rank is None:
        return "--"
    best = rank == min(ranking.mean_ranks.values())
    return rf"\textbf{{{rank:.1f}}}" if best else f"{rank:.1f}"


def _p(value: float) -> str:
    return "--" if math.isnan(value) else "$<0.001$" if value < 0.001 else f"{value:.2g}"
