"""One short trial of every model, and one with series: a line of JSON per row (`tests/study/test_numerics.py`).

Run natively and under an emulated processor, the lines must be the same.
"""

import json
from typing import Any

from benchmarks import numerics

numerics.set_up()

import numpy as np
import torch

from baselines.contract import Competitor, TrialOptions
from benchmarks import registry
from benchmarks.elementary import portable_functions
from benchmarks.study.evaluate import score
from benchmarks.study.trial import Key, run_trial
from soden.types import SurvivalData

COMMON = {"layers": 2, "width": 13, "gru_width": 6, "lr": 3e-3, "weight_decay": 1e-6, "momentum": 0.9}
COMMON |= {"batch_size": 32, "dropout": 0.1, "batch_norm": True, "intervals": 10, "alpha": 0.5, "sigma": 0.25}
OWN: dict[str, dict[str, float]] = {  # what these models search besides or instead
    "random_forest": {"max_features": 0.6, "max_samples": 0.8, "min_samples_leaf": 5},
    "gradient_boosting": {"learning_rate": 0.1, "max_depth": 2, "max_features": 0.6, "subsample": 0.8},
    "sumo_net": {"monotone_layers": 2, "monotone_width": 13},
}
WIDE = {"width": 70}  # where layers go through BLAS


def simulate(n: int, seed: int, steps: int = 0) -> SurvivalData:
    rng = np.random.default_rng(seed)
    x, seq = rng.normal(size=(n, 5)), rng.normal(size=(n, steps, 3)) if steps else None
    latent, censoring = rng.exponential(np.exp(-x[:, 0])), rng.uniform(0.2, 4, n)
    return SurvivalData(np.minimum(latent, censoring) + 1e-3, latent <= censoring, x, seq)


def trial(name: str, steps: int = 0, **changes: float) -> tuple[dict[str, Any], Competitor]:
    options = TrialOptions(max_epochs=3, device="cpu")
    found, model = run_trial(
        registry.model(name),
        Key("simulated", name, 1, 0),
        7,
        COMMON | OWN.get(name, {}) | changes,
        simulate(150, 1, steps),
        simulate(90, 2, steps),
        options,
    )
    for timing in ("seconds", "cpu_seconds", "peak_mb"):
        del found[timing]
    assert model is not None, found["message"]
    return found, model


def row(name: str, steps: int = 0, **changes: float) -> str:
    """A trial, what its model predicts, and its scores, with every bit."""
    found, model = trial(name, steps, **changes)
    with portable_functions():
        curves = model.predict_survival(simulate(20, 3, steps), np.linspace(0, 3, 7))
        scores = [s["value"].hex() for s in score(model, simulate(60, 4, steps))[0]]
    more = {"steps": steps, "curves": curves.astype("<f8").tobytes().hex(), "scores": scores}
    return json.dumps(found | more, sort_keys=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps(numerics.kind()))
    for name in registry.names():
        print(row(name), flush=True)
    print(row("soden", **WIDE))
    print(row("deephit", **WIDE))
    print(row("soden", steps=4))
