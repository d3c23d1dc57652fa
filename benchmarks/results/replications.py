"""The replications kept in results/replications/<seed>: full searches that differ in nothing but the root seed.

A replication holds all its trials with their validation scores, the test scores of its chosen trials (conventions.csv)
and, in best_trials.parquet, the test scores of the trials that another search could have chosen. These were computed
after the choice, for the yardstick alone: no choice ever looks at them.

A replication in progress may lie there, too, as config.json and the trials finished so far: nothing is judged by it,
and its run goes on from there with `known: results/replications/<seed>`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.results.files import read_json, read_parquet
from benchmarks.results.names import is_searched
from benchmarks.results.pool import Pool
from benchmarks.results.tidy import CELL, PAPER_METRICS, read_table, require

FOLDER = Path(__file__).resolve().parents[2] / "results" / "replications"
NEEDED = 5  # replications that a verdict rests on; the number was fixed before the first was made
FINISHED = ("config.json", "trials.parquet", "conventions.csv")
BEST_TRIALS = "best_trials.parquet"
COMMITS = "commits.csv"  # code identity -> git commit, by `benchmarks.studies commits`
STEPS = "steps.csv"  # scores of the chosen discrete-time models as step functions, by `benchmarks.studies steps`
TRIAL = ["dataset", "model", "split", "trial"]
# What replications must share to be repetitions of one experiment.
PROTOCOL = ("trials", "training", "width_rounding", "split_source", "configurations", "numerics")


def column(convention: str, metric: str, g_tau: str) -> str:
    """The column of best_trials.parquet that holds a metric: published/ctd/0.4."""
    return f"{convention}/{metric}/{g_tau}"


@dataclass(frozen=True, eq=False)
class Searches:
    """Searches of the same models on the same splits, in the order of their names; there may be none."""

    folders: tuple[Path, ...]
    configs: tuple[Mapping[str, Any], ...]
    trials: pd.DataFrame  # run, dataset, model, split, trial, score, status
    best: pd.DataFrame  # run, dataset, model, split, trial, and a column per convention and metric
    scores: pd.DataFrame  # run, dataset, model, split, convention, metric, g_tau, value: of the chosen trials

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the searches; those of replications are their root seeds."""
        return tuple(folder.name for folder in self.folders)

    @cached_property
    def searched(self) -> list[tuple[str, str]]:
        """The (data set, model) pairs that have hyper-parameters to search."""
        pairs = self.trials[["dataset", "model"]].drop_duplicates().itertuples(index=False, name=None)
        return [pair for pair in pairs if is_searched(pair[1])]

    def pool(
        self, dataset: str, model: str, convention: str = "published", names: Sequence[str] | None = None
    ) -> tuple[Pool, list[tuple[str, str]]]:
        """All configurations of a model with their scores, and the (metric, g_tau) of the rows of `test`.

        `names` are the searches to take; by default all.
        """
        cells = [pair for pair in PAPER_METRICS if column(convention, *pair) in self.best]
        names = self.names if names is None else names
        trials = _of(self.trials, dataset, model, names)
        wide = trials.pivot(index="split", columns=["run", "trial"], values="score")
        wide = wide.reindex(columns=[key for name in names for key in wide.columns if key[0] == name])
        test = np.full((len(cells), *wide.shape), np.nan)
        best = _of(self.best, dataset, model, names)
        rows = wide.index.get_indexer(best["split"])
        columns = wide.columns.get_indexer(pd.MultiIndex.from_frame(best[["run", "trial"]]))
        test[:, rows, columns] = best[[column(convention, *pair) for pair in cells]].to_numpy(float).T
        scored = [i for i, values in enumerate(test) if not np.isnan(values).all()]
        return Pool(wide.fillna(-np.inf).to_numpy(float), test[scored]), [cells[i] for i in scored]

    def means(self, convention: str = "published") -> pd.DataFrame:
        """A row per cell and model, a column per search: the mean over splits of the chosen trials' test scores."""
        scores = self.scores[self.scores["convention"] == convention]
        paper = pd.MultiIndex.from_frame(scores[["metric", "g_tau"]]).isin(list(PAPER_METRICS))
        means = scores[paper].groupby([*CELL, "model", "run"])["value"].mean().unstack("run")
        return means.reindex(columns=list(self.names))


