"""Metrics: ours against plain Python loops, pycox's EvalSurv and scikit-survival, on the same predictions."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from benchmarks.metrics import literal
from benchmarks.metrics.antolini import antolini_ctd
from benchmarks.metrics.base import LEVELS, Outcome, Prediction, metrics
from benchmarks.metrics.evaluate import evaluate
from benchmarks.metrics.ibll import binomial_log_likelihood
from benchmarks.metrics.ibs import brier_score
from benchmarks.metrics.uno import uno_c
from soden.types import BoolArray, FloatArray

AGREE = 1e-6  # sksurv calls risks within 1e-8 tied, we only equal ones; float sums differ by less
Run = Callable[[], Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this measurement."""
    parser.add_argument("--quick", action="store_true", help="n = 1,000 only; a few seconds")


class Contest(NamedTuple):
    """One metric, ours and a peer's; `other_definition` says how the peer's differs, if it does."""

    metric: str
    peer: str
    ours: Run
    theirs: Run
    other_definition: str = ""
    slow: bool = False  # timed once


class Result(NamedTuple):
    """What a contest gave."""

    n: int
    contest: Contest
    ours: float  # seconds
    theirs: float
    difference: float

    @property
    def agrees(self) -> bool:
        """Equal values, or not comparable and said so."""
        return bool(self.contest.other_definition) or self.difference <= AGREE


@dataclass(frozen=True, eq=False)
class Problem:
    """Simulated subjects with known hazards, a ready matrix of predictions, and a grid inside the follow-up."""

    time: FloatArray
    event: BoolArray
    risk: FloatArray
    times: FloatArray
    survival: FloatArray
    grid: FloatArray

    @classmethod
    def draw(cls, n: int, seed: int = 0) -> Problem:
        """Exponential event times with log-normal rates; about a third censored."""
        rng = np.random.default_rng(seed)
        risk = rng.normal(size=n)
        event_time, censoring_time = rng.exponential(np.exp(-risk)), rng.exponential(2.0, size=n)
        time, event = np.minimum(event_time, censoring_time), event_time <= censoring_time
        grid = np.linspace(time.min(), np.quantile(time, 0.99), 1000)
        asked = []
        evaluate(time, event, lambda t: asked.append(t) or np.full((n, len(t)), 0.5))  # type: ignore[func-returns-value]
        times = np.unique(np.concatenate([asked[0], grid]))
        return cls(time, event, risk, times, np.exp(-np.exp(risk)[:, None] * times), grid)

    def prediction(self) -> Prediction:
        """All times, as `evaluate` makes it; a fresh one, with nothing cached from an earlier timing."""
        return Prediction(Outcome(self.time, self.event), self.times, self.survival)

    def on_grid(self, survival: FloatArray) -> Prediction:
        """The grid alone, with G as a step function like everybody else's."""
        return Prediction(Outcome(self.time, self.event, "text"), self.grid, survival)

    def at(self, times: FloatArray) -> FloatArray:
        """Columns of the ready matrix."""
        return self.survival[:, np.searchsorted(self.times, times)]


def contests(p: Problem) -> list[Contest]:
    """Everything that is compared."""
    return [*_against_loops(p), *_against_pycox(p), *_against_sksurv(p)]


def _against_loops(p: Problem) -> list[Contest]:
    column = {t: k for k, t in enumerate(p.times.tolist())}
    y, delta = p.time.tolist(), p.event.tolist()

    def S(i: int, t: float) -> float:
        return float(p.survival[i, column[t]])

    def ours(name: str) -> Run:
        def run() -> list[float]:
            prediction, metric = p.prediction(), metrics()[name]
            return [metric.compute(prediction, level) for level in LEVELS]

        return run

    def loops(name: str) -> Run:
        function = getattr(literal, name)
        return lambda: [function(y, delta, S, level, "published") for level in LEVELS]

    return [
        Contest(f"{metrics()[name].name}, 3 levels", "plain loop", ours(name), loops(name), slow=True)
        for name in ("ctd", "ibs", "ibll")
    ]


