"""A progress bar that needs no library."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

WIDTH = 20


def bar(epochs: int, history: Sequence[tuple[float, float]]) -> Iterator[int]:
    """Count epochs from 1; after each redraw one line on stderr with the (train, valid) losses so far."""
    try:
        for epoch in range(1, epochs + 1):
            yield epoch
            _draw(epochs, history)
    finally:  # training may stop early
        _draw(epochs, history)
        print(file=sys.stderr, flush=True)


def _draw(epochs: int, history: Sequence[tuple[float, float]]) -> None:
    if history:
        train, valid = history[-1]
        filled = "#" * round(WIDTH * len(history) / epochs)
        losses = f"loss {train:.4f}, validation {valid:.4f}, best {min(v for _, v in history):.4f}"
        print(f"\r[{filled:<{WIDTH}}] epoch {len(history)}/{epochs}  {losses}", end="", file=sys.stderr, flush=True)
