"""How training goes on, told on stderr: a bar where that is a terminal, else lines. No library is needed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

WIDTH = 20


def counted(epochs: Sequence[int], history: Sequence[tuple[float, float]], style: int) -> Iterator[int]:
    """The epochs, and after each its (train, valid) losses: 1 redraws a bar, 2 writes a line per epoch.

    A bar needs a terminal: in a log its carriage returns would pile up, so that only the last epoch's line is written.
    """
    bar = style == 1 and sys.stderr.isatty()
    told = 0
    try:
        for epoch in epochs:
            yield epoch
            if bar or style > 1:
                told = _tell(len(epochs), history, bar, told)
    finally:  # training may stop early
        _tell(len(epochs), history, bar, told)
        if bar:
            print(file=sys.stderr, flush=True)


def _tell(epochs: int, history: Sequence[tuple[float, float]], bar: bool, told: int) -> int:
    """Write what is new; returns how many epochs have been told of."""
    if len(history) > told:
        train, valid = history[-1]
        losses = f"loss {train:.4f}, validation {valid:.4f}, best {min(v for _, v in history):.4f}"
        line = f"epoch {len(history)}/{epochs}  {losses}"
        filled = "#" * round(WIDTH * len(history) / epochs)
        print(f"\r[{filled:<{WIDTH}}] {line}" if bar else line, end="" if bar else "\n", file=sys.stderr)
        sys.stderr.flush()
    return len(history)
