"""Two tables that sum up a run: mean ranks of the models over data sets, and counts of significant differences."""

from __future__ import annotations

import pandas as pd

from benchmarks.report.grid import HEADS
from benchmarks.report.latex import Style, against, floating, latex_arrow
from benchmarks.report.wording import p_value
from benchmarks.results.counting import WAYS, counts
from benchmarks.results.names import model_order
from benchmarks.results.ranks import rankings

RANKS = (
    r"Mean ranks over {n} data sets, 1 is best, with $\mathcal{{P}}(C>\tau) = 10^{{-8}}$; models that lack a score on "
    r"some data set are not ranked. $p$ is of Friedman's test with Iman and Davenport's $F$; mean ranks that differ by "
    r"less than Nemenyi's critical difference (5\%) are not told apart."
)
COUNTS = (
    r"Significant differences to SODEN ($p<0.05$, paired t-tests over splits) of each table's tests, and in brackets "
    r"how many of them are in the other model's favour: as the asterisks have them (plain); after Holm's correction "
    r"for the number of tests in the table; with the variance corrected for overlapping splits (Nadeau and Bengio "
    r"2003, N--B); with both. Wins, ties and losses of the other models against SODEN, split by split; a tie is a "
    r"difference below $0.0005$."
)
COUNTED = {"plain": "plain", "holm": "Holm", "corrected": "N--B", "both": "N--B, Holm"}


def _lines(*rows: list[str]) -> list[str]:
    return [" & ".join(row) + r" \\" for row in rows]


def rank_rows(cells: pd.DataFrame, _style: Style | None = None) -> pd.DataFrame:
    """One row per metric and model, best first: mean rank, Friedman's p and Nemenyi's critical difference."""
    ranked, reasons = rankings(cells)
    if not ranked:
        raise ValueError("no ranks: " + "; ".join(reasons))
    rows = [
        (r.metric, model, round(rank, 4), len(r.datasets), r.chi2, r.p_value, r.p_contenders, r.critical_difference)
        for r in ranked
        for model, rank in r.mean_ranks.items()
    ]
    columns = ["metric", "model", "mean_rank", "datasets", "friedman_chi2", "p_value", "p_contenders"]
    return pd.DataFrame(rows, columns=[*columns, "critical_difference"])


def render_ranks(cells: pd.DataFrame, style: Style) -> str:
    """LaTeX: models down, metrics across, the best of each metric in bold; Friedman's test below."""
    ranked, _ = rankings(cells)
    body = []
    for model in model_order({model for r in ranked for model in r.mean_ranks}):
        texts = [f"{r.mean_ranks[model]:.1f}" if model in r.mean_ranks else "--" for r in ranked]
        best = [r.mean_ranks.get(model) == min(r.mean_ranks.values()) for r in ranked]
        body.append([style.model(model), *(rf"\textbf{{{t}}}" if b else t for t, b in zip(texts, best, strict=True))])
    heads = (f"{HEADS.get(r.metric, r.metric.upper())} {latex_arrow(r.metric)}" for r in ranked)
    foot = [
        ["$p$", *(_p(r.p_value) for r in ranked)],
        ["$p$ without Kaplan-Meier", *(_p(r.p_contenders) for r in ranked)],
        ["critical difference", *(f"{r.critical_difference:.1f}" for r in ranked)],
    ]
    lines = [*_lines(["Model", *heads]), r"\midrule", *_lines(*body), r"\midrule", *_lines(*foot)]
    caption = RANKS.format(n=len(ranked[0].datasets))
    return floating("\n".join(lines), "l|" + "r" * len(ranked), caption, "tab:ranks")


def _p(value: float) -> str:
    text = p_value(value, none="--")
    return f"${text.replace(' ', '')}$" if text.startswith("<") else text


def count_rows(tests: pd.DataFrame, _style: Style | None = None) -> pd.DataFrame:
    """One row per table of the study: its tests, the significant ones, and wins, ties and losses against SODEN."""
    return counts(tests)


def render_counts(tests: pd.DataFrame, style: Style) -> str:
    """LaTeX: a line per table of the study."""
    names = {"ablation": "Ablation", "beyond": "All models"}
    body = []
    for row in counts(tests).to_dict("records"):
        ways = [f"{row[way]} ({row[f'{way}_better']})" for way in WAYS]
        name = names.get(row["table"]) or style.dataset(row["table"])
        body.append([name, str(row["tests"]), *ways, *(str(row[side]) for side in ("wins", "ties", "losses"))])
    heads = ["Table", "Tests", *(COUNTED[way] for way in WAYS), "Wins", "Ties", "Losses"]
    lines = [*_lines(heads), r"\midrule", *_lines(*body)]
    return floating("\n".join(lines), "lr|rrrr|rrr", against(COUNTS, style), "tab:counting")
