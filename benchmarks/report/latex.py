"""The LaTeX of one cell, one float and the notes that go with them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from benchmarks.results.names import REFERENCE, dataset_label, escape, higher_is_better, is_searched, model_label

# Section 5.4: what a published cell rests on.
PAPER_SPLITS = {"mimic_seq": 5, "mimic": 5, "support": 10, "metabric": 10}
PAPER_TRIALS = 100
MOST_COLUMNS = 4  # data sets side by side that fit a page without scaling
ABSENT = {"failed": "failed", "missing": "missing", "not_applicable": "N/A"}

Cell = Mapping[str, Any]  # one row of the cells table


Coverage = Literal["caption", "cells"]


@dataclass(frozen=True)
class Style:
    """What may differ between two printings of the same cells."""

    marks: Mapping[str, str] = field(default_factory=dict)  # dataset -> "synthetic" or "demo", printed visibly
    coverage: Coverage = "caption"  # where splits and trials below the paper's protocol are said
    notation: str = "mimic_seq"  # the dataset whose table explains bold, underline, error bar and asterisk
    reference: str = REFERENCE  # the model that the asterisks are about
    uneven: Mapping[str, str] = field(default_factory=dict)  # dataset -> where its metrics' weights are uneven
    labels: Mapping[str, str] = field(default_factory=dict)  # printed names of what may not be in this checkout

    def dataset(self, name: str) -> str:
        """The printed name of a data set, safe for LaTeX."""
        return escape(self.labels.get(name) or dataset_label(name))

    def model(self, name: str) -> str:
        """The printed name of a model, safe for LaTeX."""
        return escape(self.labels.get(name) or model_label(name))


def cell_text(cell: Cell | None, style: Style) -> str:
    r"""`$\textbf{0.687} \pm \small{.002*}$`; a cell on fewer splits than planned says so; no cell prints N/A."""
    if cell is None:
        return "N/A"
    if cell["status"] in ABSENT:
        return ABSENT[cell["status"]]
    number = f"{round(cell['mean'], 3) + 0.0:.3f}"  # + 0.0: no "-0.000"
    command = {"best": "textbf", "second": "underline"}.get(cell["mark"])
    if command:
        number = rf"\{command}{{{number}}}"
    star = "*" if cell["significant"] else ""
    error = cell["standard_error"]
    bar = r"\text{--}" if math.isnan(error) else f"{error:.3f}".removeprefix("0")  # one split has no error bar
    return rf"${number} \pm \small{{{bar}{star}}}${bracket(cell, style)}"


def bracket(cell: Cell, style: Style) -> str:
    """What the cell rests on: [7/10] splits if fewer than planned; in style "cells" [7 x 20], splits by trials."""
    if style.coverage == "caption":
        text = f"{cell['n_splits']}/{cell['n_planned']}" if cell["n_splits"] < cell["n_planned"] else ""
    else:
        below = cell["n_splits"] < PAPER_SPLITS.get(cell["dataset"], cell["n_planned"]) or few_trials(cell)
        counts = [cell["n_splits"]]
        if is_searched(cell["model"]) and not math.isnan(cell["n_trials"]):
            counts.append(int(cell["n_trials"]))
        text = r"$\times$".join(map(str, counts)) if below else ""
    return rf" {{\scriptsize [{text}]}}" if text else ""


def few_trials(cell: Cell) -> bool:
    """Whether a searched model had fewer trials per split than the paper's; unknown counts are not few."""
    return is_searched(cell["model"]) and cell["n_trials"] < PAPER_TRIALS


