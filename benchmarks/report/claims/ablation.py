"""Sections 5.1, 5.4, 5.5.2 and 5.5.3: the data, SODEN's variants, and the two risk groups."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from benchmarks.report.claims.check import MOST, PAPER_DATASETS, Check, Claim, Evidence
from benchmarks.results.names import DATASETS, MODELS, VARIANTS
from benchmarks.results.tidy import TRUNCATIONS

COUNTERPARTS = (("soden_cox", "cox"), ("soden_ph", "deepsurv"))
SIMILAR = 0.01  # C of a variant and of its counterpart
METRICS = (("nll", ""), *(("ctd", g) for g in TRUNCATIONS))
LOG_RANK = 0.001  # p below which the paper's two risk groups differ
MIMIC = ("mimic", "mimic_seq")


def like_counterparts(e: Evidence) -> Iterator[Check]:
    """C of SODEN-Cox near that of Cox, of SODEN-PH near that of DeepSurv."""
    for d, g, (variant, other) in product(e.datasets, TRUNCATIONS, COUNTERPARTS):
        one, two = e.mean(d, variant, "ctd", g), e.mean(d, other, "ctd", g)
        if one is not None and two is not None:
            where = f"{DATASETS[d]} {g} {MODELS[variant]} and {MODELS[other]}"
            yield Check(d, where, abs(one - two) <= SIMILAR, f"{one:.3f} and {two:.3f}")


def _beats_variants(e: Evidence, metric: str, levels: tuple[str, ...], sign: int) -> Iterator[Check]:
    for d, g, variant in product(e.datasets, levels, VARIANTS[1:]):
        ours, other = e.cell(d, "soden", metric, g), e.cell(d, variant, metric, g)
        if ours is not None and other is not None:
            passed = sign * (ours["mean"] - other["mean"]) > 0 and bool(other["significant"])
            p = "" if other["p_value"] != other["p_value"] else f", p = {other['p_value']:.2g}"
            where = " ".join(filter(None, (DATASETS[d], g, "vs", MODELS[variant])))
            yield Check(d, where, passed, f"{ours['mean']:.3f} and {other['mean']:.3f}{p}")


def better_nll(e: Evidence) -> Iterator[Check]:
    """NLL of SODEN significantly below that of both variants."""
    yield from _beats_variants(e, "nll", ("",), -1)


def better_c(e: Evidence) -> Iterator[Check]:
    """C of SODEN significantly above that of both variants."""
    yield from _beats_variants(e, "ctd", TRUNCATIONS, 1)


def linear_is_worst(e: Evidence) -> Iterator[Check]:
    """SODEN-Cox has the worst NLL and C of the three."""
    for d, (metric, g) in product(e.datasets, METRICS):
        values = [e.mean(d, m, metric, g) for m in ("soden_cox", "soden", "soden_ph")]
        known = [v for v in values if v is not None]
        if len(known) == 3:
            worst = max(known) if metric == "nll" else min(known)
            text = ", ".join(f"{v:.3f}" for v in known)
            yield Check(d, " ".join(filter(None, (DATASETS[d], metric, g))), known[0] == worst, text)


def log_rank(e: Evidence) -> Iterator[Check]:
    """The log-rank test between SODEN's high- and low-risk halves, on each split."""
    for row in e.run.risk_groups if e.run else ():
        if row["model"] == "soden" and row["dataset"] in e.datasets and row["dataset"] in ABOUT_RISK:
            where = f"{DATASETS[row['dataset']]} split {row['split']}"
            yield Check(row["dataset"], where, row["p_value"] < LOG_RANK, f"p = {row['p_value']:.1e}")


ABOUT_RISK = ("mimic", "support", "metabric")  # the paper shows MIMIC; the others are asked the same


def _summaries(e: Evidence) -> Iterator[dict[str, float]]:
    for row in e.run.datasets.to_dict("records") if e.run else ():
        if row["dataset"] in MIMIC and not row["mark"]:
            yield row


def right_skewed(e: Evidence) -> Iterator[Check]:
    """Mean at least twice the median, for event and censoring times."""
    for row, kind in product(_summaries(e), ("observed", "censored")):
        mean, median = row[f"{kind}_mean"], row[f"{kind}_median"]
        where = f"{DATASETS[str(row['dataset'])]} {kind}"
        yield Check(str(row["dataset"]), where, mean >= 2 * median, f"mean {mean:.2f}, median {median:.2f} years")


def large_cohort(e: Evidence) -> Iterator[Check]:
    """More than 35,000 subjects."""
    for row in _summaries(e):
        yield Check(str(row["dataset"]), DATASETS[str(row["dataset"])], row["n"] > 35_000, f"{row['n']:,} subjects")


def untested(e: Evidence) -> Iterator[Check]:
    """No rule: a run holds nothing that could decide it."""
    yield from ()


CLAIMS = (
    Claim(
        "large_cohort",
        "5.1",
        "MIMIC gives a data set with over 35k samples.",
        "more than 35,000 subjects",
        large_cohort,
        MIMIC,
        in_tables=False,
    ),
    Claim(
        "right_skewed",
        "5.5.1",
        "Event and censoring times in MIMIC both have heavily right-skewed distributions.",
        "mean at least twice the median",
        right_skewed,
        MIMIC,
        in_tables=False,
    ),
    Claim(
        "interpolation_helps",
        "5.4",
        "Smoothing by interpolation is an important step to improve the discrete-time models.",
        "needs the same models scored without interpolation, which no run does",
        untested,
        PAPER_DATASETS,
        in_tables=False,
    ),
    Claim(
        "like_counterparts",
        "5.5.2",
        "The C-index of SODEN-Cox and SODEN-PH is similar to that of Cox and DeepSurv.",
        f"means within {SIMILAR}",
        like_counterparts,
        PAPER_DATASETS,
    ),
    Claim(
        "better_nll",
        "5.5.2",
        "SODEN outperforms SODEN-PH and SODEN-Cox in NLL by a large margin.",
        "lower mean and p < 0.05 in the paired t-test",
        better_nll,
        PAPER_DATASETS,
    ),
    Claim(
        "better_c",
        "5.5.2",
        "SODEN outperforms SODEN-PH and SODEN-Cox in C-index (ablation table).",
        "higher mean and p < 0.05 in the paired t-test",
        better_c,
        PAPER_DATASETS,
    ),
    Claim(
        "linear_is_worst",
        "5.5.2",
        "SODEN-Cox is often the worst of the three.",
        "worst mean in most rows of the ablation table",
        linear_is_worst,
        ("mimic", "support", "metabric"),
        MOST,
    ),
    Claim(
        "log_rank",
        "5.5.3",
        "The log-rank test between SODEN's high- and low-risk halves on MIMIC has p < 0.001.",
        "p < 0.001 on every split (SUPPORT and METABRIC: the same question, beyond the paper)",
        log_rank,
        ABOUT_RISK,
        in_tables=False,
    ),
)
