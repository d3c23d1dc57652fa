"""Baselines: seconds per epoch against pycox's own `model.fit`, same network, batches and validation; start-up too."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import cache
from itertools import product
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from baselines.network import Network
from benchmarks import registry
from benchmarks.metrics.antolini import antolini_ctd
from benchmarks.speed._parts import first_split
from soden.nets import Encoder, seeded
from soden.types import FitOptions, SurvivalData

MODELS = ("deepsurv", "cox_time", "deephit", "nnet_survival")
BATCH = {"support": 256, "metabric": 64}
HYPER = {
    "layers": 2,
    "width": 32,
    "dropout": 0.1,
    "batch_norm": True,
    "lr": 1e-3,
    "weight_decay": 1e-6,
    "momentum": 0.9,
}
PYCOX = {"deepsurv": "CoxPH", "cox_time": "CoxTime", "deephit": "DeepHitSingle", "nnet_survival": "LogisticHazard"}
DISCRETE = {"intervals": 100, "alpha": 0.2, "sigma": 0.25}
GOALS = "median 1.5, minimum 1, DeepHit on SUPPORT 3"


class Result(NamedTuple):
    """One model on one data set; seconds per epoch, and of one validation C^td."""

    dataset: str
    model: str
    pycox: float
    ours: float
    ctd: float

    @property
    def ratio(self) -> float:
        """How many times faster."""
        return self.pycox / self.ours


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this measurement."""
    parser.add_argument("--quick", action="store_true", help="fewer epochs and repeats, no start-up times")


def run(args: argparse.Namespace) -> int:
    """Measure, print, and fail where a goal is missed."""
    torch.set_num_threads(1)
    epochs, repeats = (3, 2) if args.quick else (5, 5)
    print("one epoch with validation; hidden 32 x 2, batch norm, dropout 0.1, 100 intervals, one thread, CPU time")
    print(HEADER)
    results = []
    for dataset, model in product(BATCH, MODELS):
        results.append(measure(dataset, model, epochs, repeats))
        print(_row(results[-1]), flush=True)
    if not args.quick:
        print(_start_up())
    ratios = [r.ratio for r in results]
    median, least = statistics.median(ratios), min(ratios)
    deephit = next(r.ratio for r in results if (r.dataset, r.model) == ("support", "deephit"))
    print(f"goals: {GOALS}; DeepHit on SUPPORT: {deephit:.2f}")
    print(f"baselines: median ratio {median:.2f}, min ratio {least:.2f}")
    return 0 if median >= 1.5 and least >= 1 and deephit >= 3 else 1


def measure(dataset: str, model: str, epochs: int, repeats: int) -> Result:
    """Both sides in turn, the best of each: what else runs on the machine then hits both."""
    train, valid = parts(dataset)
    hyper = {**HYPER, **DISCRETE, "batch_size": BATCH[dataset]}
    ours, theirs = _ours(model, train, valid, hyper, epochs), _pycox(model, train, valid, hyper, epochs)
    theirs()  # compiles its kernels
    seconds = [(_seconds(theirs), _seconds(ours)) for _ in range(repeats)]
    slow, fast = (min(column) / epochs for column in zip(*seconds, strict=True))
    return Result(dataset, model, slow, fast, _ctd_seconds(model, train, valid, hyper))


@cache
def parts(name: str) -> tuple[SurvivalData, SurvivalData]:
    """Train, in whole batches, and valid of the authors' split 1, or a stand-in; says once which."""
    found, note = first_split(name)
    print(note)
    return _whole_batches(found["train"], BATCH[name]), found["valid"]


