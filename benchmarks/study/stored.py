"""Check everything that a kept run stores without training anything: what a forged file would contradict.

All trials of the plan are there once, with the seed, the hyper-parameters and the settings that follow from the root
seed; the chosen ones are those with the best validation scores; cells and tests follow from the scores. Validation and
test scores themselves are checked by fitting again (`verify reference`, `verify trials`) and loading (`verify states`).
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from math import comb
from pathlib import Path

import pandas as pd

from benchmarks import data
from benchmarks.config import Config
from benchmarks.data.files import replacing, sha256_of
from benchmarks.data.splits import make_split
from benchmarks.results import KEPT_RUNS
from benchmarks.results.files import read_csv, read_parquet
from benchmarks.results.folder import Results, read_results, split_sources
from benchmarks.results.published import published_cells
from benchmarks.results.tidy import read_table
from benchmarks.results.types import DamagedRow, Trial, read_trials
from benchmarks.study import plan
from benchmarks.study.evaluate import choose
from benchmarks.study.gather import gather
from benchmarks.study.store import Store, read_codes, space_of
from benchmarks.study.trial import Key, fit_seed, hyper_parameters

MANIFEST = "MANIFEST.sha256"
CELL = ["table", "dataset", "model", "metric", "g_tau"]
TEST = ["dataset", "metric", "g_tau", "model", "reference"]
ROUNDED = 1e-9  # means of the same scores, summed in another order
FINISHED = ("cells.csv", "scores.csv", "conventions.csv", "tests.csv")  # of a run that is not in progress


def wrong(run: Path) -> Iterator[str]:
    """Everything that a kept run's files contradict, in words; nothing if all is as it must be."""
    config = replace(Config.of_run(run), known="", device="cpu")
    yield from manifest_differences(run)
    trials: list[Trial] = []
    for row in read_parquet(run / "trials.parquet").to_dict("records"):
        try:
            trials.append(Trial.from_row(row))
        except DamagedRow as error:
            yield str(error)
    absent = [name for name in FINISHED if not (run / name).is_file()]
    if absent and (len(absent) < len(FINISHED) or run.name in KEPT_RUNS):  # only a replication may be in progress
        yield f"{run.name} lacks {', '.join(absent)}"
    finished = not absent
    yield from _plan(config, trials, finished)
    store = Store(run, config)
    for trial in trials:
        yield from _derived(store, trial)
    yield from _data(run, config, trials)
    yield from _proofs(run, trials)
    if finished:
        results = read_results(run)
        yield from _choice(results, trials)
        yield from _tables(results)


def stale(run: Path, config: Config, datasets: list[str]) -> Iterator[str]:
    """What a finished run holds that its configuration does not ask for, or that does not follow from its trials."""
    store = Store(run, config)
    trials = list(read_trials(read_parquet(run / "trials.parquet")))
    yield from _plan(replace(config, datasets=tuple(datasets)), trials, finished=True)
    for trial in trials:
        if trial.status != "failed" and (why := store.why_not(trial)):
            yield f"{trial.key}: {why}"
    results = read_results(run)
    yield from _choice(results, trials)
    yield from _tables(results)


def _plan(config: Config, trials: list[Trial], finished: bool) -> Iterator[str]:
    """Every planned trial once, and no other."""
    there = Counter((t.dataset, t.model, *t.pair) for t in trials)
    for (dataset, model, split, number), n in there.items():
        if n > 1:
            yield f"{dataset}/{model}/{split}/{number} is there {n} times"
    planned = {
        (name, model, *pair)
        for name in config.datasets
        for model in plan.models_for(config, name)
        for chunk in plan.chunks(config, name, model)
        for pair in chunk.trials
    }
    for what, keys in (("missing", planned - there.keys()), ("in no plan", there.keys() - planned)):
        if keys and (finished or what != "missing"):
            yield f"{len(keys)} trials are {what}, first {'/'.join(map(str, min(keys)))}"


