"""Score on the test part the trials that another search could have chosen, after the choice: for the yardstick alone.

Of all configurations of the kept replications the 40 best of each split by validation score, and the 10 best of each
replication, are fitted again and scored by both conventions. A draw of 100 of 500 has its best on all ten splits among
the 40 with probability .999, a draw of 50 of one list of 100 among the 10 with .99. What was scored before is kept, so
that a stopped study goes on where it was. No part of a run reads these scores.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks import ROOT
from benchmarks.commands._arguments import positive, processes
from benchmarks.data.files import replacing
from benchmarks.results.files import read_parquet
from benchmarks.results.folder import find_run
from benchmarks.results.replications import BEST_TRIALS, TRIAL, Searches, column, read_replications, read_searches
from benchmarks.results.tidy import PAPER_METRICS
from benchmarks.results.types import Trial

OF_POOL, OF_SEARCH = 40, 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--run", dest="name", help="a finished run; default: all kept replications together")
    parser.add_argument("--of-pool", type=positive, default=OF_POOL, help="best trials of each split of all searches")
    parser.add_argument(
        "--of-search", type=positive, default=OF_SEARCH, help="best trials of each split of each search"
    )
    parser.add_argument("--jobs", type=processes, default=2, help="processes")
    parser.add_argument("--directory", type=Path, default=ROOT, help="where results/ is")


def run(args: argparse.Namespace) -> int:
    """One job per run, data set, model and split."""
    results = args.directory / "results"
    searches = (
        read_searches([find_run(args.name, results)]) if args.name else read_replications(results / "replications")
    )
    if not searches.names:
        raise ValueError(f"no replications are kept in {results / 'replications'} yet; name a finished run with --run")
    missing = wanted(searches, args.of_pool, args.of_search)
    scored = set(searches.best[["run", *TRIAL]].itertuples(index=False, name=None))
    missing = missing[[key not in scored for key in missing[["run", *TRIAL]].itertuples(index=False, name=None)]]
    folders = dict(zip(searches.names, searches.folders, strict=True))
    jobs = [(folders[str(k[0])], *k[1:], list(part["trial"])) for k, part in missing.groupby(["run", *TRIAL[:3]])]
    print(f"{len(missing)} trials to score, {len(searches.best)} are there already")
    started, done = time.monotonic(), 0
    with ProcessPoolExecutor(args.jobs) as executor:
        for folder, rows in executor.map(_score, jobs):
            _keep(folder / BEST_TRIALS, rows)
            done += len(rows)
            print(f"  {done}/{len(missing)} after {(time.monotonic() - started) / 60:.0f} min", flush=True)
    return 0


def wanted(searches: Searches, of_pool: int, of_search: int) -> pd.DataFrame:
    """The trials to score: run, dataset, model, split, trial."""
    trials = searches.trials[searches.trials["score"].notna()]
    order = trials["run"].map({name: k for k, name in enumerate(searches.names)})
    ranked = trials.assign(order=order).sort_values(["score", "order", "trial"], ascending=[False, True, True])
    split = ["dataset", "model", "split"]
    best = (ranked.groupby(split).cumcount() < of_pool) | (ranked.groupby([*split, "run"]).cumcount() < of_search)
    return ranked.loc[best, ["run", *TRIAL]].sort_values(["run", *TRIAL])


def _score(job: tuple[Path, str, str, int, list[int]]) -> tuple[Path, list[dict[str, Any]]]:
    from benchmarks.results.types import read_trials
    from benchmarks.study.verify import Again

    folder, dataset, model, split, numbers = job
    filters = [("dataset", "==", dataset), ("model", "==", model), ("split", "==", split), ("trial", "in", numbers)]
    rows = read_trials(pd.read_parquet(folder / "trials.parquet", filters=filters))
    with tempfile.TemporaryDirectory() as work:
        again = Again(folder, Path(work))
        return folder, [{name: getattr(trial, name) for name in TRIAL} | dict(scores(again, trial)) for trial in rows]


def scores(again: Any, trial: Trial) -> Iterator[tuple[str, float]]:
    """The paper's metrics of one trial by both conventions, fitted again, on the test part of its split."""
    from benchmarks.elementary import portable_functions
    from benchmarks.metrics.base import CONVENTIONS
    from benchmarks.metrics.evaluate import evaluate

    fitted, test = refitted(again, trial)
    with portable_functions():
        terms = fitted.nll(test)
        for convention in CONVENTIONS:
            predict = partial(fitted.predict_survival, test)
            for score in evaluate(test.time, test.event, predict, terms, convention):
                if (score.metric, score.g_tau) in PAPER_METRICS:
                    yield column(convention, score.metric, score.g_tau), score.value


def refitted(again: Any, trial: Trial) -> tuple[Any, Any]:
    """A trial's model, which must come out as its row says, and the test part of its split."""
    search = again.search(trial.dataset, trial.model, trial.split)
    path, refit = search.state(trial)
    if refit not in ("", "identical"):
        raise ValueError(f"{trial.key} came out otherwise: {refit}; only rows that come out again are scored")
    fitted = search.model_class.load(path)
    path.unlink()
    return fitted, search.test(trial.split)


def _keep(path: Path, rows: list[dict[str, Any]]) -> None:
    kept = [read_parquet(path)] if path.is_file() else []
    frame = pd.concat([*kept, pd.DataFrame(rows)], ignore_index=True).drop_duplicates(TRIAL).sort_values(TRIAL)
    with replacing(path) as part:
        frame.to_parquet(part, index=False)
