"""Whole trials with the fast solver and with the paper's scheme: the same seeds, batches and stopping rule."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from time import process_time
from typing import Any, NamedTuple

from benchmarks.registry import model
from benchmarks.speed._parts import first_split
from soden.types import FitOptions, SurvivalData

# Small and short, because the paper's scheme needs minutes for each: five seeds matter more here than a wide network.
HYPER: dict[str, dict[str, Any]] = {
    "support": {"width": 16, "layers": 2, "lr": 3e-3, "weight_decay": 1e-6, "batch_size": 256},
    "metabric": {"width": 16, "layers": 2, "lr": 3e-3, "weight_decay": 1e-6, "batch_size": 64},
}
EPOCHS = 6


class Trial(NamedTuple):
    """One fit."""

    seconds: float
    valid: float
    test: float
    epochs: int


def compare_trials(datasets: Sequence[str], seeds: Sequence[int], quick: bool) -> int:
    """Print each pair of trials, and what their differences amount to beside the spread over seeds."""
    for dataset in datasets:
        parts, note = first_split(dataset)
        print(f"\n{note}; {HYPER[dataset]}, at most {EPOCHS} epochs, one thread, CPU time", flush=True)
        pairs = [_pair(dataset, parts, seed, 2 if quick else EPOCHS) for seed in (seeds[:1] if quick else seeds)]
        if len(pairs) > 1:
            _summarise(pairs)
    return 0


def _pair(dataset: str, parts: dict[str, SurvivalData], seed: int, epochs: int) -> tuple[Trial, Trial]:
    pair = tuple(_trial(dataset, parts, seed, epochs, solver) for solver in ("fast", "adjoint"))
    for solver, trial in zip(("fast", "adjoint"), pair, strict=True):
        print(
            f"  seed {seed} {solver:8s} {trial.seconds:7.1f} s  {trial.epochs} epochs  "
            f"validation NLL {trial.valid:.4f}  test NLL {trial.test:.4f}",
            flush=True,
        )
    return pair[0], pair[1]


def _trial(dataset: str, parts: dict[str, SurvivalData], seed: int, epochs: int, solver: str) -> Trial:
    fitted = model("soden")({**HYPER[dataset], "solver": solver}, FitOptions(max_epochs=epochs))
    start = process_time()
    report = fitted.fit(parts["train"], parts["valid"], seed=seed)
    seconds = process_time() - start
    terms = fitted.nll(parts["test"])
    if terms is None:
        raise TypeError("SODEN has a likelihood")
    return Trial(seconds, report.valid_loss, float(terms.mean()), report.epochs)


def _summarise(pairs: Sequence[tuple[Trial, Trial]]) -> None:
    ratio = statistics.median(slow.seconds / fast.seconds for fast, slow in pairs)
    print(f"  median time ratio x{ratio:.0f}")
    for part in ("valid", "test"):
        ours, theirs = ([getattr(pair[i], part) for pair in pairs] for i in (0, 1))
        print(
            f"  {part} NLL: fast {statistics.mean(ours):.4f} (sd {statistics.stdev(ours):.4f}), "
            f"adjoint {statistics.mean(theirs):.4f} (sd {statistics.stdev(theirs):.4f}), "
            f"mean difference {statistics.mean(ours) - statistics.mean(theirs):+.4f}"
        )
