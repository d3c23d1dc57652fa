"""Time the training of every network on the CPU and on a GPU, and print what to put into the configuration.

Data sets with series are the ones where a GPU may gain: `--patients` invented ones of the shape of MIMIC-SEQ. Without
series, SUPPORT's shape. Widths are the largest of the search, which take most of its time.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from baselines.contract import TrialOptions
from baselines.space import draw, resolve
from benchmarks import data, registry
from benchmarks.commands._arguments import positive
from benchmarks.seeds import rng_for
from benchmarks.study.store import device_type
from soden.types import SurvivalData

EPOCHS = 2
LARGEST = {"width": 127, "layers": 4, "gru_width": 255, "batch_size": 512}
SHAPES = {"support": 14, "mimic_seq": 5}  # features


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--device", default="cuda", help="which GPU: cuda, or one such as cuda:1")
    parser.add_argument("--patients", type=positive, default=8000, help="of the invented data")


def run(args: argparse.Namespace) -> int:
    """Print seconds per epoch on both, and a sentence per kind of data."""
    device_type(args.device)  # an error where there is none
    faster: dict[str, list[float]] = {}
    for dataset in SHAPES:
        train, valid = invented(dataset, args.patients), invented(dataset, args.patients // 4)
        for model in registry.names():
            model_class = registry.model(model)
            if "width" not in model_class.space or (train.seq is not None and not model_class.takes_seq):
                continue  # no network, or none that takes series
            cpu, gpu = (epoch_seconds(dataset, model, device, train, valid) for device in ("cpu", args.device))
            print(f"{dataset:10s} {model:14s} {cpu:8.2f} s per epoch on one core, {gpu:8.2f} s on {args.device}")
            faster.setdefault(dataset, []).append(cpu / gpu)
    for dataset, ratios in faster.items():
        gain = float(np.median(ratios))
        print(f"{dataset}: the GPU is {gain:.1f} times as fast as one core (median over models)")
    print(f"put into your configuration: {advice(*(float(np.median(faster[name])) for name in SHAPES))}")
    return 0


def advice(plain: float, series: float) -> str:
    """A GPU has to be worth several cores, which cost less."""
    if plain > 4:
        return "device: cuda"
    return "device: gpu_for_series" if series > 4 else "device: cpu"


def invented(dataset: str, n: int) -> SurvivalData:
    """Subjects whose times depend on a feature; with series where the data set has them."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, SHAPES[dataset]))
    time_, event = rng.exponential(np.exp(x[:, 0] / 2)) + 1e-3, rng.random(n) < 0.4
    event[0] = True
    seq = rng.normal(size=(n, 24, 15)) if data.has_series(dataset) else None
    return SurvivalData(time_, event, x, seq)


def epoch_seconds(dataset: str, model: str, device: str, train: SurvivalData, valid: SurvivalData) -> float:
    """Seconds of a training epoch of the widest network, start-up taken off as the time of a fit of one epoch."""
    space = resolve(registry.model(model).space, data.module(dataset).SEARCH)
    hyper = draw(space, lambda name: rng_for(0, "devices", model, name), "truncate")
    hyper |= {name: value for name, value in LARGEST.items() if name in hyper}
    seconds = []
    for epochs in (1, 1, 1 + EPOCHS):  # the first compiles
        fitted = registry.model(model)(hyper, TrialOptions(max_epochs=epochs, device=device))
        started = time.perf_counter()
        fitted.fit(train, valid, seed=0)
        seconds.append(time.perf_counter() - started)
    return max(seconds[2] - seconds[1], 1e-6) / EPOCHS
