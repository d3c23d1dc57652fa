"""The rules that statements name as their relation: what is compared on one data set, and what came out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.report.claims.check import Check, Evidence, Statement, is_better
from benchmarks.results.names import dataset_label, higher_is_better, metric_label, model_label
from benchmarks.results.statistics import ALPHA

LOG_RANK = 0.001  # p below which the paper's two risk groups differ

Checks = Iterator[Check]


@dataclass(frozen=True)
class _Pair:
    """The means of two models in one cell."""

    where: str
    other: str
    one_mean: float
    other_mean: float
    better: bool  # the first than the second
    p: float

    def __str__(self) -> str:
        return _numbers(self.one_mean, self.other_mean) + ("" if math.isnan(self.p) else f", p = {self.p:.2g}")


def _pairs(e: Evidence, s: Statement, dataset: str, test: bool = False) -> Iterator[_Pair]:
    """Every pair of models in every cell that both have; with their paired t-test if asked for."""
    for metric, g in s.cells(dataset):
        for one, other in s.compared:
            a, b = e.mean(dataset, one, metric, g), e.mean(dataset, other, metric, g)
            if not math.isnan(a + b):
                where = f"{_cell(metric, g)}, {model_label(one)} and {model_label(other)}"
                p = e.p_value(dataset, one, other, metric, g) if test else math.nan
                yield _Pair(where, other, a, b, is_better(metric, a, b), p)


def _cell(metric: str, g: str) -> str:
    return f"{metric_label(metric)} at {g}" if g else metric_label(metric)


def _numbers(one: float, other: float) -> str:
    return f"{one:.3f} and {other:.3f}"


def better(e: Evidence, s: Statement, dataset: str) -> Checks:
    """The first model's mean is better."""
    for pair in _pairs(e, s, dataset):
        yield Check(pair.where, pair.better, str(pair))


def _significant(e: Evidence, pair: _Pair) -> bool:
    """Better with p < 0.05; the paper printed no test between other models than SODEN, so there means alone count."""
    return pair.better and (pair.p < ALPHA or (e.run is None and math.isnan(pair.p)))


def significantly_better(e: Evidence, s: Statement, dataset: str) -> Checks:
    """The same, and p < 0.05 in the paired t-test."""
    for pair in _pairs(e, s, dataset, test=True):
        yield Check(pair.where, _significant(e, pair), str(pair))


def significantly_better_somewhere(e: Evidence, s: Statement, dataset: str) -> Checks:
    """The same at one truncation at least, for each model compared with."""
    by_other: dict[str, list[bool]] = {}
    for pair in _pairs(e, s, dataset, test=True):
        by_other.setdefault(pair.other, []).append(_significant(e, pair))
    for other, passed in by_other.items():
        yield Check(f"against {model_label(other)}", any(passed), f"at {sum(passed)} of {len(passed)} truncations")


def not_significantly_worse(e: Evidence, s: Statement, dataset: str) -> Checks:
    """The first model's mean is better, or p >= 0.05."""
    for pair in _pairs(e, s, dataset, test=True):
        yield Check(pair.where, pair.one_mean == pair.other_mean or pair.better or not pair.p < ALPHA, str(pair))


def similar(e: Evidence, s: Statement, dataset: str) -> Checks:
    """Both means are within the tolerance."""
    for pair in _pairs(e, s, dataset):
        yield Check(pair.where, abs(pair.one_mean - pair.other_mean) <= s.tolerance, str(pair))


def within(e: Evidence, s: Statement, dataset: str) -> Checks:
    """All means are within the tolerance of each other."""
    for metric, g in s.cells(dataset):
        values = [v for model in s.left if not math.isnan(v := e.mean(dataset, model, metric, g))]
        if len(values) > 1:
            text = f"from {min(values):.3f} to {max(values):.3f}"
            yield Check(_cell(metric, g), max(values) - min(values) <= s.tolerance, text)


def best(e: Evidence, s: Statement, dataset: str, worst: bool = False) -> Checks:
    """The first model's mean, rounded as printed, is the best of all; at least three are compared."""
    for metric, g in s.cells(dataset):
        means = {m: round(v, 3) for m in (*s.left, *s.right) if not math.isnan(v := e.mean(dataset, m, metric, g))}
        if s.left[0] in means and len(means) > 2:
            extreme = (max if higher_is_better(metric) is not worst else min)(means.values())
            who = ", ".join(model_label(m) for m, v in means.items() if v == extreme)
            text = f"{'worst' if worst else 'best'} {extreme:.3f} ({who})"
            yield Check(_cell(metric, g), means[s.left[0]] == extreme, text)


def worst(e: Evidence, s: Statement, dataset: str) -> Checks:
    """The first model's mean, rounded as printed, is the worst of all."""
    return best(e, s, dataset, worst=True)


