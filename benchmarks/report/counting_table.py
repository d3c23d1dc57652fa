"""The table of counted tests: asterisks that survive, wins, ties and losses; LaTeX and CSV from a run's scores."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.data.files import replacing
from benchmarks.report.latex import Style, floating
from benchmarks.results.counting import WAYS, counted, counts

HEADS = {"plain": "plain", "holm": "Holm", "corrected": "N--B", "both": "N--B, Holm"}
CAPTION = (
    r"Significant differences to SODEN ($p<0.05$, paired t-tests over splits) of each table's tests, and in brackets "
    r"how many of them are in the other model's favour: as the asterisks have them (plain); after Holm's correction "
    r"for the number of tests in the table; with the variance corrected for overlapping splits (Nadeau and Bengio "
    r"2003, N--B); with both. Wins, ties and losses of the other models against SODEN, split by split; a tie is a "
    r"difference below $0.0005$."
)


def render_counts(rows: pd.DataFrame, style: Style) -> str:
    """One line per table."""
    names = {"ablation": "Ablation", "beyond": "All models"}
    heads = ["Table", "Tests", *(HEADS[way] for way in WAYS), "Wins", "Ties", "Losses"]
    lines = [" & ".join(heads) + r" \\", r"\midrule"]
    for row in rows.to_dict("records"):
        found = [f"{row[way]} ({row[f'{way}_better']})" for way in WAYS]
        name = names.get(row["table"]) or style.dataset(row["table"])
        values = [row["tests"], *found, row["wins"], row["ties"], row["losses"]]
        lines.append(" & ".join([name, *map(str, values)]) + r" \\")
    return floating("\n".join(lines), "lr|rrrr|rrr", CAPTION, "tab:counting")


def write_counting(scores: pd.DataFrame, out: Path, style: Style | None = None) -> list[Path]:
    """From a run's scores: counted_tests.csv (a row per test), counting.csv and counting.tex."""
    tests = counted(scores)
    rows = counts(tests)
    paths = [out / "counted_tests.csv", out / "counting.csv", out / "counting.tex"]
    for path, frame in zip(paths, (tests, rows), strict=False):
        with replacing(path) as part:
            frame.to_csv(part, index=False)
    with replacing(paths[2]) as part:
        part.write_text(render_counts(rows, style or Style()))
    return paths