def coverage_note(cells: Sequence[Cell], style: Style) -> str:
    """A caption sentence on splits and trials per data set group; empty when the paper's protocol was followed."""
    valued = [cell for cell in cells if cell["n_splits"]]
    splits = [cell["n_splits"] for cell in valued]
    trials = [int(c["n_trials"]) for c in valued if is_searched(c["model"]) and not math.isnan(c["n_trials"])]
    note = ""
    if any(c["n_splits"] < PAPER_SPLITS.get(c["dataset"], math.inf) or few_trials(c) for c in valued):
        paper = sorted({PAPER_SPLITS[c["dataset"]] for c in valued if c["dataset"] in PAPER_SPLITS})
        note = f" Rests on {_range(splits, 'split')}"
        note += f" and {_range(trials, 'trial')} per split" if trials else ""
        note += f" (paper: {' or '.join(map(str, paper))} splits, {PAPER_TRIALS} trials)." if paper else "."
    if any(bracket(cell, style) for cell in valued):
        what = "splits by trials per split" if style.coverage == "cells" else "splits out of those planned"
        note += f" Brackets: {what}."
    return note


def _range(counts: Sequence[int], unit: str) -> str:
    low, high = min(counts), max(counts)
    return f"{low} {unit}{'s' * (low != 1)}" if low == high else f"{low} to {high} {unit}s"


def red(text: str) -> str:
    """Text that nobody can overlook: what was not made from the real data."""
    return rf"\textcolor{{red}}{{{text}}}"


def marks_note(datasets: Iterable[str], style: Style) -> str:
    """A caption sentence that names the data sets that are not the real ones."""
    marked = [name for name in datasets if style.marks.get(name)]
    notes = [f"{style.dataset(name)}: {escape(style.marks[name])} data" for name in marked]
    return " " + red("; ".join(notes) + ".") if notes else ""


def against(text: str, style: Style) -> str:
    """A caption's words on the tests, with the name of the model that the others are tested against."""
    if style.reference == REFERENCE:
        return text
    words = (
        r"(the proposed SODEN(?=,)|(?<=significant difference to )SODEN|(?<=ifferences to )SODEN|(?<=against )SODEN)"
    )
    return re.sub(words, lambda _: style.model(style.reference), text)


def uneven_note(datasets: Iterable[str], style: Style) -> str:
    """A caption sentence on the data sets whose metrics leave out subjects or lean on one."""
    notes = [f"{style.dataset(name)}: {escape(style.uneven[name])}" for name in datasets if name in style.uneven]
    return f" Weights are uneven: {'; '.join(notes)}." if notes else ""


def latex_arrow(metric: str) -> str:
    """An arrow in the direction of better values."""
    return r"($\uparrow$)" if higher_is_better(metric) else r"($\downarrow$)"


def truncation(g_tau: str) -> str:
    """P(C > tau) in mathematics: "1e-8" -> $10^{-8}$."""
    found = re.fullmatch(r"(?:1|(.+))e(-?\d+)", g_tau)
    if not found:
        return f"${g_tau}$"
    factor = rf"{found[1]} \times " if found[1] else ""
    return f"${factor}10^{{{found[2]}}}$"


def block(head: str, mark: str, rows: Sequence[str]) -> str:
    """Rows under one heading in the first column, which also carries the mark."""
    first = [head] + [""] * (len(rows) - 1)
    if mark and len(rows) > 1:
        first[1] = red(f"({mark})")
    elif mark:
        first[0] += " " + red(f"({mark})")
    return "\n".join(rf"{start} & {row} \\" for start, row in zip(first, rows, strict=True))


def floating(
    body: str, columns: str, caption: str, name: str, place: str = "[!t]", kind: str = "table", wide: bool = False
) -> str:
    """A booktabs table in its float, scaled to fit where wide; `body` has the head, the rules between and the rows."""
    return "\n".join(
        [
            rf"\begin{{{kind}}}{place}",
            r"\centering",
            *([r"\resizebox{\textwidth}{!}{%"] if wide else []),
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            body,
            r"\bottomrule",
            r"\end{tabular}" + ("}" if wide else ""),
            rf"\caption{{{caption}}}",
            rf"\label{{{name}}}",
            rf"\end{{{kind}}}",
            "",
        ]
    )