def _truncated(e: Evidence, s: Statement, dataset: str) -> Iterator[tuple[str, float, float]]:
    """Each model's mean at a truncation and at the one it is compared with."""
    for metric, g in s.cells(dataset):
        for model in s.left:
            one, other = e.mean(dataset, model, metric, g), e.mean(dataset, model, metric, s.at)
            if not math.isnan(one + other):
                yield f"{model_label(model)}, {_cell(metric, g)} and {s.at}", one, other


def lower_than_at(e: Evidence, s: Statement, dataset: str) -> Checks:
    """A model's mean is lower than at another truncation."""
    for where, one, other in _truncated(e, s, dataset):
        yield Check(where, one < other, _numbers(one, other))


def similar_to_at(e: Evidence, s: Statement, dataset: str) -> Checks:
    """A model's mean is within the tolerance of that at another truncation."""
    for where, one, other in _truncated(e, s, dataset):
        yield Check(where, abs(one - other) <= s.tolerance, f"{one:.4f} and {other:.4f}")


def no_more_significant_than_at(e: Evidence, s: Statement, dataset: str) -> Checks:
    """No more models differ significantly from the right one than at another truncation."""
    for metric, g in s.cells(dataset):
        tests = [[e.p_value(dataset, one, other, metric, level) for one, other in s.compared] for level in (g, s.at)]
        if not all(math.isnan(p) for level in tests for p in level):
            here, there = (sum(p < ALPHA for p in level) for level in tests)
            yield Check(_cell(metric, g), here <= there, f"{here} significant differences, {there} at {s.at}")


def smaller_lead(e: Evidence, s: Statement, dataset: str) -> Checks:
    """The mean lead over the right model, over truncations, is smaller than on each of the other data sets."""

    def lead(model: str, name: str) -> float:
        gaps = [e.mean(name, model, m, g) - e.mean(name, s.right[0], m, g) for m, g in s.cells(name)]
        known = [gap for gap in gaps if not math.isnan(gap)]
        return sum(known) / len(known) if known else math.nan

    for model in s.left:
        for other in s.than_on:
            here, there = lead(model, dataset), lead(model, other)
            if not math.isnan(here + there):
                where = f"{model_label(model)}, here and on {dataset_label(other)}"
                yield Check(where, here < there, f"ahead of {model_label(s.right[0])} by {here:+.3f} and {there:+.3f}")


def better_c_worse_calibration(e: Evidence, s: Statement, dataset: str) -> Checks:
    """Where the left model's C is higher than the right one's, its IBLL is lower and its IBS higher."""
    for _, g in s.cells(dataset):
        one, other = ([e.mean(dataset, m, x, g) for x in ("ctd", "ibll", "ibs")] for m in (s.left[0], s.right[0]))
        if not math.isnan(sum(one) + sum(other)) and one[0] > other[0]:
            text = f"IBLL {_numbers(one[1], other[1])}, IBS {_numbers(one[2], other[2])}"
            yield Check(_cell("ctd", g), one[1] < other[1] and one[2] > other[2], text)


def better_than_steps(e: Evidence, s: Statement, dataset: str) -> Checks:
    """A discrete-time model's scores with interpolation are significantly better than those of its step function."""
    for metric, g in s.cells(dataset):
        for model in s.left:
            smooth, steps, p = e.against_steps(dataset, model, metric, g)
            if not math.isnan(smooth + steps):
                passed = is_better(metric, smooth, steps) and p < ALPHA
                yield Check(
                    f"{_cell(metric, g)}, {model_label(model)}", passed, f"{_numbers(smooth, steps)}, p = {p:.2g}"
                )


def log_rank(e: Evidence, s: Statement, dataset: str) -> Checks:
    """The log-rank test between the model's high- and low-risk halves, on each split."""
    for row in e.run.risk_groups if e.run else ():
        if row["model"] in s.left and row["dataset"] == dataset:
            yield Check(f"split {row['split']}", row["p_value"] < LOG_RANK, f"p = {row['p_value']:.1e}")


def right_skewed(e: Evidence, s: Statement, dataset: str) -> Checks:
    """Event and censoring times: mean at least twice the median."""
    for row in _summaries(e, dataset):
        for kind in ("observed", "censored"):
            mean, median = row[f"{kind}_mean"], row[f"{kind}_median"]
            yield Check(f"{kind} times", mean >= 2 * median, f"mean {mean:.2f}, median {median:.2f} years")


def large_cohort(e: Evidence, s: Statement, dataset: str) -> Checks:
    """More than 35,000 subjects."""
    for row in _summaries(e, dataset):
        yield Check("subjects", row["n"] > 35_000, f"{row['n']:,} subjects")


def _summaries(e: Evidence, dataset: str) -> list[dict[str, float]]:
    rows = e.run.datasets.to_dict("records") if e.run else []
    return [row for row in rows if row["dataset"] == dataset and not row["mark"]]
