"""The paper's statements in words, each a rule that our numbers pass or fail, and the same rule on its own tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from benchmarks.results.folder import Results, Row
from benchmarks.results.names import DATASETS, dataset_label
from benchmarks.results.statistics import ALPHA, compare

PAPER_DATASETS = ("mimic_seq", "mimic", "support", "metabric")
VERDICTS = ("holds", "holds in part", "does not hold", "not tested")
# What a quantifier of the text asks for: the share of the checks that must pass.
ALL, ALMOST_ALL, MOST = 1.0, 0.9, 0.5


@dataclass(frozen=True)
class Check:
    """One comparison a statement makes: where, whether it came out as said, and the numbers."""

    dataset: str
    where: str
    passed: bool
    evidence: str


class Evidence:
    """Cells of real data, one per data set, model, metric and truncation, and what else the rules read."""

    def __init__(self, cells: pd.DataFrame, run: Results | None = None) -> None:
        self.run = run
        self.marks = run.marks if run else {}
        real = cells[~cells["dataset"].isin(self.marks) & cells["mean"].notna()]
        self.datasets = [name for name in PAPER_DATASETS if name in set(real["dataset"])]
        keys = ["dataset", "model", "metric", "g_tau"]
        self._cells = {tuple(row[k] for k in keys): row for row in real.to_dict("records")}

    def cell(self, dataset: str, model: str, metric: str, g_tau: str) -> Row | None:
        """A cell, or None if it was not run."""
        return self._cells.get((dataset, model, metric, g_tau))

    def mean(self, dataset: str, model: str, metric: str, g_tau: str) -> float | None:
        """Its mean."""
        found = self.cell(dataset, model, metric, g_tau)
        return None if found is None else float(found["mean"])

    @cached_property
    def _against_cox(self) -> dict[tuple[str, ...], float]:
        tests = compare(self.run.scores, "cox") if self.run else pd.DataFrame(columns=["dataset"])
        return {(r.dataset, r.model, r.metric, r.g_tau): r.p_value for r in tests.itertuples()}

    def p_against_cox(self, dataset: str, model: str, metric: str, g_tau: str) -> float | None:
        """The paired t-test against Cox; the paper printed none, so there its means alone are read."""
        return self._against_cox.get((dataset, model, metric, g_tau))


Rule = Callable[[Evidence], Iterable[Check]]


@dataclass(frozen=True)
class Claim:
    """A statement: where it stands, in the paper's words, how it is checked."""

    name: str
    section: str
    text: str
    rule_text: str
    rule: Rule
    about: tuple[str, ...]  # data sets it speaks of
    share: float = ALL
    in_tables: bool = True  # whether the paper's own tables hold what the rule reads


def judge(checks: list[Check], share: float) -> str:
    """holds: the share asked for passes (more than half for "most"); holds in part: at least half of that share."""
    if not checks:
        return "not tested"
    passed = sum(check.passed for check in checks) / len(checks)
    if passed >= share and (share != MOST or passed > MOST):
        return "holds"
    return "holds in part" if passed and passed >= share / 2 else "does not hold"


def judged(claim: Claim, ours: Evidence, paper: Evidence) -> Row:
    """One row of claims.csv."""
    checks = list(claim.rule(ours))
    verdict = judge(checks, claim.share)
    failed = [check for check in checks if not check.passed]
    tested = [name for name in claim.about if name in {check.dataset for check in checks}]
    return {
        "claim": claim.name,
        "section": claim.section,
        "text": claim.text,
        "rule": claim.rule_text,
        "verdict": verdict,
        "passed": len(checks) - len(failed),
        "checks": len(checks),
        "tested_on": ", ".join(_tested(name, ours) for name in tested),
        "not_tested_on": _gaps(claim, tested, ours),
        "evidence": _shown(checks, failed),
        "fails_at": "; ".join(f"{check.where}: {check.evidence}" for check in failed),
        "paper_verdict": judge(list(claim.rule(paper)), claim.share) if claim.in_tables else "not in its tables",
    }


def _tested(name: str, ours: Evidence) -> str:
    if name != "simulated" or ours.run is None:
        return dataset_label(name)
    metas = [run["meta"] for run in ours.run.simulations]
    return f"{len(metas)} repetitions of {metas[0]['n']:,} subjects, at most {metas[0]['max_epochs']} epochs"


def _gaps(claim: Claim, tested: list[str], ours: Evidence) -> str:
    reasons = {name: f"{ours.marks[name]} data" if name in ours.marks else "not run" for name in claim.about}
    return ", ".join(f"{DATASETS[n]} ({why})" for n, why in reasons.items() if n not in tested)


def _shown(checks: list[Check], failed: list[Check]) -> str:
    """A few checks that passed; those that did not are all listed elsewhere."""
    passed = [check for check in checks if check not in failed]
    text = "; ".join(f"{check.where}: {check.evidence}" for check in passed[:3])
    return text + (f"; and {len(passed) - 3} more" if len(passed) > 3 else "")


def all_claims() -> tuple[Claim, ...]:
    """Every statement, in the paper's order."""
    from benchmarks.report.claims.ablation import CLAIMS as ablation
    from benchmarks.report.claims.comparison import CLAIMS as comparison
    from benchmarks.report.claims.simulation import CLAIMS as simulation

    return (*simulation, *comparison, *ablation)


def check_claims(run: Results, published: pd.DataFrame) -> pd.DataFrame:
    """All statements with their verdicts."""
    ours, paper = Evidence(run.cells, run), Evidence(published)
    return pd.DataFrame([judged(claim, ours, paper) for claim in all_claims()])


def significant(p_value: float | None) -> bool:
    """p < 0.05; unknown is not significant."""
    return p_value is not None and p_value < ALPHA
