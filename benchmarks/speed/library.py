"""The library's predictions for many people at few times, against a mesh in torch: what it does without numba."""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np

from soden import SODEN
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

    frame, y = load_flchain()
    positive = y["futime"] > 0
    X = frame.assign(female=frame["sex"] == "F")[["age", "kappa", "lambda", "female"]][positive].to_numpy(float)
    n = 20_000 if args.quick else 200_000
    many = X[np.random.default_rng(0).integers(len(X), size=n)]
    if not args.quick:  # before the meshes, which set the process's peak
        _million(SODEN(hidden=64, n_models=1, device="cpu").fit(X, y[positive]), np.concatenate([many] * 5))
    table = Table("network", "people x times", "mesh CPU s", "kinks CPU s", "ratio", "S: mesh - truth", "kinks - truth")
    ratios = []
    for hidden, layers in ((16, 2), (32, 2), (64, 2)):
        model = SODEN(hidden=hidden, layers=layers, n_models=1, device="cpu").fit(X, y[positive])
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
    print(f"library: predictions x {min(ratios):.1f} to x {max(ratios):.1f} the speed of a mesh of 128 panels")
    return 0


def _million(model: SODEN, people: FloatArray) -> None:
    model.predict_survival(people[:10], TIMES)  # compiles
    before = _peak_mb()
    S, seconds = _timed(partial(model.predict_survival, people, TIMES))
    print(
        f"a million people x 2 times, 64 x 2: {seconds:.1f} CPU s; memory grows by {_peak_mb() - before:.0f} MB, "
        f"{S.nbytes / 2**20:.0f} of them the answer"
    )


@contextmanager
def _mesh(panels: int = 128) -> Iterator[None]:
    """As if numba were not installed, and with so many panels."""
    from unittest.mock import patch

    with patch("soden.backends.available", lambda: False), patch("soden.models.FINE_STEPS", panels):
        yield


def _timed(predict: Callable[[], FloatArray]) -> tuple[FloatArray, float]:
    started = time.process_time()
    return predict(), time.process_time() - started


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