def _derived(store: Store, trial: Trial) -> Iterator[str]:
    """What follows from the root seed and the configuration."""
    config, key = store.config, Key(trial.dataset, trial.model, *trial.pair)
    drawn = key if config.configurations == "per_split" else replace(key, split=0)
    space = space_of(trial.dataset, trial.model)
    if trial.seed != fit_seed(config.seed, key):
        yield f"{trial.key}: its seed does not follow from the root seed"
    if dict(trial.hyper) != hyper_parameters(config.seed, drawn, space, config.width_rounding):
        yield f"{trial.key}: its hyper-parameters do not follow from the root seed"
    now = store.parts_without_split(trial.dataset, trial.model)
    then = replace(trial.parts, data="", split_rows="")
    if then.code in store.equal_codes(trial.model, now.code):
        then = replace(then, code=now.code)
    if changed := then.changed(replace(now, numerics="native" if config.numerics == "native" else "portable")):
        yield f"{trial.key}: {' and '.join(changed)} {'is' if len(changed) == 1 else 'are'} not this run's"


def _data(run: Path, config: Config, trials: list[Trial]) -> Iterator[str]:
    """Data and splits of the trials, where the data can be had here."""
    from benchmarks.study.prepare import data_settings

    noted = run / "datasets.csv"
    sources = split_sources(read_csv(noted), config.split_source) if noted.is_file() else {}
    for name in dict.fromkeys(trial.dataset for trial in trials):
        rows = [trial for trial in trials if trial.dataset == name]
        try:
            dataset = data.load(name, data_settings(config))
        except data.DataUnavailable:
            continue
        if {trial.parts.data for trial in rows} != {dataset.sha256()}:
            yield f"{name}: the trials are not of this data set"
        how = sources.get(name, config.split_source)
        for split in {trial.split for trial in rows}:
            made = make_split(dataset, how, split, seed=config.seed).sha256()[:12]
            if {trial.parts.split_rows for trial in rows if trial.split == split} != {made}:
                yield f"{name}: the trials of split {split} are not of this split"


def _proofs(run: Path, trials: list[Trial]) -> Iterator[str]:
    """A proof that code is equal names trials of this run whose code is what it says, or was proven to be."""
    of_key = {trial.key: trial.parts.code for trial in trials}
    for model, proofs in read_codes(run).items():
        reached: dict[str, set[str]] = {}
        for proof in proofs:
            reached.setdefault(proof["equals"], set()).add(proof["code"])
        for proof in proofs:
            known = {proof["equals"], *(p["equals"] for p in proofs if p["code"] == proof["equals"])}
            if not proof["rows"] or any(of_key.get(key) not in known for key in proof["rows"]):
                yield f"codes.json: that {model} {proof['code']} equals {proof['equals']} is not proven by its trials"


def _choice(results: Results, trials: list[Trial]) -> Iterator[str]:
    """The chosen trials are the best by validation score, with their counts."""
    chosen = {(row.dataset, row.model, row.split): row for row in results.chosen}
    searches: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        searches.setdefault((trial.dataset, trial.model), []).append(trial)
    for (dataset, model), rows in searches.items():
        best = choose(rows)
        for split in dict.fromkeys(trial.split for trial in rows):
            kept = chosen.pop((dataset, model, split), None)
            counts = Counter(trial.status for trial in rows if trial.split == split)
            top = best.get(split)
            wanted = (top.trial, top.identity, top.seed, dict(top.hyper)) if top else (None, "", 0, {})
            if kept is None or (kept.trial, kept.identity, kept.seed, dict(kept.hyper)) != wanted:
                yield f"{dataset}/{model}/{split}: the chosen trial is not the one with the best validation score"
            elif (kept.n_trials, kept.n_ok) != (counts.total(), counts["ok"]):
                yield f"{dataset}/{model}/{split}: the counts of the chosen trial are not those of its trials"
    for dataset, model, split in chosen:
        yield f"{dataset}/{model}/{split}: a trial was chosen of a search that has none"


def _tables(results: Results) -> Iterator[str]:
    """Scores, cells and tests follow from conventions.csv, and every cell of the paper is there."""
    planned = read_csv(results.path / "planned.csv")
    convention = str(results.config["evaluation"]["convention"])
    with tempfile.TemporaryDirectory() as folder:
        gather(results.conventions, results.trials, convention, planned, Path(folder), results.reference)
        for name, keys in (("scores", [*TEST[:-1], "split"]), ("cells", CELL), ("tests", TEST)):
            kept, again = (read_table(where / f"{name}.csv") for where in (results.path, Path(folder)))
            yield from differing(f"{name}.csv", kept, again, keys, ROUNDED)
    yield from missing_cells(results)
    wanted = {(d, m, s) for d, m, n in planned.itertuples(index=False) for s in range(1, n + 1)}
    rows = results.conventions[["dataset", "model", "split"]].drop_duplicates()
    if lost := wanted - set(rows.itertuples(index=False, name=None)):
        yield f"conventions.csv lacks {len(lost)} of {len(wanted)} splits, first {'/'.join(map(str, min(lost)))}"