def _of(frame: pd.DataFrame, dataset: str, model: str, names: Sequence[str]) -> pd.DataFrame:
    return frame[(frame["dataset"] == dataset) & (frame["model"] == model) & frame["run"].isin(list(names))]


def read_replications(folder: Path = FOLDER) -> Searches:
    """All kept replications; they must be repetitions of one experiment."""
    searches = read_searches(replication_folders(folder))
    for path, config in zip(searches.folders[1:], searches.configs[1:], strict=True):
        first = searches.configs[0]
        if changed := [name for name in PROTOCOL if config.get(name) != first.get(name)]:
            said = ", ".join(f"{k}: {_text(config.get(k))} instead of {_text(first.get(k))}" for k in changed)
            raise ValueError(f"{path} is no replication of {searches.folders[0].name}: {said}; keep it elsewhere")
    sizes = searches.trials.groupby(["dataset", "model", "run", "split"]).size().unstack(["run", "split"])
    if sizes.isna().any(axis=None) or (sizes.nunique(axis=1) > 1).any():
        raise ValueError(
            f"the replications in {folder} do not all have the same models, splits and trials; each must be a finished "
            "run of config/replication.yaml"
        )
    return searches


def replication_folders(folder: Path = FOLDER) -> list[Path]:
    """The folders of the finished replications: seed 2 before seed 10."""
    return [path for path in _folders(folder) if all((path / name).is_file() for name in FINISHED)]


def unfinished(folder: Path = FOLDER) -> dict[str, int]:
    """The replications in progress: name -> trials finished so far."""
    parts = [path for path in _folders(folder) if path not in replication_folders(folder)]
    return {path.name: len(read_parquet(path / "trials.parquet", columns=["trial"])) for path in parts}


def enough(folder: Path = FOLDER) -> bool:
    """True if there are as many finished replications as a verdict rests on."""
    return len(replication_folders(folder)) >= NEEDED


def how_many(folder: Path = FOLDER) -> str:
    """In words: "1 of 5 replications; 2 is unfinished (1,400 trials)"."""
    parts = [f"; {name} is unfinished ({trials:,} trials)" for name, trials in unfinished(folder).items()]
    return f"{len(replication_folders(folder))} of {NEEDED} replications" + "".join(parts)


def _folders(folder: Path) -> list[Path]:
    return sorted(
        (path.parent for path in folder.glob("*/trials.parquet")), key=lambda path: (len(path.name), path.name)
    )


def read_searches(folders: Sequence[Path]) -> Searches:
    """Finished runs as searches; one whose best trials were not scored counts with its chosen ones alone."""
    trials, best, scores = [], [], []
    for folder in folders:
        rows = read_parquet(folder / "trials.parquet", columns=[*TRIAL, "score", "status"])
        trials.append(rows.assign(run=folder.name, score=rows["score"].where(rows["status"] == "ok")))
        if (folder / BEST_TRIALS).is_file():
            frame = read_parquet(folder / BEST_TRIALS)
            require(frame, TRIAL, str(folder / BEST_TRIALS))
            best.append(frame.assign(run=folder.name))
        scores.append(read_table(folder / "conventions.csv").assign(run=folder.name))
    return Searches(
        tuple(folders),
        tuple(read_json(folder / "config.json") for folder in folders),
        _together(trials, [*TRIAL, "score", "status", "run"]),
        _together(best, [*TRIAL, "run"]),
        _together(scores, ["dataset", "model", "split", "convention", "metric", "g_tau", "value", "run"]),
    )


def _together(frames: list[pd.DataFrame], columns: list[str]) -> pd.DataFrame:
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
