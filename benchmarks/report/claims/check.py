"""The paper's statements in words (statements.toml): on each data set, in how many searches each of them holds."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.report.agreement import shortfall
from benchmarks.results.folder import Results, read_results
from benchmarks.results.names import higher_is_better
from benchmarks.results.replications import NEEDED, STEPS, replication_folders
from benchmarks.results.statistics import paired_t
from benchmarks.results.tidy import TRUNCATIONS, read_table

FILE = Path(__file__).with_name("statements.toml")
HOLDS, FAILS, UNDECIDED, UNTESTED = "holds", "fails", "undecided", "untested"
ONCE, NOT_ONCE = "held in one search", "not held in one search"
VERDICTS = (HOLDS, UNDECIDED, FAILS, ONCE, NOT_ONCE, UNTESTED)
MOST = "most"  # more than half
SIMULATED = "simulated"
FULL_SIMULATION = {"n": 10_000, "repetitions": 10}  # Section 4
COLUMNS = [
    *("claim", "section", "text", "rule", "dataset", "verdict", "held", "of", "why"),
    *("passed", "checks", "evidence", "fails_at", "paper"),
]


@dataclass(frozen=True)
class Statement:
    """One statement of the paper: where it stands, its words, and what must be found for it to hold."""

    name: str
    section: str
    text: str
    rule: str  # the rule in words
    sets: tuple[str, ...]
    relation: str  # the rule's function in relations.py or simulation.py
    left: tuple[str, ...] = ()
    right: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()  # instead of every model of `left` with every one of `right`
    metrics: tuple[str, ...] = ("ctd",)
    truncations: tuple[str, ...] = TRUNCATIONS
    truncations_of: Mapping[str, Sequence[str]] | None = None  # data set -> its own
    at: str = ""  # a truncation that the others are compared with
    than_on: tuple[str, ...] = ()  # data sets that are compared with
    tolerance: float = 0.0
    share: float | str = 1.0

    @property
    def compared(self) -> list[tuple[str, str]]:
        """The pairs of models."""
        return list(self.pairs) or [(one, other) for one in self.left for other in self.right]

    def cells(self, dataset: str) -> list[tuple[str, str]]:
        """The (metric, truncation) pairs; NLL has no truncation."""
        levels = (self.truncations_of or {}).get(dataset, self.truncations)
        return [(metric, g) for metric in self.metrics for g in (("",) if metric == "nll" else levels)]

    def holds(self, checks: Sequence[Check]) -> bool:
        """Whether enough of the comparisons came out as said."""
        passed = sum(check.passed for check in checks) / len(checks)
        return passed > 0.5 if self.share == MOST else passed >= float(self.share)


@dataclass(frozen=True)
class Check:
    """One comparison a statement makes: where, whether it came out as said, and the numbers."""

    where: str
    passed: bool
    evidence: str


class Evidence:
    """What the rules read of one search: cells of real data, scores per split, and the other numbers of its folder."""

    def __init__(self, cells: pd.DataFrame, run: Results | None = None) -> None:
        self.run = run
        self.marks = run.marks if run else {}
        self.rows = cells[~cells["dataset"].isin(self.marks) & cells["mean"].notna()].to_dict("records")
        self._cells = {tuple(row[k] for k in ("dataset", "model", "metric", "g_tau")): row for row in self.rows}

    def mean(self, dataset: str, model: str, metric: str, g_tau: str) -> float:
        """The mean of a cell; nan if it was not run."""
        return float(self._cells.get((dataset, model, metric, g_tau), {"mean": np.nan})["mean"])

    @cached_property
    def _splits(self) -> dict[tuple[str, ...], pd.Series]:
        scores = self.run.scores if self.run else pd.DataFrame(columns=["dataset", "model", "metric", "g_tau"])
        return _by_split(scores)

    @cached_property
    def _steps(self) -> dict[tuple[str, ...], pd.Series]:
        path = self.run.path / STEPS if self.run else None
        return _by_split(read_table(path)) if path and path.is_file() else {}

    def p_value(self, dataset: str, one: str, other: str, metric: str, g_tau: str) -> float:
        """The paired t-test between two models over splits; nan where it cannot be made.

        The paper's tables have asterisks for differences from SODEN alone: 0 and 1 stand for with and without.
        """
        if self.run is None:
            if "soden" not in (one, other) or not metric:
                return float("nan")
            cell = self._cells.get((dataset, other if one == "soden" else one, metric, g_tau), {})
            return float(not cell["significant"]) if cell else float("nan")
        return _p_value(*(self._splits.get((dataset, model, metric, g_tau)) for model in (one, other)))

    def against_steps(self, dataset: str, model: str, metric: str, g_tau: str) -> tuple[float, float, float]:
        """Mean of a discrete-time model with interpolation, mean as a step function, p-value; nan if not scored."""
        both = [frame.get((dataset, model, metric, g_tau)) for frame in (self._splits, self._steps)]
        if both[0] is None or both[1] is None:
            return np.nan, np.nan, np.nan
        return float(both[0].mean()), float(both[1].mean()), _p_value(*both)


def _by_split(scores: pd.DataFrame) -> dict[tuple[str, ...], pd.Series]:
    groups = scores.groupby(["dataset", "model", "metric", "g_tau"])
    return {key: part.set_index("split")["value"] for key, part in groups}


def _p_value(one: pd.Series | None, other: pd.Series | None) -> float:
    return float("nan") if one is None or other is None else paired_t((one - other).dropna().to_numpy(float))[3]


def is_better(metric: str, one: float, other: float) -> bool:
    """Whether one value is better than the other, in the metric's direction."""
    return one > other if higher_is_better(metric) else one < other


