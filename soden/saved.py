"""Fitted estimators on disk: tensors and plain containers alone, so that reading a file runs nothing in it."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import torch

FORMAT = 1  # counts up when an older `load` could no longer read what `save` writes


def write(path: str | Path, state: dict[str, Any]) -> None:
    """To a file, through memory: on a full disk torch's own writer fails with a riddle, a plain write says why."""
    buffer = io.BytesIO()
    torch.save(state | {"format": FORMAT}, buffer)
    Path(path).write_bytes(buffer.getvalue())


def read(path: str | Path, owner: str) -> dict[str, Any]:
    """What `owner.save` wrote; anything else is refused in our words, for torch's advise to turn safety off."""
    content = io.BytesIO(Path(path).read_bytes())  # no such file: Python's own words
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's, about files that are refused below
            state: dict[str, Any] = torch.load(content, map_location="cpu", weights_only=True)
    except Exception:  # torch and pickle raise many kinds
        raise ValueError(
            f"{path} is not a file that {owner}.save wrote, or it is cut off ({content.getbuffer().nbytes:,} bytes). "
            "Nothing in it was run. Copy it again, or save the model again"
        ) from None  # a traceback would show torch's advice after all
    kind = state.get("estimator") if isinstance(state, dict) else None
    if kind != owner:
        raise ValueError(f"{path} holds {kind or 'no saved estimator'}; {owner}.load cannot read it")
    if state.get("format") != FORMAT:
        raise ValueError(f"{path} was saved in format {state.get('format')}, this soden reads {FORMAT}; fit again")
    return state
