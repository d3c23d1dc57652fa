"""The figures: one module each with `draw(run) -> list[Drawing]`, found by being listed here."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.data.files import replacing

if TYPE_CHECKING:
    import pandas as pd

    from benchmarks.results.folder import Results

# In the order of the report.
FIGURES = (
    *("headline", "simulation", "risk_groups", "calibration", "differences", "search", "enough", "cost"),
    *("critical_difference", "heat_map", "deviations"),
)


def draw_all(run: Results, published: pd.DataFrame, out: Path) -> tuple[list[Path], dict[str, str]]:
    """Write every figure the run has the numbers for, and index.json; return the files and why others are absent."""
    from benchmarks.report.figures.style import NothingToDraw, save, styled
    from benchmarks.report.figures.view import View

    view = View(run, published)
    paths: list[Path] = []
    absent: dict[str, str] = {}
    entries = []
    for name in FIGURES:
        try:
            with styled():
                drawings = import_module(f"{__name__}.{name}").draw(view)
        except NothingToDraw as reason:
            absent[name] = str(reason)
            continue
        for drawing in drawings:
            files = save(drawing, out)
            paths += files
            entry = {"name": drawing.name, "files": [f.name for f in files], "caption": drawing.caption}
            entries.append({**entry, "alt": drawing.alt, "sources": list(drawing.sources)})
    index = {"figures": entries, "absent": absent}
    with replacing(out / "index.json") as part:
        part.write_text(json.dumps(index, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return [*paths, out / "index.json"], absent
