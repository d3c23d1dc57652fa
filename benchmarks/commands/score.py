"""Score survival curves of any program, and test them against the reference's models.

`score --data support --predictions DIR --label "My model"` reads one file per split (see `data export`), computes the
study's metrics, compares with every model of the reference split by split, and writes tables and a page.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pandas as pd

from benchmarks import ROOT, data
from benchmarks.commands._arguments import place, positive
from benchmarks.data.files import replacing
from benchmarks.data.splits import Split, make_split
from benchmarks.metrics.evaluate import evaluate
from benchmarks.report.grid import BEYOND
from benchmarks.report.latex import Style
from benchmarks.report.score_page import page
from benchmarks.results.folder import Results, find_run, read_results
from benchmarks.results.names import model_label
from benchmarks.results.statistics import compare, summarise
from benchmarks.study.export import needed_times
from benchmarks.study.predictions import BadPredictions, Between, check_against_data, find_file, read_curves


def score_split(dataset: data.Dataset, split: Split, file: Path, between: Between, convention: str) -> pd.DataFrame:
    """The metrics of one split's predictions: metric, g_tau, value."""
    test = dataset.take(split.test)
    curves = read_curves(file, split.test, float(needed_times(test.time, test.event)[-1]), between)
    if warning := check_against_data(file, curves, test.time, test.event):
        print(f"warning: {warning}")
    found = evaluate(test.time, test.event, curves, convention=convention)  # type: ignore[arg-type]
    return pd.DataFrame([s._asdict() for s in found])


def beside(reference: Results, dataset: data.Dataset, scores: pd.DataFrame) -> pd.DataFrame:
    """These scores below those of the reference's models on the same splits."""
    theirs = reference.scores
    theirs = theirs[(theirs["dataset"] == dataset.name) & theirs["split"].isin(scores["split"])]
    return pd.concat([theirs, scores], ignore_index=True)


def tests_of(scores: pd.DataFrame, model: str) -> pd.DataFrame:
    """Paired t-tests over splits against every other model; `difference` is this model's mean minus the other's."""
    tests = compare(scores, reference=model).drop(columns="reference")
    means = scores.groupby(["metric", "g_tau", "model"])["value"].mean()
    keys = list(tests[["metric", "g_tau", "model"]].itertuples(index=False, name=None))
    own = [means[metric, g_tau, model] for metric, g_tau, _ in keys]
    tests = tests.assign(difference=-tests["difference"], t=-tests["t"], mean=own, their_mean=[means[k] for k in keys])
    first = ["dataset", "metric", "g_tau", "model", "mean", "their_mean", "difference", "t", "df", "p_value"]
    return tests[[*first, "p_corrected", "n_splits"]]


def name_of(label: str, reference: Results) -> str:
    """The label as a config key, which no model of the reference may have."""
    name = re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_")
    if not name:
        raise BadPredictions(f"--label must hold a letter or a digit to be told apart in tables; got {label!r}")
    if name in set(reference.scores["model"]):
        raise BadPredictions(f"--label {label!r} names a model of {reference.name}; choose another one")
    return name


def splits_of(reference: Results, dataset: data.Dataset, wanted: list[int] | None) -> dict[int, Split]:
    """The splits the reference's scores rest on, or those of them that are wanted."""
    rows = reference.scores[reference.scores["dataset"] == dataset.name]
    if rows.empty:
        have = ", ".join(sorted(set(reference.scores["dataset"])))
        raise BadPredictions(
            f"{reference.name} has no scores of {dataset.label} to compare with, only of {have}; choose one of these, "
            "or another run with --reference"
        )
    if (hashed := reference.notes.get(dataset.name, {}).get("sha256")) not in (None, dataset.sha256()):
        raise BadPredictions(
            f"{dataset.label} here is not the {dataset.label} of {reference.name} (sha256 {dataset.sha256()[:12]}, "
            f"there {hashed[:12]}); scores of different data cannot be compared"
        )
    numbers = sorted({int(n) for n in rows["split"]})
    if unknown := sorted(set(wanted or ()) - set(numbers)):
        raise BadPredictions(f"{reference.name} has splits {numbers[0]} to {numbers[-1]}; --splits got {unknown}")
    how, seed = reference.split_sources[dataset.name], reference.config["seed"]
    return {n: make_split(dataset, how, n, seed=seed) for n in wanted or numbers}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--data", required=True, choices=data.names(), metavar="NAME", help="a data set's name")
    parser.add_argument("--predictions", type=Path, required=True, help="folder with <split>.csv, .parquet or .npz")
    parser.add_argument("--label", required=True, help="how tables call it")
    parser.add_argument("--between", choices=("linear", "steps"), default="linear", help="how curves go between times")
    parser.add_argument("--splits", type=positive, nargs="+", help="only these; default: all of the reference")
    parser.add_argument("--reference", default="reference", help="name or folder of the run to compare with")
    parser.add_argument("--out", type=place, help="default: the folder scores/ in the predictions'")
    parser.add_argument("--directory", type=Path, default=ROOT, help="where results/ is")


def run(args: argparse.Namespace) -> int:
    """Check all files first, then score, test and write."""
    reference = read_results(find_run(args.reference, args.directory / "results"))
    name, dataset = name_of(args.label, reference), data.load(args.data)
    splits = splits_of(reference, dataset, args.splits)
    files = {number: find_file(args.predictions, number) for number in splits}
    convention = reference.convention(dataset.name)
    parts = []
    for number, split in splits.items():
        part = score_split(dataset, split, files[number], args.between, convention)
        parts.append(part.assign(dataset=dataset.name, model=name, split=number))
        print(f"{files[number].name}: {len(split.test)} curves scored")
    scores = pd.concat(parts)[["dataset", "model", "split", "metric", "g_tau", "value"]]
    every = beside(reference, dataset, scores)
    tests, cells = tests_of(every, name), summarise(every)
    out = args.out or args.predictions / "scores"
    style = Style(labels={name: args.label, **reference.labels}, marks=reference.marks, notation=dataset.name)
    for file, frame in (("scores", scores), ("tests", tests), ("table", BEYOND.rows(cells))):
        with replacing(out / f"{file}.csv") as part:
            frame.to_csv(part, index=False)
    for file, text in (
        ("table.tex", BEYOND.latex(cells, style)),
        ("page.html", page(reference, dataset, name, args.label, cells, tests, args.between)),
    ):
        with replacing(out / file) as part:
            part.write_text(text, encoding="utf-8")
    _say(tests, args.label, reference, out)
    return 0


def _say(tests: pd.DataFrame, label: str, reference: Results, out: Path) -> None:
    against = tests[(tests["model"] == reference.reference) & tests["g_tau"].isin(("1e-8", ""))]
    other = model_label(reference.reference)
    for row in against[against["metric"].isin(("ctd", "ibll", "ibs"))].itertuples():
        print(
            f"{row.metric:4s} {label} {row.mean:.3f}, {other} {row.their_mean:.3f}: difference {row.difference:+.4f}, "
            f"p {row.p_value:.2g} (corrected for overlapping splits {row.p_corrected:.2g})"
        )
    print(f"scores.csv, tests.csv, table.csv, table.tex and page.html are in {out}")