def _against_pycox(p: Problem) -> list[Contest]:
    import pandas as pd
    from pycox.evaluation import EvalSurv

    event_times, event = np.unique(p.time[p.event]), p.event.astype(int)
    S, on_grid = p.at(event_times), p.at(p.grid)
    # pycox wants times as rows; steps='post' reads the row at the time itself. Frames are made outside the timing.
    at_events = EvalSurv(pd.DataFrame(S.T, index=event_times), p.time, event)
    at_grid = EvalSurv(pd.DataFrame(on_grid.T, index=p.grid), p.time, event, censor_surv="km")
    # pycox divides by the sum of weights instead of N: the same number when no event is tied with a censoring, as here.
    return [
        Contest(
            "Antolini C",
            "pycox",
            lambda: antolini_ctd(p.time, p.event, S),
            lambda: at_events.concordance_td("adj_antolini"),
        ),
        Contest(
            "BS(t), 1000 times",
            "pycox",
            lambda: brier_score(p.on_grid(on_grid), p.grid),
            lambda: at_grid.brier_score(p.grid).to_numpy(),
        ),
        Contest(
            "BLL(t), 1000 times",
            "pycox",
            lambda: binomial_log_likelihood(p.on_grid(on_grid), p.grid),
            lambda: -at_grid.nbll(p.grid).to_numpy(),
            "clips S to [1e-7, 1 - 1e-7]",
        ),
    ]


def _against_sksurv(p: Problem) -> list[Contest]:
    from sksurv import metrics as sksurv
    from sksurv.util import Surv

    y, tau, on_grid = Surv.from_arrays(p.event, p.time), float(p.grid[-1]), p.at(p.grid)
    width = p.grid[-1] - p.grid[0]
    return [
        Contest(
            "Uno C",
            "scikit-survival",
            lambda: uno_c(p.time, p.event, p.risk, tau),
            lambda: sksurv.concordance_index_ipcw(y, y, p.risk, tau)[0],
        ),
        Contest(
            "BS(t), 1000 times",
            "scikit-survival",
            lambda: brier_score(p.on_grid(on_grid), p.grid),
            lambda: sksurv.brier_score(y, y, on_grid, p.grid)[1],
        ),
        Contest(
            "IBS, trapezoid",
            "scikit-survival",
            lambda: np.trapezoid(brier_score(p.on_grid(on_grid), p.grid), p.grid) / width,
            lambda: sksurv.integrated_brier_score(y, y, on_grid, p.grid),
        ),
    ]


def _best(run: Run, repeats: int) -> tuple[float, Any]:
    seconds = []
    for _ in range(repeats):
        start = perf_counter()
        value = run()
        seconds.append(perf_counter() - start)
    return min(seconds), value


def play(n: int, contest: Contest) -> Result:
    """Time both sides, the best of some repeats, and compare their values."""
    ours, value = _best(contest.ours, 5)
    theirs, other = _best(contest.theirs, 1 if contest.slow else 3)
    return Result(n, contest, ours, theirs, float(np.max(np.abs(np.asarray(value) - np.asarray(other)))))


def run(args: argparse.Namespace) -> int:
    """Measure, print, and fail if a value disagrees or a peer is faster."""
    warnings.simplefilter("ignore")  # pycox and its dependencies warn about their own use of older interfaces
    from rich.console import Console

    for contest in contests(Problem.draw(100)):  # compiles both sides
        contest.ours(), contest.theirs()
    results = []
    full = {}
    for n in (1000,) if args.quick else (1000, 7000):
        problem = Problem.draw(n)
        results += [play(n, contest) for contest in contests(problem)]
        full[n] = _best(lambda p=problem: evaluate(p.time, p.event, p.at, p.risk), 3)[0]  # type: ignore[misc]
    console = Console(width=120)
    console.print(_table(results))
    for n, seconds in full.items():
        console.print(
            f"the full set of metrics for {n:,} subjects: {seconds:.2f} s on one core, gathering predictions included"
        )
    wrong = [r for r in results if not r.agrees]
    for r in wrong:
        console.print(f"{r.contest.metric} at n = {r.n} differs from {r.contest.peer} by {r.difference:.2g}")
    slowest = min(r.theirs / r.ours for r in results)
    verdict = "ours is the fastest everywhere" if slowest > 1 else "a peer is faster somewhere"
    print(f"metrics: slowest ratio {slowest:.1f} x ({verdict})")
    return 0 if slowest > 1 and not wrong else 1


def _table(results: list[Result]) -> Any:
    from rich.table import Table

    table = Table(title="The same predictions, milliseconds (best of several), one thread")
    for name in ("n", "metric", "peer"):
        table.add_column(name)
    for name in ("ours", "peer", "ratio"):
        table.add_column(name, justify="right")
    table.add_column("values")
    for r in results:
        c = r.contest
        same = (
            f"differ by {r.difference:.0e}: {c.other_definition}" if c.other_definition else f"{r.difference:.0e} apart"
        )
        milliseconds = (f"{r.ours * 1e3:.1f}", f"{r.theirs * 1e3:.1f}", f"{r.theirs / r.ours:.1f} x")
        table.add_row(f"{r.n:,}", c.metric, c.peer, *milliseconds, same)
    return table
