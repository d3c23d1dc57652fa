"""One process of `benchmarks.speed numerics`: prints CPU seconds as JSON."""

from __future__ import annotations

import json
import sys

from benchmarks import numerics

if __name__ == "__main__":
    numerics.set_up()

from time import process_time
from typing import Any

import numpy as np
import torch

from baselines.contract import TrialOptions
from baselines.space import resolve
from benchmarks import data, registry
from benchmarks.speed._parts import first_split
from benchmarks.speed.solver import Stepper, draw_batches
from benchmarks.study.trial import Key, fit_seed, hyper_parameters, run_trial
from soden.models import OdeModel
from soden.types import SurvivalData

EPOCHS = 4
SHAPE = {"width": 16, "layers": 2, "batch_size": 256, "lr": 1e-3, "weight_decay": 1e-6}


def trials(dataset: str, model: str, parts: dict[str, SurvivalData], count: int) -> float:
    """CPU seconds of the first trials of split 1, cut after a few epochs; the first run of each is not timed."""
    space = resolve(registry.model(model).space, data.module(dataset).SEARCH)
    total = 0.0
    for trial in range(count if registry.is_searched(model) else 1):
        key = Key(dataset, model, 1, trial)
        hyper = hyper_parameters(2022, key, space, "truncate")
        for epochs in (1, EPOCHS):
            start = process_time()
            options = TrialOptions(max_epochs=epochs, patience=99, device="cpu")
            row, _ = run_trial(
                registry.model(model), key, fit_seed(2022, key), hyper, parts["train"], parts["valid"], options
            )
            seconds = process_time() - start
        if row["status"] == "failed":
            raise RuntimeError(row["traceback"])
        total += seconds
    return total


def step(parts: dict[str, SurvivalData]) -> tuple[float, float]:
    """Seconds of a training step of SODEN, and of its matrix products at the speed of a large one."""
    model: Any = registry.model("soden")(SHAPE, TrialOptions(max_epochs=1, device="cpu"))
    model.fit(parts["train"], parts["valid"], 1)
    assert isinstance(model, OdeModel)
    model.net.train()
    batch = draw_batches(model, parts["train"], SHAPE["batch_size"], 1)[0]  # type: ignore[arg-type]
    stepper = Stepper(model)
    seconds = min(sum(stepper(batch) for _ in range(20)) / 20 for _ in range(25))
    stages = 4 * model.solver.steps + 1  # type: ignore[attr-defined]
    return seconds, seconds_per_flop() * flops(stages, batch.x.shape[1])


def flops(stages: int, inputs: int) -> float:
    """Multiplications and additions of a step's matrix products: forward, units back, gradients; 2 per product."""
    width, layers, n = int(SHAPE["width"]), int(SHAPE["layers"]), int(SHAPE["batch_size"])
    hidden = (layers - 1) * width**2
    return float(2 * n * (stages * (3 * hidden + 3 * 2 * width + 2 * width) + 2 * inputs * width))


def seconds_per_flop() -> float:
    """What a multiplication or an addition takes in a large matrix product, the most the processor can do."""
    big = np.random.default_rng(0).standard_normal((1024, 1024)).astype(np.float32)
    return fastest(lambda: big @ big) / (2 * 1024**3)


def fastest(call: Any) -> float:
    """The least CPU time of a call over some rounds."""
    found = []
    for _ in range(25):
        start = process_time()
        call()
        found.append(process_time() - start)
    return min(found)


def main() -> None:
    """Measure all."""
    torch.set_num_threads(1)
    found = {}
    for dataset in ("support", "metabric"):
        parts, _ = first_split(dataset)
        for model in registry.names():
            found[f"{dataset} {model}"] = trials(dataset, model, parts, int(sys.argv[1]))
        if dataset == "support":
            found["step"], found["step limit"] = step(parts)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
