"""Show where a number comes from: cell, rows, chosen trials, seed, code and data."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import ROOT, code, data
from benchmarks.commands._arguments import add_cell
from benchmarks.report.agreement import CREDENTIALED, judge
from benchmarks.report.provenance import Chain, chain, hyper_text, used_hyper
from benchmarks.results.files import read_csv
from benchmarks.results.folder import Results, find_run, read_results
from benchmarks.results.names import better, dataset_label, is_searched, model_label, selected_by
from benchmarks.results.pool import CLOSE
from benchmarks.results.published import published_cells
from benchmarks.results.replications import COMMITS, read_replications
from benchmarks.results.tidy import canonical_g_tau
from benchmarks.results.types import Cell
from benchmarks.study.store import equal_codes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form, e.g. `explain support ctd 0.4 soden`."""
    add_cell(parser)
    parser.add_argument("--run", dest="name", help="name or folder of the run; default: the newest in results/")
    parser.add_argument("--directory", type=Path, default=ROOT, help="where results/ is")


def run(args: argparse.Namespace) -> int:
    """Print the chain."""
    folder = find_run(args.name, args.directory / "results")
    results = read_results(folder)
    key = {"dataset": args.dataset, "metric": args.metric, "g_tau": canonical_g_tau(args.g_tau), "model": args.model}
    published = published_cells()
    cells = published[(published[list(key)] == list(key.values())).all(axis=1)].drop_duplicates(list(key))
    if args.dataset not in set(results.cells["dataset"]) and len(cells):
        print("\n".join(_not_run(results, cells.iloc[0].to_dict())))
    else:
        print("\n".join(lines(results, chain(results, **key))))
    return 0


def _not_run(results: Results, cell: dict[str, Any]) -> Iterator[str]:
    """Of a published cell whose data set the run does not have."""
    yield title(cell["dataset"], cell["metric"], cell["g_tau"], cell["model"])
    yield f"  published: {cell['mean']:.3f} ± {cell['standard_error']:.3f}"
    why = (
        "run"
        if cell["dataset"] not in CREDENTIALED
        else (
            "run: MIMIC-III is given only to people with credentials (physionet.org/content/mimiciii); with its "
            f"tables, `python -m benchmarks run paper` with `datasets: [{cell['dataset']}]` makes this cell"
        )
    )
    yield f"  {results.name}: not {why}"


def lines(results: Results, chain: Chain) -> Iterator[str]:
    """The chain in words, from the cell down to the machine."""
    yield from _cell(results, chain)
    yield ""
    yield from _splits(results, chain)
    yield ""
    yield from _origin(results, chain)


def _cell(results: Results, found: Chain) -> Iterator[str]:
    cell = found.cell
    yield title(cell.dataset, cell.metric, cell.g_tau, cell.model, results.marks.get(cell.dataset, ""))
    if cell.status in ("failed", "missing", "not_applicable"):
        yield f"  this run: {cell.status}"
    else:
        yield f"  this run:  {cell.mean:.4f} ± {cell.standard_error:.4f}  ({_effort(cell)})"
    both = judge(results, published_cells())
    keys = ["dataset", "model", "metric", "g_tau"]
    for row in (
        both[(both[keys] == [getattr(cell, k) for k in keys]).all(axis=1)].drop_duplicates(keys).to_dict("records")
    ):
        why = f": {row['why']}" if row["why"] else ""
        where = "" if row["low"] != row["low"] else f"; other searches give {row['low']:.3f} to {row['high']:.3f}"
        yield f"  published: {row['paper_mean']:.3f} ± {row['paper_standard_error']:.3f}  {row['verdict']}{why}{where}"
    yield from _replications(*(getattr(cell, k) for k in keys))
    if not math.isnan(cell.p_value):
        yield f"  against SODEN: p = {cell.p_value:.3g}, corrected for overlapping splits {cell.p_corrected:.3g}"


def title(dataset: str, metric: str, g_tau: str, model: str, mark: str = "") -> str:
    """A cell's name and the direction of its metric."""
    level = f" at P(C > tau) = {g_tau}" if g_tau else ""
    name = dataset_label(dataset) + (f" ({mark.upper()} DATA)" if mark else "")
    return f"{name}, {metric}{level}, {model_label(model)} ({better(metric)} is better)"


