"""Choose each split's best trial and score it on the test part: the first and only reading of the test rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from baselines.contract import Competitor
from benchmarks.data import credentialed
from benchmarks.data.files import replacing
from benchmarks.data.mimic3.small_cells import coarse
from benchmarks.elementary import portable_functions
from benchmarks.metrics.base import CONVENTIONS, Outcome
from benchmarks.metrics.evaluate import evaluate_all
from benchmarks.metrics.weights import weights
from benchmarks.results import privacy
from benchmarks.results.files import write_parquet
from benchmarks.results.types import Chosen, Score, Trial
from benchmarks.study.search import Search
from soden.types import FloatArray, SurvivalData


def choose(trials: Iterable[Trial]) -> dict[int, Trial]:
    """The best trial of each split by its validation score; a split whose trials all failed has none."""
    best: dict[int, Trial] = {}
    for trial in trials:
        if trial.beats(best.get(trial.split)):
            best[trial.split] = trial
    return best


def score(
    model: Competitor, test: SurvivalData, private: bool = False
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, Any]]:
    """Scores under every convention, calibration rows, and the risk groups of the paper's Kaplan-Meier figure."""
    scores: list[dict[str, Any]] = []
    curves: list[dict[str, Any]] = []
    terms = model.nll(test)
    for convention in CONVENTIONS:
        result = evaluate_all(
            test.time,
            test.event,
            lambda times: model.predict_survival(test, times),
            terms,
            convention,
            lambda times, rows: model.predict_survival(test.take(rows), times),  # type: ignore[arg-type]
        )
        scores += [{"convention": convention, **s._asdict()} for s in result.scores]
        if convention == CONVENTIONS[0]:  # these do not depend on the convention
            curves = [dict(row._asdict()) for row in result.curves["calibration"]]
    return scores, privacy.large_groups(curves) if private else curves, risk_groups(model, test, private)


def weights_of(test: SurvivalData, dataset: str, split: int, private: bool = False) -> list[dict[str, Any]]:
    """How evenly the metrics weigh the subjects of one test part, by every convention; what is notable is printed.

    Of private data without a share that counts a few patients.
    """
    rows: list[dict[str, Any]] = []
    for convention in CONVENTIONS:
        for spread in weights(Outcome(test.time, test.event, convention)):
            key = {"dataset": dataset, "split": split, "convention": convention}
            of = int(test.event.sum()) if spread.metric == "ctd" else len(test)
            hidden = {"left_out": privacy.shown_share(spread.left_out, of), "gained": round(spread.gained, 2)}
            rows.append({**key, **spread._asdict(), **(hidden if private else {})})
            if not private and spread.is_notable and spread.metric != "ibll":  # whose weights are those of IBS
                print(f"{dataset}, split {split}: by the {convention} convention {spread}")
    return rows


def risk_groups(model: Competitor, test: SurvivalData, private: bool = False) -> dict[str, Any]:
    """Kaplan-Meier curves of the high- and low-risk halves, cut at predicted survival at the median observed time.

    Curves are read on a grid of 200 times, so that nothing of a single patient leaves this function; if the data are
    private, its end and the median are given to two digits.
    """
    from sksurv.compare import compare_survival
    from sksurv.util import Surv

    from benchmarks.metrics.censoring import kaplan_meier

    # "The median of all observed survival times in the test set" (Section 5.5): of the events.
    at = float(np.median(test.time[test.event]))
    survival = model.predict_survival(test, np.array([at]))[:, 0]
    order = np.argsort(survival, kind="stable")
    high = np.zeros(len(test), dtype=bool)
    high[order[: len(test) // 2]] = True
    end = float(test.time.max())
    grid = np.linspace(0, coarse(end) if private else end, 200)
    groups = {"high": high, "low": ~high, "all": np.ones(len(test), dtype=bool)}

    def curve(member: FloatArray) -> list[float]:
        times, values, _ = kaplan_meier(test.time[member], test.event[member])
        return [round(float(v), 6) for v in np.concatenate([[1.0], values])[np.searchsorted(times, grid, side="right")]]

    _, p_value = compare_survival(Surv.from_arrays(test.event, test.time), high)
    return {
        "time": coarse(at) if private else at,
        "p_value": float(p_value),
        "grid": [round(float(t), 6) for t in grid],
        **{name: curve(member) for name, member in groups.items()},
        "n": {name: int(member.sum()) for name, member in groups.items()},
    }


@dataclass
class Evaluation:
    """Everything one model gives on one data set."""

    chosen: list[Chosen] = field(default_factory=list)
    scores: list[Score] = field(default_factory=list)
    curves: list[dict[str, Any]] = field(default_factory=list)
    risk_groups: list[dict[str, Any]] = field(default_factory=list)
    weights: list[dict[str, Any]] = field(default_factory=list)


def evaluate_model(search: Search, trials: list[Trial]) -> Evaluation:
    """Choose the best trial of each split and score it on the test part."""
    best_of = choose(trials)
    out = Evaluation()
    for split in sorted({trial.split for trial in trials}):
        key: dict[str, Any] = {"dataset": search.dataset.name, "model": search.model, "split": split}
        counts = Counter(trial.status for trial in trials if trial.split == split)
        numbers = {"n_ok": counts["ok"], "n_diverged": counts["diverged"], "n_failed": counts["failed"]}
        chosen = Chosen.from_row(key | {"n_trials": counts.total()} | numbers)
        if (best := best_of.get(split)) is None:
            out.chosen.append(chosen)
            continue
        path, refit = search.state(best)
        if refit:
            print(f"{search.model} on {search.dataset.name}, split {split}, trial {best.trial} refitted: {refit}")
        chosen = replace(chosen, trial=best.trial, score=best.score, seed=best.seed, hyper=best.hyper, refit=refit)
        out.chosen.append(replace(chosen, identity=best.identity, data=best.parts.data))
        fitted, test = search.model_class.load(path), search.test(split)
        private = credentialed(search.dataset.name, search.dataset.mark)
        with portable_functions():
            scores, curves, groups = score(fitted, test, private)
        out.scores += [Score(**key, **row) for row in scores]
        out.curves += [{**key, **row} for row in curves]
        if not private or privacy.are_many(groups["n"].values()):
            out.risk_groups.append({**key, **groups})
        out.weights += weights_of(test, search.dataset.name, split, private)
    return out


def write(out: Evaluation, scores: Path, chosen: Path) -> None:
    """Scores as parquet, the rest as JSON; each file whole or absent."""
    with replacing(chosen) as part:
        part.write_text(json.dumps([row.to_row() for row in out.chosen], indent=1, sort_keys=True))
    with replacing(scores.with_suffix(".json")) as part:
        rest = {"curves": out.curves, "risk_groups": out.risk_groups, "weights": out.weights}
        part.write_text(json.dumps(rest))
    write_parquet(scores_frame(out.scores), scores)


def scores_frame(scores: Iterable[Score]) -> pd.DataFrame:
    """Scores as a table."""
    return pd.DataFrame([row.to_row() for row in scores], columns=[f.name for f in fields(Score)])
