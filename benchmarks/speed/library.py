"""The library's predictions for many people at few times, against a mesh in torch: what it does without numba."""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np

from soden.types import FloatArray

TIMES = 365.25 * np.array([1.0, 5.0])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--quick", action="store_true", help="a tenth of the people, no million")


def run(args: argparse.Namespace) -> int:
    """Fit FLCHAIN once, predict people like its own; the fine mesh says how far both are from the truth."""
    from rich.console import Console
    from rich.table import Table
    from sksurv.datasets import load_flchain

    from soden import SODEN

    frame, y = load_flchain()
    known = y["futime"] > 0
    X = frame.assign(female=frame["sex"] == "F")[["age", "kappa", "lambda", "female"]][known].to_numpy(float)
    n = 20_000 if args.quick else 200_000
    many = X[np.random.default_rng(0).integers(len(X), size=n)]
    table = Table("network", "people x times", "mesh CPU s", "kinks CPU s", "ratio", "S: mesh - truth", "kinks - truth")
    ratios = []
    for hidden, layers in ((16, 2), (32, 2), (64, 2)):
        model = SODEN(hidden=hidden, layers=layers, n_models=1, device="cpu").fit(X, y[known])
        model.predict_survival(many[:10], TIMES)  # compiles
        kinks, fast = _timed(partial(model.predict_survival, many, TIMES))
        with _mesh():
            mesh, slow = _timed(partial(model.predict_survival, many, TIMES))
        with _mesh(64 * 128):
            truth = model.predict_survival(many[:500], TIMES)
        gaps = (f"{np.abs(S[:500] - truth).max():.1e}" for S in (mesh, kinks))
        ratios.append(slow / fast)
        table.add_row(f"{hidden} x {layers}", f"{n:,} x 2", f"{slow:.1f}", f"{fast:.2f}", f"{ratios[-1]:.1f}", *gaps)
    Console().print(table)
    if not args.quick:
        million = np.concatenate([many] * 5)
        _, seconds = _timed(partial(model.predict_survival, million, TIMES))
        print(f"a million people x 2 times, 64 x 2: {seconds:.1f} CPU s, peak of the process {_peak_mb():.0f} MB")
    print(f"library: predictions x {min(ratios):.1f} to x {max(ratios):.1f} the speed of a mesh of 128 panels")
    return 0


@contextmanager
def _mesh(panels: int = 128) -> Iterator[None]:
    """As if numba were not installed, and with so many panels."""
    from unittest.mock import patch

    with patch("soden.compiled.available", lambda: False), patch("soden.models.FINE_STEPS", panels):
        yield


def _timed(predict: Callable[[], FloatArray]) -> tuple[FloatArray, float]:
    started = time.process_time()
    return predict(), time.process_time() - started


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
