"""Bring a run together: scores, conventions, tests, cells and data sets as CSV, trials.parquet, environment.json."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from benchmarks.config import Config
from benchmarks.data.files import replacing
from benchmarks.data.registry import convention_of
from benchmarks.results.files import read_json, read_parquet, write_parquet
from benchmarks.results.names import REFERENCE
from benchmarks.results.statistics import compare, summarise
from benchmarks.results.types import trials_frame
from benchmarks.study import plan, prepare
from benchmarks.study.environment import environment
from benchmarks.study.status import available
from benchmarks.study.store import read_chunks

WEIGHTS = ["dataset", "split", "convention", "metric", "g_tau", "left_out", "gained"]
KEYS = ["dataset", "model", "split", "metric", "g_tau"]


def gather_run(run: Path, config: Config) -> pd.DataFrame:
    """Write the tables of a run whose models are all evaluated; return its trials."""
    # Files are named by the plan, not by what is there: a run that had other chunks before leaves files behind.
    models = [(name, model) for name in available(run, config) for model in plan.models_for(config, name)]
    trials = gather_trials(
        run / "trials" / name / model / f"{chunk.name}.parquet"
        for name, model in models
        for chunk in plan.chunks(config, name, model)
    )
    scores = gather_scores(run / "scores" / name / f"{model}.parquet" for name, model in models)
    planned = [(name, model, plan.n_splits(config, name)) for name, model in models]
    counts = pd.DataFrame(planned, columns=["dataset", "model", "n_splits"])
    gather(scores, trials, config.evaluation.convention, counts, run, config.compare_with)
    weights = gather_weights(run / "scores" / name / f"{model}.json" for name, model in models)
    with replacing(run / "weights.csv") as part:
        weights.to_csv(part, index=False)
    summaries = [prepare.summary_of(run, name, config) for name in dict.fromkeys(name for name, _ in models)]
    with replacing(run / "datasets.csv") as part:
        pd.DataFrame(summaries).to_csv(part, index=False)
    with replacing(run / "environment.json") as part:
        part.write_text(json.dumps(environment(), indent=1, sort_keys=True))
    return trials


def gather_scores(paths: Iterable[Path]) -> pd.DataFrame:
    """All tidy scores, sorted, so that the order in which jobs ended leaves no trace."""
    frames = [frame for path in paths if len(frame := read_parquet(path))]
    if not frames:
        raise ValueError("no model has a score: every trial failed or diverged; see the trials and logs of this run")
    return pd.concat(frames).sort_values(["convention", *KEYS], ignore_index=True)


def gather_trials(paths: Iterable[Path]) -> pd.DataFrame:
    """All trials of the run, without the hashes of their states, which are not published with them."""
    trials = sorted(read_chunks(paths), key=lambda trial: (trial.dataset, trial.model, *trial.pair))
    return trials_frame(trials).drop(columns="state", errors="ignore")


def gather_weights(paths: Iterable[Path]) -> pd.DataFrame:
    """How evenly the metrics weigh the subjects of each split: the same whichever model was scored."""
    rows = [row for path in paths for row in read_json(path, ("weights",))["weights"]]
    return pd.DataFrame(rows, columns=WEIGHTS).drop_duplicates(WEIGHTS[:-2], ignore_index=True)


def gather(
    scores: pd.DataFrame,
    trials: pd.DataFrame,
    convention: str,
    planned: pd.DataFrame,
    out: Path,
    reference: str = REFERENCE,
) -> None:
    """Write the run's tables of numbers; by convention "auto" each data set's scores are those its file asks for."""
    of_dataset = {name: convention_of(name, convention) for name in scores["dataset"].unique()}
    chosen = scores["convention"] == scores["dataset"].map(of_dataset)
    main = scores.loc[chosen, [*KEYS, "value"]].sort_values(KEYS, ignore_index=True)
    slim = trials[["dataset", "model", "split", "trial", "status"]]
    for name, frame in (
        ("scores.csv", main),
        ("conventions.csv", scores),
        ("tests.csv", compare(main, reference)),
        ("cells.csv", summarise(main, slim, reference, planned)),
        ("planned.csv", planned),
    ):
        with replacing(out / name) as part:
            frame.to_csv(part, index=False)
    write_parquet(trials, out / "trials.parquet")
