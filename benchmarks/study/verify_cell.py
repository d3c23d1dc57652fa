"""From a cell back to its networks: fit the chosen trials of each split again and score them on the test part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.elementary import portable_functions
from benchmarks.metrics.evaluate import evaluate
from benchmarks.results.folder import Results
from benchmarks.results.types import Cell, Trial, read_trials
from benchmarks.study.store import spreads
from benchmarks.study.verify import Again

ROUNDING = 1e-9  # a test value this near is the same: the table keeps its decimals


@dataclass(frozen=True)
class Refit:
    """One split of a cell: the chosen trial's validation score and its test value, as kept and as computed now."""

    split: int
    trial: int
    valid_then: float
    valid_now: float
    test_then: float
    test_now: float
    verdict: str  # on the trial: identical, equivalent: ... or different: ...

    @property
    def same(self) -> bool:
        """Whether the trial and its test value came out again."""
        if self.verdict == "identical":
            return abs(self.test_then - self.test_now) <= ROUNDING
        return self.verdict.startswith("equivalent")


def refit(run: Results, cell: Cell, work: Path) -> Iterator[Refit]:
    """Each split of a cell in turn; `work` is an empty folder for splits and fitted models."""
    key = {"dataset": cell.dataset, "model": cell.model}
    table = run.trials[(run.trials[list(key)] == list(key.values())).all(axis=1)]
    trials = {trial.pair: trial for trial in read_trials(table)}
    scores = run.scores
    for name in ("dataset", "model", "metric", "g_tau"):
        scores = scores[scores[name] == getattr(cell, name)]
    values = dict(zip(scores["split"], scores["value"], strict=True))
    again, spread = Again(run.path, work), spreads(run.path)
    for chosen in sorted((row for row in run.chosen if row.split in values), key=lambda row: row.split):
        if (chosen.dataset, chosen.model) != (cell.dataset, cell.model) or chosen.trial is None:
            continue
        then = trials[chosen.split, chosen.trial]
        now, value = _fit_and_score(again, then, cell, run.convention(cell.dataset))
        verdict = then.judge(now, spread.get((cell.dataset, cell.model), float("nan")))
        scored = (then.score, now.score, values[chosen.split], value)
        yield Refit(chosen.split, chosen.trial, *scored, verdict)


def _fit_and_score(again: Again, then: Trial, cell: Cell, convention: Any) -> tuple[Trial, float]:
    search = again.search(cell.dataset, cell.model, then.split)
    now, model = search.fit(*then.pair)
    if model is None:
        raise RuntimeError(f"{then.key} was fitted once but fails now: {now.message}")
    test = search.test(then.split)
    with portable_functions():
        terms = model.nll(test)
        scores = evaluate(test.time, test.event, lambda times: model.predict_survival(test, times), terms, convention)
    return now, next(s.value for s in scores if (s.metric, s.g_tau) == (cell.metric, cell.g_tau))
