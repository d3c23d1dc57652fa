"""How the cost of a training step grows with batch, width and depth, and the memory it takes."""

from __future__ import annotations

import multiprocessing
import statistics
from pathlib import Path

import torch

from benchmarks.speed._parts import first_split
from benchmarks.speed.solver import Stepper, draw_batches, load_state
from benchmarks.speed.solver import fast as solver_of
from soden.adjoint import AdjointSolver
from soden.models import Soden
from soden.types import FitOptions, SurvivalData

BASE = {"batch_size": 256, "width": 32, "layers": 2}
AXES = {"batch_size": (64, 256, 1024), "width": (8, 32, 128), "layers": (1, 2, 4)}
EPOCHS = 3  # of training before the step is timed: at the start every solver looks good


def scaling_tables(quick: bool) -> int:
    """Print both tables, on SUPPORT."""
    parts, note = first_split("support")
    print(f"{note}; one thread, CPU time, after {EPOCHS} epochs of training")
    for axis, values in AXES.items():
        for value in values:
            fast, paper, steps = _cost({**BASE, axis: value}, parts, repeats=3 if quick else 15)
            shape = ", ".join(f"{key} {value if key == axis else BASE[key]}" for key in AXES)
            print(f"  {shape:40s} N = {steps:2d}  fast {fast:7.2f} ms  adjoint {paper:8.1f} ms  x{paper / fast:.0f}")
    print("\npeak memory of one step above what the process held before it, SUPPORT 128x4 (Linux)")
    for batch in (256, 1024):
        for scheme in ("fast", "direct", "adjoint"):
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(f"  batch {batch:4d} {scheme:8s} {pool.apply(_peak, (scheme, batch)):6.0f} MB", flush=True)
    return 0


def _cost(shape: dict[str, int], parts: dict[str, SurvivalData], repeats: int) -> tuple[float, float, int]:
    """Milliseconds of a step: fast, the paper's."""
    fitted = Soden({**shape, "lr": 3e-3, "weight_decay": 1e-6}, FitOptions(max_epochs=EPOCHS))
    fitted.fit(parts["train"], parts["valid"], seed=1)
    batch = draw_batches(fitted, parts["train"], shape["batch_size"], 1)[0]
    stepper = Stepper(fitted)
    fast = statistics.median(stepper(batch) for _ in range(repeats))
    steps = solver_of(fitted).steps
    fitted.solver = AdjointSolver()
    return 1e3 * fast, 1e3 * stepper(batch), steps


def _peak(scheme: str, size: int) -> float:
    """Megabytes, from Linux's high-water mark, in a process of its own."""
    torch.set_num_threads(1)
    fitted = load_state("support", "soden", "128x4", scheme)
    parts, _ = first_split("support")
    batches = draw_batches(fitted, parts["train"], size, 1)
    stepper = Stepper(fitted)
    stepper(batches[0].take(slice(0, 4)))  # libraries allocate their own on first use
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark falls to what is held now
    before = _status("VmRSS")
    stepper(batches[0])
    return (_status("VmHWM") - before) / 1024


def _status(field: str) -> int:
    """Kilobytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))
