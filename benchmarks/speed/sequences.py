"""Series: the GRU that reads them against torch's own, and against what the processor can do, at MIMIC-SEQ's sizes.

The limit is the time that the needed matrix products alone would take at the speed of a large one, in the same process.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from statistics import geometric_mean
from time import process_time
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from benchmarks import registry
from benchmarks.seeds import rng_for
from benchmarks.speed._numerics import seconds_per_flop
from benchmarks.speed.solver import Stepper, draw_batches
from soden.backends.gru import last_state
from soden.nets import seeded
from soden.types import FitOptions, SurvivalData

STEPS, CHANNELS, STATIC = 24, 15, 7
WIDTHS, BATCHES = (8, 16, 32, 64, 128, 249), (512, 1024)
COUNTED = 64  # the widest GRU of the last line, and the goal is for these
GOAL = 2.0
CALLS = 4  # of one side before it is the other's turn
TRIAL = {"width": 32, "layers": 2, "gru_width": 32, "batch_size": 512, "lr": 1e-3, "weight_decay": 1e-6}


class Result(NamedTuple):
    """Seconds of torch's GRU, of ours, and of the products alone."""

    torch: float
    ours: float
    limit: float

    def __str__(self) -> str:
        ratios = f"{self.torch / self.ours:6.2f} {self.ours / self.limit:8.2f}"
        return f"{1e3 * self.torch:9.2f} {1e3 * self.ours:8.2f} {ratios}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this measurement."""
    parser.add_argument("--quick", action="store_true", help="fewer rounds, no SODEN step; half a minute")


def run(args: argparse.Namespace) -> int:
    """Print the table and the line that sums it up; fail where the goal is missed."""
    torch.set_num_threads(1)
    rounds = 2 if args.quick else 8
    print(f"a GRU over {STEPS} steps of {CHANNELS} channels, one thread, CPU milliseconds, best of {rounds} rounds")
    columns = f"{'torch':>9s} {'ours':>8s} {'ratio':>6s} {'x limit':>8s}"
    print(f"{'':11s} {'training step':>34s} {'inference':>34s}\n{'batch width':11s} {columns} {columns}")
    counted = []
    for n in BATCHES:
        for width in WIDTHS:
            results = measure(n, width, rounds)
            counted += results if width <= COUNTED else []
            print(f"{n:5d} {width:5d} {results[0]} {results[1]}", flush=True)
    if not args.quick:
        print(soden_step(rounds))
    ratio = geometric_mean(r.torch / r.ours for r in counted)
    print(f"goal: {GOAL:g} x torch's at widths up to {COUNTED}; least: {min(r.torch / r.ours for r in counted):.1f}")
    print(f"sequences: {ratio:.1f} x torch's GRU, {geometric_mean(r.ours / r.limit for r in counted):.1f} x the limit")
    return 0 if ratio >= GOAL else 1


def measure(n: int, width: int, rounds: int) -> list[Result]:
    """A training step and inference, by the same weights."""
    with seeded(width):
        gru = nn.GRU(CHANNELS, width, batch_first=True)
        seq, amounts = torch.randn(n, STEPS, CHANNELS), torch.randn(n, width)

    def train(states: Callable[[nn.GRU, Tensor], Tensor]) -> None:
        gru.zero_grad()
        states(gru, seq).backward(amounts)  # type: ignore[no-untyped-call]

    def infer(states: Callable[[nn.GRU, Tensor], Tensor]) -> None:
        with torch.no_grad():
            states(gru, seq)

    forward, training = flops(n, width)
    per_flop = seconds_per_flop()
    limits = ((train, training * per_flop), (infer, forward * per_flop))
    return [Result(*in_turn(call, rounds), limit) for call, limit in limits]


def torchs(gru: nn.GRU, seq: Tensor) -> Tensor:
    """The last state by torch."""
    last: Tensor = gru(seq)[1][0]
    return last


def in_turn(call: Callable[[Callable[[nn.GRU, Tensor], Tensor]], Any], rounds: int) -> tuple[float, float]:
    """CPU seconds with torch's GRU and with ours, the best of each.

    Some calls of one, then of the other: right after the other's a call finds a cache full of what it has no use for,
    which in training it does not.
    """
    best = {torchs: math.inf, last_state: math.inf}
    for states in best:
        call(states)  # loads what is loaded once
    for states in [*best] * rounds:
        for _ in range(CALLS):
            start = process_time()
            call(states)
            best[states] = min(best[states], process_time() - start)
    return best[torchs], best[last_state]


def flops(n: int, width: int) -> tuple[float, float]:
    """Of the products forward, and forward and back; the state before the first step is 0 and needs none."""
    of_x, of_h = (2.0 * n * 3 * width * size for size in (STEPS * CHANNELS, (STEPS - 1) * width))
    return of_x + of_h, 2 * (of_x + of_h) + of_h


def soden_step(rounds: int) -> str:
    """A whole training step of SODEN with series, by either GRU."""
    rng, n = rng_for(0, "speed", "sequences"), 1024
    x, seq = rng.standard_normal((n, STATIC)), rng.standard_normal((n, STEPS, CHANNELS))
    time = 0.01 + rng.standard_exponential(n)
    data = SurvivalData(time, rng.random(n) < 0.5, x, seq)
    model: Any = registry.model("soden")(TRIAL, FitOptions(max_epochs=1, device="cpu"))
    model.fit(data, data, seed=1)
    model.net.train()
    batch, stepper = draw_batches(model, data, int(TRIAL["batch_size"]), 1)[0], Stepper(model)

    def step(states: Callable[[nn.GRU, Tensor], Tensor]) -> None:
        model.net.encoder.backend = states
        stepper(batch)

    theirs, ours = in_turn(step, rounds)
    gru = measure(len(batch), int(TRIAL["gru_width"]), rounds)[0].ours
    shape = (
        f"{TRIAL['layers']}x{TRIAL['width']}, GRU {TRIAL['gru_width']}, batch {len(batch)}, N = {model.solver.steps}"
    )
    times = f"{1e3 * theirs:.1f} ms with torch's GRU, {1e3 * ours:.1f} with ours, {1e3 * gru:.1f} of them the GRU"
    return f"a training step of SODEN {shape}: {times}"
