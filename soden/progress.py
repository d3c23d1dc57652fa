"""How training goes on, told on stderr: a bar, or a line per epoch. No library is needed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

WIDTH = 20


def counted(epochs: Sequence[int], history: Sequence[tuple[float, float]], style: int) -> Iterator[int]:
    """The epochs, and after each its (train, valid) losses: 1 redraws a bar, 2 writes lines."""
    told = 0
    try:
        for epoch in epochs:
            yield epoch
            told = _tell(len(epochs), history, style, told)
    finally:  # training may stop early
        _tell(len(epochs), history, style, told)
        if style == 1:
            print(file=sys.stderr, flush=True)


def _tell(epochs: int, history: Sequence[tuple[float, float]], style: int, told: int) -> int:
    """Draw what is new; returns how many epochs have been told of."""
    if len(history) > told:
        train, valid = history[-1]
        losses = f"loss {train:.4f}, validation {valid:.4f}, best {min(v for _, v in history):.4f}"
        line = f"epoch {len(history)}/{epochs}  {losses}"
        filled = "#" * round(WIDTH * len(history) / epochs)
        print(line if style > 1 else f"\r[{filled:<{WIDTH}}] {line}", end="\n" if style > 1 else "", file=sys.stderr)
        sys.stderr.flush()
    return len(history)
