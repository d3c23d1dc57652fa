"""Numbers, names and amounts of work as page, figures and tables print them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.metrics.weights import NOTABLE
from benchmarks.report.latex import PAPER_SPLITS
from benchmarks.results.folder import Results
from benchmarks.results.names import dataset_label, higher_is_better

NONE = "–"
LEFT_OUT = "up to {:.0%} of the subjects are left out of {}"
GAINED = "weights raise one subject's share of {} by up to {:.0%}"


def known(value: Any) -> bool:
    """Whether there is a number: neither None nor nan."""
    return value is not None and not (isinstance(value, float) and math.isnan(value))


def number(value: Any, digits: int = 3, sign: bool = False) -> str:
    """A fixed number of decimals, with a true minus; a dash where there is none."""
    if not known(value):
        return NONE
    text = f"{abs(round(value, digits)):.{digits}f}"
    negative = round(value, digits) < 0
    return ("−" if negative else "+" if sign and float(text) else "") + text


def mean_and_error(mean: Any, error: Any) -> str:
    """`0.627 ±.003`, as in the paper."""
    if not known(mean):
        return NONE
    bar = number(error).removeprefix("0") if known(error) else NONE
    return f"{number(mean)} ±{bar}"


def p_value(value: Any, none: str = NONE) -> str:
    """Two figures, or "< 0.001"."""
    if not known(value):
        return none
    return "< 0.001" if value < 0.001 else f"{value:.2g}"


def p_is(value: Any) -> str:
    """`p = 0.043` or `p < 0.001`."""
    text = p_value(value)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def seconds(value: Any) -> str:
    """Three figures."""
    return f"{value:.3g}" if known(value) else NONE


def plural(n: int, thing: str) -> str:
    """`1 split`, `10 splits`."""
    return f"{n:,} {thing}" if n == 1 else f"{n:,} {thing}s"


def arrow(metric: str) -> str:
    """An arrow in the direction of better values."""
    return "↑" if higher_is_better(metric) else "↓"


def cell_values(cell: Mapping[str, Any] | None) -> dict[str, Any]:
    """A cell as printed, with its mean for sorting and its mark; without a mean, why there is none."""
    if cell is None or not known(cell["mean"]):
        why = "N/A" if cell is None or cell["status"] == "not_applicable" else cell["status"]
        return {"text": why, "mean": "", "mark": ""}
    text = mean_and_error(cell["mean"], cell["standard_error"]) + ("*" if cell["significant"] else "")
    return {"text": text, "mean": cell["mean"], "mark": cell["mark"]}


@dataclass(frozen=True)
class Effort:
    """How many splits, trials and models the numbers of a data set rest on, and how many splits the paper has."""

    name: str
    label: str
    mark: str  # "synthetic", "demo" or nothing
    splits: int
    released: bool  # whether the splits are the authors'
    trials: int  # per split; 0 if unknown
    models: int
    paper_splits: int  # 0 for a data set that the paper does not have

    def __str__(self) -> str:
        """`10 splits, 100 trials each`."""
        if not self.splits:
            return "no scores"
        return plural(self.splits, "split") + (f", {plural(self.trials, 'trial')} each" if self.trials else "")


def effort(run: Results, dataset: str) -> Effort:
    """How many splits, trials and models the numbers of a data set rest on."""
    cells = run.cells[(run.cells["dataset"] == dataset) & run.cells["mean"].notna()]
    return Effort(
        name=dataset,
        label=dataset_label(dataset),
        mark=run.marks.get(dataset, ""),
        splits=int(cells["n_splits"].max()) if len(cells) else 0,
        released=run.split_sources.get(dataset) == "released",
        trials=run.n_trials(dataset),
        models=cells["model"].nunique(),
        paper_splits=PAPER_SPLITS.get(dataset, 0),
    )


LETTERS = {"ctd": "C", "ibll": "IBLL", "ibs": "IBS"}


def uneven(run: Results) -> dict[str, str]:
    """Data set -> where a metric leaves out subjects or lets one have much of the score, if it does so notably."""
    if run.weights.empty:
        return {}
    own = run.weights["convention"] == run.weights["dataset"].map(run.convention)
    texts: dict[str, str] = {}
    for dataset, rows in run.weights[own].groupby("dataset", sort=False):
        parts = []
        for kind in ("left_out", "gained"):
            notable = rows[rows[kind] > NOTABLE]
            if len(notable):
                names = ", ".join(letters for metric, letters in LETTERS.items() if metric in set(notable["metric"]))
                often = f"{notable['split'].nunique()} of {plural(rows['split'].nunique(), 'split')}"
                most = notable[kind].max()
                text = LEFT_OUT.format(most, names) if kind == "left_out" else GAINED.format(names, most)
                parts.append(f"{text} ({often})")
        if parts:
            texts[str(dataset)] = "; ".join(parts)
    return texts


def slug(*parts: str) -> str:
    """An id for an anchor."""
    return "-".join(part.replace(".", "_") for part in parts if part)