def missing_cells(results: Results) -> Iterator[str]:
    """The paper's cells on a run's data sets that it does not have."""
    published = published_cells()
    there = set(results.cells[results.cells["mean"].notna()][CELL].itertuples(index=False, name=None))
    wanted = published[published["dataset"].isin(results.config["datasets"])]
    wanted = wanted[wanted["model"].isin(results.config["models"])]
    if lost := set(wanted[CELL].itertuples(index=False, name=None)) - there:
        yield f"cells.csv lacks {len(lost)} cells of the paper, first {' '.join(min(lost))}"


def differing(name: str, then: pd.DataFrame, now: pd.DataFrame, keys: list[str], tolerance: float) -> Iterator[str]:
    """What two tables do not share, row by row and column by column; the tolerance is relative."""
    if set(then) != set(now):
        yield f"{name}: the columns are not the same: {', '.join(sorted(set(then) ^ set(now)))}"
        return
    both = then.merge(now, on=keys, how="outer", suffixes=("_then", "_now"), indicator=True)
    if alone := int((both["_merge"] != "both").sum()):
        yield f"{name}: {alone} rows are in one of the two tables only"
    both = both[both["_merge"] == "both"]
    for column in [column for column in then if column not in keys]:
        old, new = both[f"{column}_then"], both[f"{column}_now"]
        if pd.api.types.is_float_dtype(old) and pd.api.types.is_float_dtype(new):
            same = (old == new) | ((old - new).abs() <= tolerance * old.abs())
        else:
            one, two = (each.astype(object).where(each.notna(), "").astype(str) for each in (old, new))
            same = one == two
        if n := int((~(same | (old.isna() & new.isna()))).sum()):
            first = " ".join(map(str, both.loc[~(same | (old.isna() & new.isna())), keys].iloc[0]))
            yield f"{name}: {column} differs in {n} of {len(both)} rows, first {first}"


def write_manifest(run: Path) -> None:
    """Write the sha256 of every file of a kept run, in the form of `sha256sum --check`."""
    with replacing(run / MANIFEST) as part:
        part.write_text("".join(f"{digest}  {name}\n" for name, digest in _hashes(run).items()))


def manifest_differences(run: Path) -> Iterator[str]:
    """The files of a kept run that are not as its manifest says."""
    path = run / MANIFEST
    if not path.is_file():
        yield f"{run.name} has no {MANIFEST}"
        return
    noted = {name: digest for digest, name in (line.split("  ", 1) for line in path.read_text().splitlines())}
    here = _hashes(run)
    for name in sorted(noted.keys() | here.keys()):
        if name not in here:
            yield f"{name} is in the manifest and not there"
        elif name not in noted:
            yield f"{name} is not in the manifest"
        elif noted[name] != here[name]:
            yield f"{name} is not as the manifest says"


def _hashes(run: Path) -> dict[str, str]:
    """Of every file but the page and the tables, which `.ci/write_pages.py --check` makes from the others."""
    files = (path for path in sorted(run.rglob("*")) if path.is_file() and not path.name.startswith("."))
    names = {path.relative_to(run).as_posix(): path for path in files}
    made = (MANIFEST, "report.html")
    return {n: sha256_of(path) for n, path in names.items() if n not in made and not n.startswith("tables/")}


def found_with(changed: int, trials: int, sample: int) -> float:
    """The probability that a random sample holds at least one of the changed trials."""
    return 1.0 - comb(trials - changed, sample) / comb(trials, sample) if sample < trials else 1.0


def sample_for(changed: int, trials: int, probability: float = 0.95) -> int:
    """The smallest sample that holds one of the changed trials with this probability."""
    return next(n for n in range(trials + 1) if found_with(changed, trials, n) >= probability)
