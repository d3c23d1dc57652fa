"""Make the intervals of published means from the kept replications, and measure how often the yardstick is wrong.

Judged are values that are right: each replication by the other ones, searches with a list per split by the interval of
that kind, single searches by the rule for data without replications; and values that are wrong: runs of far less
search, one model's values as another's, the metrics by the other convention.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks import ROOT
from benchmarks.data.files import replacing
from benchmarks.results import pool, yardstick
from benchmarks.results.files import read_csv
from benchmarks.results.pool import CANNOT_TELL, Interval
from benchmarks.results.published import published_cells
from benchmarks.results.replications import FOLDER, NEEDED, Searches, read_replications
from benchmarks.results.tidy import read_table

Cell = tuple[str, str, str, str]  # data set, model, metric, g_tau
Values = Mapping[Cell, float]
Intervals = Mapping[Cell, Interval]
Judged = list[tuple[Cell, str, bool]]  # verdict, inside
RULES = ("draws", "t", "empirical Bayes")  # tried in this order
COLUMNS = ["what", "rule", "cells", "reproduced", "close", "different", "cannot_tell", "share", "standard_error"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--per-split", nargs="*", type=Path, default=[ROOT / "results" / "reference"], metavar="RUN",
                        help="folders of full searches with a list per split")  # fmt: skip
    parser.add_argument("--junk", nargs="*", type=Path, default=[], metavar="RUN",
                        help="folders of finished runs of the quick and the small tier")  # fmt: skip
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the replications are, and the tables go")


def run(args: argparse.Namespace) -> int:
    """Write intervals.csv and error_rates.csv beside the replications."""
    searches = read_replications(args.folder)
    if len(searches.names) < NEEDED:
        raise ValueError(f"{args.folder} has {len(searches.names)} finished replications; the yardstick needs {NEEDED}")
    intervals = yardstick.make_intervals(searches)
    rates = pd.DataFrame(error_rates(searches, intervals, args.per_split, args.junk), columns=COLUMNS)
    for name, frame in ((yardstick.INTERVALS, intervals), (yardstick.ERROR_RATES, rates)):
        with replacing(args.folder / name) as part:
            frame.to_csv(part, index=False)
    print(rates.to_string(index=False))
    return 0


def error_rates(
    searches: Searches, intervals: pd.DataFrame, per_split: Sequence[Path], junk: Sequence[Path]
) -> Iterator[tuple[object, ...]]:
    """A row per kind of values: how many cells, and what the yardstick says of them."""
    asked = cells_asked()
    shared = {cell: where for cell, where in read(intervals, "").items() if cell in asked}
    each = {cell: where for cell, where in read(intervals, "_per_split").items() if cell in asked}
    own = {name: _values(searches.means()[name]) for name in searches.names}
    for rule in RULES:
        judged = [judge(own[name], of_others(searches, name, rule), asked) for name in own]
        yield rate(f"each replication by the other {len(own) - 1}", rule, judged)
    for folder in per_split:
        yield rate(f"{folder.name}: a search with a list per split", "draws", [judge(_cells(folder), each, asked)])
    yield rate("each replication by draws of 50 from another one", "one search", list(single(searches, asked)))
    for folder in junk:
        yield rate(f"{folder.name}: far less search", "draws", [judge(_cells(folder), shared, asked)])
    centres = {cell: where.centre for cell, where in shared.items()}
    yield rate("another model's value", "draws", [judge(values, shared, asked) for values in exchanged(centres)])
    other = searches.means("text")
    by_text = [judge(_values(other[name]), shared, asked) for name in searches.names]
    yield rate("the metrics by the other convention", "draws", by_text)


def cells_asked() -> set[Cell]:
    """The distinct published values."""
    return set(published_cells()[yardstick.KEY].itertuples(index=False, name=None))


def read(intervals: pd.DataFrame, kind: str) -> dict[Cell, Interval]:
    """The rows of intervals.csv: of one list for all splits ("") or of a list per split ("_per_split")."""
    columns = [*yardstick.KEY, *(f"{end}{kind}" for end in ("centre", "low", "high"))]
    rows = intervals[columns].itertuples(index=False, name=None)
    return {(d, model, metric, g): Interval(centre, low, high, 0.0) for d, model, metric, g, centre, low, high in rows}


def judge(values: Values, by: Intervals, asked: Iterable[Cell]) -> Judged:
    """The verdict on each value as if it were published: rounded as printed."""
    both = [cell for cell in by if cell in values and cell in asked]
    rounded = {cell: round(values[cell], 3) for cell in both}
    return [(c, pool.verdict(rounded[c], by[c], c[2]), by[c].contains(rounded[c])) for c in both]


def rate(what: str, rule: str, judged: Sequence[Judged]) -> tuple[object, ...]:
    """Counts, and the share reproduced of those that can be told, with a standard error that counts models as clusters.

    The cells of one model and data set move together, so a cluster is a model on a data set.
    """
    rows = pd.DataFrame([(c[:2], v, v == pool.REPRODUCED) for some in judged for c, v, _ in some], columns=list("cvi"))
    counts = {v: int((rows["v"] == v).sum()) for v in pool.VERDICTS}
    told = rows[rows["v"] != CANNOT_TELL]
    share = float(told["i"].mean()) if len(told) else float("nan")
    return (what, rule, len(rows), *counts.values(), share, clustered_error(told["i"].to_numpy(float), list(told["c"])))


def clustered_error(values: pool.Array, clusters: Sequence[object]) -> float:
    """The standard error of a mean of values that depend on each other within clusters."""
    sums = pd.Series(values - values.mean() if len(values) else values).groupby([str(c) for c in clusters]).sum()
    n = len(sums)
    return float(np.sqrt(n / (n - 1) * (sums**2).sum()) / len(values)) if n > 1 else float("nan")


def of_others(searches: Searches, name: str, rule: str) -> dict[Cell, Interval]:
    """Intervals made without one replication, by one of the rules."""
    others = [other for other in searches.names if other != name]
    if rule != "draws":
        return simple(searches.means()[others], rule)
    found: dict[Cell, Interval] = {}
    for dataset, model in searches.searched:
        configurations, cells = searches.pool(dataset, model, names=others)
        for cell, made in zip(cells, yardstick.new_searches(configurations, "shared"), strict=True):
            found[(dataset, model, *cell)] = pool.interval(*made)
    return found


def simple(means: pd.DataFrame, rule: str) -> dict[Cell, Interval]:
    """Mean of R replications' means +- t s sqrt(1 + 1/R), where s is of the cell or drawn towards that of its metric.

    Empirical Bayes as Smyth (2004) has it, with as many prior degrees of freedom as the cell's own, R - 1.
    """
    n = means.shape[1]
    variance = means.var(axis=1, ddof=1)
    df = n - 1
    if rule == "empirical Bayes":
        prior = variance.groupby(level=["dataset", "metric"]).transform("mean")
        variance, df = (variance + prior) / 2, 2 * (n - 1)
    half = stats.t.ppf(0.975, df) * np.sqrt(variance * (1 + 1 / n)) + pool.ROUNDING
    centres = means.mean(axis=1)
    made = zip(_keys(means.index), centres, half, strict=True)
    return {key: Interval(c, c - h, c + h, 0.0) for key, c, h in made if not np.isnan(h)}


def single(searches: Searches, asked: Iterable[Cell]) -> Iterator[Judged]:
    """Each replication judged by the interval that another one gives alone."""
    means = {name: _values(searches.means()[name]) for name in searches.names}
    for name in searches.names:
        by: dict[Cell, Interval] = {}
        for dataset, model in searches.searched:
            configurations, cells = searches.pool(dataset, model, names=[name])
            made = pool.one_search(configurations, "shared", configurations.mean())
            by |= {(dataset, model, *cell): where for cell, where in zip(cells, made, strict=True)}
        yield from (judge(means[other], by, asked) for other in searches.names if other != name)


def exchanged(values: Values) -> Iterator[dict[Cell, float]]:
    """The values of every model put in the place of every other one's, on the same data set."""
    models = list(dict.fromkeys(cell[1] for cell in values))
    for one in models:
        for other in models:
            if one != other:
                yield {(d, other, metric, g): value for (d, model, metric, g), value in values.items() if model == one}


def _cells(folder: Path) -> dict[Cell, float]:
    frame = read_table(folder / "cells.csv").drop_duplicates(yardstick.KEY).dropna(subset="mean")
    marked = read_csv(folder / "datasets.csv").dropna(subset="mark") if (folder / "datasets.csv").is_file() else None
    if marked is not None:
        frame = frame[~frame["dataset"].isin(marked["dataset"])]
    keys = frame[yardstick.KEY].itertuples(index=False, name=None)
    return dict(zip(keys, frame["mean"], strict=True))


def _values(means: pd.Series) -> dict[Cell, float]:
    present = means.dropna()
    return dict(zip(_keys(present.index), present.to_numpy(float), strict=True))


def _keys(index: pd.Index) -> list[Cell]:
    """Of `Searches.means`, whose rows are (data set, metric, g_tau, model)."""
    return [(dataset, model, metric, g_tau) for dataset, metric, g_tau, model in index]