@cache
def statements() -> tuple[Statement, ...]:
    """Every statement, in the paper's order."""

    def value(item: Any) -> Any:
        return tuple(value(part) for part in item) if isinstance(item, list) else item

    listed = tomllib.loads(FILE.read_text(encoding="utf-8"))["statement"]
    return tuple(Statement(**{name: value(item) for name, item in fields.items()}) for fields in listed)


def checks_of(statement: Statement, evidence: Evidence, dataset: str) -> list[Check]:
    """The comparisons of a statement on one data set; none where it cannot be tested."""
    from benchmarks.report.claims import relations, simulation

    if dataset == SIMULATED:
        rule = getattr(simulation, statement.relation)
        runs = evidence.run.simulations if evidence.run else ()
        return [Check(f"repetition {run['meta']['repetition']}", *rule(run)) for run in runs]
    return list(getattr(relations, statement.relation)(evidence, statement, dataset))


def verdict(held: int, of: int) -> str:
    """Of `of` replications the statement holds in `held`: in all but one, in at most one, or something between."""
    if of < 2:
        return (NOT_ONCE, ONCE)[held] if of else UNTESTED
    if held >= of - 1 and held > of / 2:
        return HOLDS
    return FAILS if held <= 1 and held < of / 2 else UNDECIDED


def check_claims(run: Results, published: pd.DataFrame, replications: Sequence[Results] = ()) -> pd.DataFrame:
    """A row per statement and data set: this run's comparisons, and the verdict of the replications.

    With fewer replications of a data set than verdicts rest on, it is that of one search, this run's. A run of less
    than the paper's protocol gets none.
    """
    ours, paper = Evidence(run.cells, run), Evidence(published)
    others = [Evidence(other.cells, other) for other in replications]
    return pd.DataFrame([_row(s, d, ours, paper, others) for s in statements() for d in s.sets], columns=COLUMNS)


def kept_replications() -> list[Results]:
    """The kept replications."""
    return [read_results(folder) for folder in replication_folders()]


def _row(s: Statement, dataset: str, ours: Evidence, paper: Evidence, kept: Sequence[Evidence]) -> dict[str, Any]:
    checks = checks_of(s, ours, dataset)
    failed = [check for check in checks if not check.passed]
    why = _untested(s, dataset, ours, checks)
    if dataset == SIMULATED:  # every repetition is a draw and a fit of its own
        held = [] if why else [check.passed for check in checks]
    else:
        made = [c for one in kept if (c := checks_of(s, one, dataset))] if not why else []
        held = [s.holds(c) for c in (made if len(made) >= NEEDED else [] if why else [checks])]
    in_paper = [] if dataset == SIMULATED else checks_of(s, paper, dataset)
    return {
        "claim": s.name,
        "section": s.section,
        "text": s.text,
        "rule": s.rule,
        "dataset": dataset,
        "verdict": verdict(sum(held), len(held)),
        "held": sum(held),
        "of": len(held),
        "why": why,
        "passed": len(checks) - len(failed),
        "checks": len(checks),
        "evidence": _shown(checks),
        "fails_at": "; ".join(f"{check.where}: {check.evidence}" for check in failed),
        "paper": ("holds" if s.holds(in_paper) else "fails") if in_paper else "not in its tables",
    }


def _untested(s: Statement, dataset: str, ours: Evidence, checks: Sequence[Check]) -> str:
    """Why a statement gets no verdict on a data set; empty if it gets one."""
    if dataset in ours.marks:
        return f"{ours.marks[dataset]} data"
    if not checks:
        return "no model was scored without interpolation" if s.relation == "better_than_steps" else "not run"
    if dataset == SIMULATED:
        meta = ours.run.simulations[0]["meta"] if ours.run else {}
        if len(checks) < FULL_SIMULATION["repetitions"] or meta["n"] < FULL_SIMULATION["n"]:
            return f"{len(checks)} repetitions of {meta['n']:,} subjects"
        return ""
    less = [text for row in ours.rows if row["dataset"] == dataset and (text := shortfall(row))]
    return less[0] if less else ""


def _shown(checks: Sequence[Check]) -> str:
    """A few comparisons that came out as said; those that did not are all listed elsewhere."""
    passed = [check for check in checks if check.passed]
    text = "; ".join(f"{check.where}: {check.evidence}" for check in passed[:3])
    return text + (f"; and {len(passed) - 3} more" if len(passed) > 3 else "")
