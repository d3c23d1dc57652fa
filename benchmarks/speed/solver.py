"""SODEN: a training step at trained states against the paper's scheme, torchdiffeq and a float64 solution."""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks import registry
from benchmarks.seeds import rng_for
from benchmarks.speed._parts import first_split
from benchmarks.speed._truth import relative_error, truth
from soden.models import OdeModel
from soden.solver import FastSolver
from soden.training import Batch, RMSProp, flatten_parameters
from soden.types import SurvivalData

STATES = Path(__file__).with_name("states")
BATCH = {"support": 256, "metabric": 64}
SIZES = ("32x2", "128x4")
SCHEMES = ("adjoint", "direct", "fast")  # the paper's scheme first: all ratios are to it


class Row(NamedTuple):
    """One scheme at one state."""

    scheme: str
    ms: float
    ratio: float
    largest: float  # of the relative errors in Lambda(y_i)
    mean: float
    gradient: float  # relative error, Euclidean norm


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this measurement."""
    parser.add_argument("--quick", action="store_true", help="fewer batches; under a minute on a quiet machine")
    parser.add_argument(
        "--trials", action="store_true", help="whole trials instead: time and NLL over 5 seeds (an hour)"
    )
    parser.add_argument("--dataset", choices=sorted(BATCH), help="with --trials: this set alone")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5], help="with --trials")
    parser.add_argument("--scaling", action="store_true", help="cost by batch, width, depth and memory instead")


def run(args: argparse.Namespace) -> int:
    """Print the tables and the line that sums them up."""
    torch.set_num_threads(1)
    if args.trials:
        from benchmarks.speed._trials import compare_trials

        return compare_trials([args.dataset] if args.dataset else list(BATCH), args.seeds, args.quick)
    if args.scaling:
        from benchmarks.speed._scaling import scaling_tables

        return scaling_tables(args.quick)
    general: list[dict[str, Row]] = []
    separable: list[dict[str, Row]] = []
    for dataset in BATCH:
        parts, note = first_split(dataset)
        print(f"\n{note}; batches of {BATCH[dataset]}, one thread, CPU time")
        for name in ("soden", "soden_ph", "soden_cox"):
            for size in SIZES:
                rows = measure(dataset, name, size, parts, args.quick)
                (general if name == "soden" else separable).append(rows)
    ratios = [rows["fast"].ratio for rows in general]
    print(
        f"\nSODEN step: median ratio {statistics.median(ratios):.0f}, min {min(ratios):.0f}, "
        f"error ratio {max(error_ratio(rows) for rows in general):.2f}; "
        f"PH/Cox: median ratio {statistics.median(rows['fast'].ratio for rows in separable):.0f}"
    )
    return 0


def error_ratio(rows: dict[str, Row]) -> float:
    """Our error in Lambda over the paper's scheme's, the worse of largest and mean."""
    ours, paper = rows["fast"], rows["adjoint"]
    return max(ours.largest / paper.largest, ours.mean / paper.mean)


def measure(dataset: str, name: str, size: str, parts: dict[str, SurvivalData], quick: bool) -> dict[str, Row]:
    """Time and error of every scheme at one trained state."""
    models = {scheme: load_state(dataset, name, size, scheme) for scheme in SCHEMES}
    steps = settle(models["fast"], parts["valid"])
    batches = draw_batches(models["fast"], parts["train"], BATCH[dataset], count=2 if quick else 8)
    timed = batches[: 5 if not quick else 2 if name == "soden" else 1]
    seconds: dict[str, list[float]] = {scheme: [] for scheme in SCHEMES}
    steppers = {scheme: Stepper(model) for scheme, model in models.items()}
    steppers["fast"](timed[0]), steppers["direct"](timed[0])  # loads what is loaded once
    gradients: dict[str, Tensor] = {}
    for batch in timed:  # alternated: whatever slows the machine down slows all
        for scheme in SCHEMES:
            repeats = 1 if scheme == "adjoint" else 2 if scheme == "direct" else 10
            seconds[scheme] += [steppers[scheme](batch) for _ in range(repeats)]
            if batch is timed[0]:
                gradients[scheme] = steppers[scheme].flat_gradient()
    exact = [truth(models["fast"], batch, gradient=batch is timed[0], steps=128 if quick else 256) for batch in batches]
    print(f"  {name} {size}: N = {steps}")
    rows = {}
    for scheme in SCHEMES:
        with torch.no_grad():
            errors = torch.cat(
                [
                    relative_error(solved(models[scheme], batch), answer.Lambda)
                    for batch, answer in zip(batches, exact, strict=True)
                ]
            )
        ms = 1e3 * statistics.median(seconds[scheme])
        rows[scheme] = Row(
            scheme,
            ms,
            1e3 * statistics.median(seconds["adjoint"]) / ms,
            float(errors.max()),
            float(errors.mean()),
            float((gradients[scheme] - exact[0].gradient).norm() / exact[0].gradient.norm()),
        )
        row = rows[scheme]
        print(
            f"    {scheme:8s} {row.ms:8.2f} ms  x{row.ratio:<6.1f} Lambda error max {row.largest:.1e} "
            f"mean {row.mean:.1e}  gradient error {row.gradient:.1e}",
            flush=True,
        )
    return rows


class Stepper:
    """One training step: loss, gradient, clipping, RMSProp. The learning rate is 0, so the state stays."""

    def __init__(self, model: OdeModel) -> None:
        self.model = model
        self.flat: nn.Parameter = flatten_parameters(model.net)
        self.optimiser = RMSProp(self.flat, lr=0.0, weight_decay=0.0, momentum=0.0, largest=1e9)

    def __call__(self, batch: Batch) -> float:
        """Seconds of CPU time, which other work on the machine touches less than the wall clock."""
        assert self.flat.grad is not None
        start = process_time()
        loss = self.model.loss(batch)
        self.flat.grad.zero_()
        loss.backward()  # type: ignore[no-untyped-call]
        before = process_time()
        self.gradient = self.flat.grad.clone()
        start += process_time() - before  # kept for the comparison of gradients, not part of a step
        self.optimiser.step(self.flat.grad)
        return process_time() - start

    def flat_gradient(self) -> Tensor:
        """Of the last step, in float64."""
        return self.gradient.double()


def settle(model: OdeModel, valid: SurvivalData) -> int:
    """The number of steps that the error control of training accepts at this state."""
    held_out = model.batch(valid, torch.device("cpu"))
    with torch.no_grad():
        while True:
            steps = fast(model).steps
            model.valid_loss(held_out)
            if fast(model).steps == steps:
                return steps


def fast(model: OdeModel) -> FastSolver:
    """Its solver, which must be the fast one."""
    if not isinstance(model.solver, FastSolver):
        raise TypeError(f"the model is solved by {type(model.solver).__name__}")
    return model.solver


def solved(model: OdeModel, batch: Batch) -> Tensor:
    """Lambda(y) by the model's own solver."""
    return model.solver(model.net, batch.x, batch.seq, batch.target[0]).Lambda


def draw_batches(model: OdeModel, train: SurvivalData, size: int, count: int) -> list[Batch]:
    """The first batches of an epoch."""
    order = rng_for(0, "speed", "batches").permutation(len(train))
    whole = model.batch(train, torch.device("cpu"))
    return [whole.take(torch.as_tensor(np.sort(order[i * size : (i + 1) * size]))) for i in range(count)]


def load_state(dataset: str, name: str, size: str, scheme: str) -> OdeModel:
    """A trained state, to be stepped by the given scheme."""
    cls = registry.model(name)
    state = torch.load(STATES / f"{dataset}_{name}_{size}.pt", weights_only=True)
    state["hyper"]["solver"] = scheme
    model = cls.from_state(state)
    if not isinstance(model, OdeModel):
        raise TypeError(f"{name} is not solved by an ODE")
    return model