def _replications(dataset: str, model: str, metric: str, g_tau: str) -> Iterator[str]:
    """This cell in every finished replication, and which of them are close to the published value."""
    searches = read_replications()
    means = searches.means()
    if (key := (dataset, metric, g_tau, model)) not in means.index:
        return
    row = means.loc[key]
    yield "  replications: " + ", ".join(f"{name} {value:.4f}" for name, value in row.items())
    published = published_cells()
    papers = published.loc[(published[["dataset", "metric", "g_tau", "model"]] == key).all(axis=1), "mean"]
    for paper in papers[:1]:
        agree = [str(name) for name, value in row.items() if abs(value - paper) <= CLOSE]
        yield f"  within {CLOSE} of the published value: {', '.join(agree) or 'none'}"


def _effort(cell: Cell) -> str:
    trials = "" if math.isnan(cell.n_trials) else f", {cell.n_trials:.0f} trials each"
    return f"{cell.n_splits} of {cell.n_planned} splits{trials}"


def _splits(results: Results, chain: Chain) -> Iterator[str]:
    n = sum(part.value is not None for part in chain.splits)
    yield f"the mean of {n} rows of scores.csv, each from one chosen trial:"
    yield "  split      value  trial  validation score                 seed  identity"
    for part in chain.splits:
        value = "       none" if part.value is None else f"{part.value:11.6f}"
        best = part.chosen
        if best is None or best.trial is None:
            yield f"  {part.split:5d} {value}  no trial of this split could be used"
            continue
        tried = f"{best.trial}/{best.n_trials}"
        yield f"  {part.split:5d} {value}  {tried:>5s} {best.score:17.10f} {best.seed:20d}  {best.identity}"
    if is_searched(chain.cell.model):
        yield f"Chosen on each split: the trial with the highest validation score, {_score(chain.cell.model)}."
    momentum, series = bool(results.config["training"].get("use_momentum")), data.has_series(chain.cell.dataset)
    used = {p.split: used_hyper(p.chosen.hyper, momentum, series) for p in chain.splits if p.chosen}
    if any(used.values()):
        yield "hyper-parameters of the chosen trials, as far as the model uses them:"
        yield from (f"  split {split}: {hyper_text(hyper)}" for split, hyper in used.items())


def _score(model: str) -> str:
    """What a validation score is, and what its sign means."""
    how = selected_by(model)
    if how == "loss":
        return "minus the loss on the validation part"
    return "the concordance on the validation part" if how == "ctd" else f"the model's own {how} on the validation part"


def _origin(results: Results, chain: Chain) -> Iterator[str]:
    config, table, dataset, model = results.config, chain.data, chain.cell.dataset, chain.cell.model
    convention, splits = results.convention(dataset), results.split_sources[dataset]
    yield f"run          {results.name}: tier {config['tier']}, root seed {config['seed']}, {config['trials']} trials"
    yield f"evaluation   convention {convention}, splits {splits}"
    yield f"training     {hyper_text(config['training'])}, widths {config['width_rounding']}"
    yield f"numerics     {config.get('numerics', 'native')}"
    yield from _code(results, dataset, model, chain.codes)
    subjects = table.get("summary", {}).get("n", "?")
    yield f"data         {(data.module(dataset).__doc__ or dataset).splitlines()[0]}"
    source, digest = table.get("source", "a place not recorded"), table.get("sha256", "unknown")
    yield f"             {subjects} subjects, sha256 {digest}; this run read them from: {source}"
    environment = chain.environment
    if environment:
        libraries = ", ".join(f"{name} {text}" for name, text in environment["libraries"].items())
        yield f"environment  Python {environment['python']}, {libraries}"
        yield f"             pins sha256 {environment['pins'][:16]}"
        yield f"machine      {environment['processor']}, {environment['cores']} cores, {environment['system']}"
    else:
        yield "environment  not recorded in this run's folder"
    if any(part.chosen and part.chosen.trial is not None for part in chain.splits):
        cell = " ".join(filter(None, (dataset, chain.cell.metric, chain.cell.g_tau, model)))
        yield f"again        python -m benchmarks verify cell {cell} --run {results.name}"


def _code(results: Results, dataset: str, model: str, codes: tuple[str, ...]) -> Iterator[str]:
    now = code.of_model(model, data.has_series(dataset))
    path = results.path / COMMITS
    commits = {row["code"]: row for row in read_csv(path).to_dict("records")} if path.is_file() else {}
    for then in codes or ("unknown",):
        same = "this checkout" if then == now else f"this checkout is {now}"
        if then != now and then in equal_codes([results.path], model, now):
            same += ", proven to give the same rows"
        yield f"code         {then} ({same})"
        if then in commits:
            yield f"             git commit {commits[then]['commit'][:12]} of {commits[then]['date']}"
