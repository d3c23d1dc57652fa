"""Show where a number comes from: cell, rows, chosen trials, seed, code and data."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from benchmarks import code, data
from benchmarks.report.agreement import agreement
from benchmarks.report.provenance import Chain, chain, hyper_text
from benchmarks.results.folder import Results, find_run, read_results
from benchmarks.results.names import dataset_label, model_label
from benchmarks.results.published import published_cells
from benchmarks.study.config import ROOT
from benchmarks.study.rows import equal_codes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form, e.g. `explain support ctd 0.4 soden`."""
    parser.add_argument("dataset", help="e.g. support")
    parser.add_argument("metric", help="ctd, ibll, ibs, nll or any other the run has")
    parser.add_argument("g_tau", nargs="?", default="", help="P(C > tau): 1e-8, 0.2 or 0.4; leave out for nll")
    parser.add_argument("model", help="e.g. soden")
    parser.add_argument("--run", dest="name", help="name or folder of the run; default: the newest in results/")
    parser.add_argument("--directory", type=Path, default=ROOT, help="where results/ is")


def run(args: argparse.Namespace) -> int:
    """Print the chain."""
    folder = find_run(args.name, args.directory / "results")
    results = read_results(folder)
    found = chain(results, args.dataset, args.metric, args.g_tau, args.model)
    print("\n".join(lines(results, found)))
    return 0


def lines(results: Results, found: Chain) -> Iterator[str]:
    """The chain in words, from the cell down to the machine."""
    yield from _cell(results, found)
    yield ""
    yield from _splits(found)
    yield ""
    yield from _origin(results, found)


def _cell(results: Results, found: Chain) -> Iterator[str]:
    cell = found.cell
    level = f" at P(C > tau) = {cell['g_tau']}" if cell["g_tau"] else ""
    mark = results.marks.get(cell["dataset"])
    name = dataset_label(cell["dataset"]) + (f" ({mark.upper()} DATA)" if mark else "")
    yield f"{name}, {cell['metric']}{level}, {model_label(cell['model'])}"
    if cell["status"] in ("failed", "missing", "not_applicable"):
        yield f"  this run: {cell['status']}"
    else:
        yield f"  this run:  {cell['mean']:.4f} ± {cell['standard_error']:.4f}  ({_effort(cell)})"
    both = agreement(published_cells(), results.cells, results.marks)
    keys = ["dataset", "model", "metric", "g_tau"]
    for row in both[(both[keys] == [cell[k] for k in keys]).all(axis=1)].drop_duplicates(keys).to_dict("records"):
        apart = (
            ""
            if row["standard_errors"] != row["standard_errors"]
            else f", {row['standard_errors']:+.1f} standard errors"
        )
        why = f" ({row['why']})" if row["why"] else ""
        yield f"  published: {row['paper_mean']:.3f} ± {row['paper_standard_error']:.3f}  {row['verdict']}{why}{apart}"
    if cell["p_value"] == cell["p_value"]:
        yield f"  against SODEN: p = {cell['p_value']:.3g}, corrected for overlapping splits {cell['p_corrected']:.3g}"


def _effort(cell: dict[str, float]) -> str:
    trials = "" if cell["n_trials"] != cell["n_trials"] else f", {cell['n_trials']:.0f} trials each"
    return f"{cell['n_splits']} of {cell['n_planned']} splits{trials}"


def _splits(found: Chain) -> Iterator[str]:
    n = sum(row["value"] is not None for row in found.splits)
    yield f"the mean of {n} rows of scores.csv, each from one chosen trial:"
    yield "  split      value  trial  validation score                 seed  identity"
    for row in found.splits:
        value = "       none" if row["value"] is None else f"{row['value']:11.6f}"
        if row.get("trial") is None or row["trial"] != row["trial"]:
            yield f"  {row['split']:5d} {value}  no trial of this split could be used"
            continue
        tried = f"{int(row['trial'])}/{row['n_trials']}"
        yield f"  {row['split']:5d} {value}  {tried:>5s} {row['score']:17.10f} {row['seed']:20d}  {row['identity']}"
    yield "hyper-parameters of the chosen trials:"
    for row in found.splits:
        yield f"  split {row['split']}: {hyper_text(row.get('hyper'))}"


def _origin(results: Results, found: Chain) -> Iterator[str]:
    config, table, dataset, model = results.config, found.data, found.cell["dataset"], found.cell["model"]
    convention, splits = config["evaluation"]["convention"], results.split_sources[dataset]
    yield f"run          {results.name}: tier {config['tier']}, root seed {config['seed']}, {config['trials']} trials"
    yield f"evaluation   convention {convention}, splits {splits}"
    yield f"training     {hyper_text(config['training'])}, widths {config['width_rounding']}"
    yield f"numerics     {config.get('numerics', 'native')}"
    yield from _code(results, dataset, model, found.codes)
    subjects = table.get("summary", {}).get("n", "?")
    source, digest = table.get("source", "unknown source"), table.get("sha256", "unknown")
    yield f"data         {subjects} subjects, {source}, sha256 {digest}"
    environment = found.environment
    if environment:
        libraries = ", ".join(f"{name} {text}" for name, text in environment["libraries"].items())
        yield f"environment  Python {environment['python']}, {libraries}"
        yield f"             pins sha256 {environment['pins'][:16]}"
        yield f"machine      {environment['processor']}, {environment['cores']} cores, {environment['system']}"
    else:
        yield "environment  not recorded in this run's folder"
    first = next((r for r in found.splits if r.get("trial") is not None and r["trial"] == r["trial"]), None)
    if first:
        key = f"{dataset}/{model}/{first['split']}/{int(first['trial'])}"
        yield f"again        python -m benchmarks audit --run {results.name} --trial {key}"


def _code(results: Results, dataset: str, model: str, codes: tuple[str, ...]) -> Iterator[str]:
    now = code.of_model(model, data.has_series(dataset))
    for then in codes or ("unknown",):
        same = "this checkout" if then == now else f"this checkout is {now}"
        if then != now and then in equal_codes(results.path, model, now):
            same += ", proven to give the same rows"
        yield f"code         {then} ({same})"