def _whole_batches(data: SurvivalData, size: int) -> SurvivalData:
    """Events and subjects in multiples of the batch: pycox trains on an incomplete last batch, we drop it."""
    events, censored = np.flatnonzero(data.event), np.flatnonzero(~data.event)
    n_events = len(events) // size * size
    return data.take(np.sort(np.concatenate([events[:n_events], censored[: len(censored) // size * size]])))


def _ours(name: str, train: SurvivalData, valid: SurvivalData, hyper: dict[str, Any], epochs: int) -> Callable[[], Any]:
    options = FitOptions(max_epochs=epochs, patience=epochs)
    return lambda: registry.model(name)(hyper, options).fit(train, valid, seed=0)


def _pycox(
    name: str, train: SurvivalData, valid: SurvivalData, hyper: dict[str, Any], epochs: int
) -> Callable[[], Any]:
    """The same training with pycox, from arrays as its examples have them."""
    import pycox.models

    cls: Any = getattr(pycox.models, PYCOX[name])
    out, y, y_valid = _pycox_labels(name, cls, train, valid, hyper)
    loss = {key: hyper[key] for key in ("alpha", "sigma")} if name == "deephit" else {}

    def fit() -> None:
        with seeded(0), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torchtuples indexes in a way that torch has deprecated
            net: nn.Module = Network(Encoder(train.x.shape[1]), hyper, out, with_time=name == "cox_time")
            optimiser = torch.optim.RMSprop(net.parameters(), lr=hyper["lr"], weight_decay=hyper["weight_decay"])
            model = cls(_WithTime(net) if name == "cox_time" else net, optimiser, device="cpu", **loss)
            model.fit(train.x, y, hyper["batch_size"], epochs, verbose=False, val_data=(valid.x, y_valid))

    return fit


def _pycox_labels(name: str, cls: Any, train: SurvivalData, valid: SurvivalData, hyper: dict[str, Any]) -> Any:
    """Number of outputs, training labels, validation labels."""
    if name == "deepsurv":
        return 1, *((d.time.astype(np.float32), d.event.astype(np.float32)) for d in (train, valid))
    labels = cls.label_transform() if name == "cox_time" else cls.label_transform(hyper["intervals"])
    y = labels.fit_transform(train.time, train.event)
    return labels.out_features, y, labels.transform(valid.time, valid.event.copy())


class _WithTime(nn.Module):
    """Our network with the signature that pycox's Cox-Time calls."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        out: Tensor = self.net.mlp(torch.cat([x, t], dim=1))  # type: ignore[operator]
        return out


def _ctd_seconds(name: str, train: SurvivalData, valid: SurvivalData, hyper: dict[str, Any]) -> float:
    """One validation C^td, prediction included: what selection adds to a trial of a discrete-time model."""
    model = registry.model(name)(hyper, FitOptions(max_epochs=1))
    if model.select_by != "ctd":
        return float("nan")
    model.fit(train, valid, seed=0)
    times = np.unique(valid.time[valid.event])

    def score() -> float:
        return antolini_ctd(valid.time, valid.event, model.predict_survival(valid, times), times)

    score()  # compiles its kernels
    return min(_seconds(score) for _ in range(3))


def _seconds(function: Callable[[], Any]) -> float:
    """CPU seconds of the one thread: what else runs on the machine counts less than on the clock."""
    start = process_time()
    function()
    return process_time() - start


def _start_up() -> str:
    """Seconds to import torch, what a trial needs, and pycox's models; the best of three fresh processes each."""
    needed = "import benchmarks.study.trial, " + ", ".join(f"baselines.{m}" for m in MODELS)
    codes = ("import torch", needed, "import pycox.models")
    rounds = [[_import_seconds(code) for code in codes] for _ in range(3)]
    torch_, ours, pycox = (min(column) for column in zip(*rounds, strict=True))
    return (
        f"start-up: torch {torch_:.2f} s, all a trial imports {ours:.2f} s ({ours / torch_:.2f} x torch), "
        f"pycox.models {pycox:.2f} s ({pycox / torch_:.2f} x)"
    )


def _import_seconds(code: str) -> float:
    program = f"from time import perf_counter as now; t = now(); {code}; print(now() - t)"
    command = [sys.executable, "-W", "ignore", "-c", program]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


HEADER = f"{'data':9s} {'model':14s} {'pycox, ms':>10s} {'ours, ms':>9s} {'ratio':>6s} {'valid C^td, ms':>15s}"


def _row(r: Result) -> str:
    ctd = "" if np.isnan(r.ctd) else f"{1e3 * r.ctd:.1f}"
    label = registry.model(r.model).label
    return f"{r.dataset:9s} {label:14s} {1e3 * r.pycox:10.1f} {1e3 * r.ours:9.1f} {r.ratio:6.2f} {ctd:>15s}"
