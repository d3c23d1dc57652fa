"""Metrics: ours against plain Python loops, pycox's EvalSurv and scikit-survival, on the same predictions."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from benchmarks.metrics.antolini import antolini_ctd
from benchmarks.metrics.base import MetricValue, Outcome, Prediction, discover, metrics
from benchmarks.metrics.evaluate import evaluate
from benchmarks.metrics.integrated import score_over_time
from benchmarks.metrics.kernels import bll_block, brier_block
from benchmarks.metrics.uno import uno_c
from benchmarks.speed import literal
from soden.types import BoolArray, FloatArray

AGREE = 1e-6  # sksurv calls risks within 1e-8 tied, we only equal ones; float sums differ by less
LEVEL = "0.2"  # of G(tau): the loops take minutes for all three
REPEATS = 10
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
    slow: bool = False  # the peer is timed once


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
    """Simulated subjects with known hazards; predictions are made before the clock starts, as each side wants them."""

    time: FloatArray
    event: BoolArray
    risk: FloatArray
    grid: FloatArray  # 1000 times inside the follow-up

    @classmethod
    def draw(cls, n: int, seed: int = 0) -> Problem:
        """Exponential event times with log-normal rates; about a third censored."""
        rng = np.random.default_rng(seed)
        risk = rng.normal(size=n)
        event_time, censoring_time = rng.exponential(np.exp(-risk)), rng.exponential(2.0, size=n)
        time, event = np.minimum(event_time, censoring_time), event_time <= censoring_time
        return cls(time, event, risk, np.linspace(time.min(), np.quantile(time, 0.99), 1000))

    def survival(self, times: FloatArray) -> FloatArray:
        """The true curves, (n, len(times))."""
        return np.exp(-np.exp(self.risk)[:, None] * times)

    @cached_property
    def whole(self) -> Prediction:
        """What `evaluate` asks for, all of it."""
        outcome = Outcome(self.time, self.event)
        times = np.unique(np.concatenate([m.times(outcome) for m in discover().values()]))
        return Prediction(outcome, times, self.survival(times))

    def fresh(self) -> Prediction:
        """The whole again, with nothing cached from an earlier timing."""
        return Prediction(Outcome(self.time, self.event), self.whole.times, self.whole.survival)

    def on_grid(self, survival: FloatArray) -> Prediction:
        """The grid alone, with G as a step function like everybody else's."""
        return Prediction(Outcome(self.time, self.event, "text"), self.grid, survival)


def contests(p: Problem) -> list[Contest]:
    """Everything that is compared."""
    return [*_against_loops(p), *_against_pycox(p), *_against_sksurv(p)]


def _against_loops(p: Problem) -> list[Contest]:
    column = {t: k for k, t in enumerate(p.whole.times.tolist())}
    y, delta, matrix = p.time.tolist(), p.event.tolist(), p.whole.survival

    def S(i: int, t: float) -> float:
        return float(matrix[i, column[t]])

    def ours(name: str) -> Run:
        return lambda: metrics()[name].compute(p.fresh(), LEVEL)

    def loops(name: str) -> Run:
        return lambda: getattr(literal, name)(y, delta, S, LEVEL, "published")

    return [
        Contest(f"{name} at {LEVEL}", "plain loop", ours(name), loops(name), slow=True)
        for name in ("ctd", "ibs", "ibll")
    ]


def _against_pycox(p: Problem) -> list[Contest]:
    import pandas as pd
    from pycox.evaluation import EvalSurv

    event_times, event = np.unique(p.time[p.event]), p.event.astype(int)
    S, on_grid = p.survival(event_times), p.survival(p.grid)
    # pycox wants times as rows; steps='post' reads the row at the time itself.
    at_events = EvalSurv(pd.DataFrame(np.ascontiguousarray(S.T), index=event_times), p.time, event)
    at_grid = EvalSurv(pd.DataFrame(np.ascontiguousarray(on_grid.T), index=p.grid), p.time, event, censor_surv="km")
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
            lambda: score_over_time(p.on_grid(on_grid), p.grid, brier_block),
            lambda: at_grid.brier_score(p.grid).to_numpy(),
        ),
        Contest(
            "BLL(t), 1000 times",
            "pycox",
            lambda: score_over_time(p.on_grid(on_grid), p.grid, bll_block),
            lambda: -at_grid.nbll(p.grid).to_numpy(),
            "clips S to [1e-7, 1 - 1e-7]",
        ),
    ]


def _against_sksurv(p: Problem) -> list[Contest]:
    from sksurv import metrics as sksurv
    from sksurv.util import Surv

    y, tau, on_grid = Surv.from_arrays(p.event, p.time), float(p.grid[-1]), p.survival(p.grid)
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
            lambda: score_over_time(p.on_grid(on_grid), p.grid, brier_block),
            lambda: sksurv.brier_score(y, y, on_grid, p.grid)[1],
        ),
        Contest(
            "IBS, trapezoid",
            "scikit-survival",
            lambda: np.trapezoid(score_over_time(p.on_grid(on_grid), p.grid, brier_block), p.grid) / width,
            lambda: sksurv.integrated_brier_score(y, y, on_grid, p.grid),
        ),
    ]


def _clock(run: Run) -> tuple[float, Any]:
    start = perf_counter()
    value = run()
    return perf_counter() - start, value


def play(n: int, contest: Contest) -> Result:
    """Time both sides in turn, so that a busy moment hits both, and keep the best of each; compare their values."""
    ours = [_clock(contest.ours) for _ in range(REPEATS if contest.slow else 1)]
    theirs = [_clock(contest.theirs)]
    for _ in range(0 if contest.slow else REPEATS):
        ours.append(_clock(contest.ours))
        theirs.append(_clock(contest.theirs))
    difference = np.max(np.abs(np.asarray(ours[0][1]) - np.asarray(theirs[0][1])))
    return Result(n, contest, min(t for t, _ in ours), min(t for t, _ in theirs), float(difference))


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
        full[n] = min(_clock(lambda p=problem: _full(p))[0] for _ in range(3))  # type: ignore[misc]
    console = Console(width=120)
    console.print(_table(results))
    for n, seconds in full.items():
        console.print(f"the full set of metrics for {n:,} subjects: {seconds:.2f} s on one core, predictions given")
    wrong = [r for r in results if not r.agrees]
    for r in wrong:
        console.print(f"{r.contest.metric} at n = {r.n} differs from {r.contest.peer} by {r.difference:.2g}")
    slowest = min(r.theirs / r.ours for r in results)
    verdict = "ours is the fastest everywhere" if slowest > 1 else "a peer is faster somewhere"
    print(f"metrics: slowest ratio {slowest:.1f} x ({verdict})")
    return 0 if slowest > 1 and not wrong else 1


def _full(p: Problem) -> list[MetricValue]:
    return evaluate(p.time, p.event, lambda _: p.whole.survival, p.risk)


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
