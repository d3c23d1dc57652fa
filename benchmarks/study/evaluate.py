"""Choose each split's best trial and score it on the test part: the first and only reading of the test rows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from baselines.contract import Competitor
from benchmarks.data.files import replacing
from benchmarks.data.preprocess import prepared
from benchmarks.data.splits import Split
from benchmarks.metrics.base import CONVENTIONS
from benchmarks.metrics.evaluate import evaluate_all
from benchmarks.study.rows import Row
from benchmarks.study.trial import better
from benchmarks.study.tune import Tuner
from soden.types import FloatArray, SurvivalData


def choose(rows: Iterable[Row]) -> dict[int, Row]:
    """The best trial of each split by its validation score; a split whose trials all failed has none."""
    chosen: dict[int, Row] = {}
    for row in rows:
        if better(row, chosen.get(row["split"])):
            chosen[row["split"]] = row
    return chosen


def score(model: Competitor, test: SurvivalData) -> tuple[list[Row], list[Row], Row]:
    """Scores under every convention, calibration rows, and the risk groups of the paper's Kaplan-Meier figure."""
    scores: list[Row] = []
    curves: list[Row] = []
    terms = model.nll(test)
    for convention in CONVENTIONS:
        result = evaluate_all(
            test.time, test.event, lambda times: model.predict_survival(test, times), terms, convention
        )
        scores += [{"convention": convention, **s._asdict()} for s in result.scores]
        if convention == CONVENTIONS[0]:  # these do not depend on the convention
            curves = [dict(row._asdict()) for row in result.curves["calibration"]]
    return scores, curves, risk_groups(model, test)


def risk_groups(model: Competitor, test: SurvivalData) -> Row:
    """Kaplan-Meier curves of the high- and low-risk halves, cut at predicted survival at the median observed time.

    Curves are read on a grid of 200 times, so that nothing of a single patient leaves this function.
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
    grid = np.linspace(0, float(test.time.max()), 200)
    groups = {"high": high, "low": ~high, "all": np.ones(len(test), dtype=bool)}

    def curve(member: FloatArray) -> list[float]:
        times, values, _ = kaplan_meier(test.time[member], test.event[member])
        return [round(float(v), 6) for v in np.concatenate([[1.0], values])[np.searchsorted(times, grid, side="right")]]

    _, p_value = compare_survival(Surv.from_arrays(test.event, test.time), high)
    return {
        "time": at,
        "p_value": float(p_value),
        "grid": [round(float(t), 6) for t in grid],
        **{name: curve(member) for name, member in groups.items()},
        "n": {name: int(member.sum()) for name, member in groups.items()},
    }


def evaluate_model(tuner: Tuner, rows: list[Row]) -> dict[str, Any]:
    """Everything one model gives on one data set: the chosen trials, tidy scores, curves, risk groups."""
    chosen = choose(rows)
    out: dict[str, Any] = {"chosen": [], "scores": [], "curves": [], "risk_groups": []}
    for split in sorted({r["split"] for r in rows}):
        trials = [r for r in rows if r["split"] == split]
        key = {"dataset": tuner.dataset.name, "model": tuner.model, "split": split}
        best = chosen.get(split)
        counts = {f"n_{s}": sum(r["status"] == s for r in trials) for s in ("ok", "diverged", "failed")}
        out["chosen"].append({**key, "trial": None, "n_trials": len(trials), **counts})
        if best is None:
            continue
        out["chosen"][-1] |= {k: best[k] for k in ("trial", "score", "seed", "hyper", "identity", "data")}
        path, refit = tuner.state(best)
        if refit:
            out["chosen"][-1]["refit"] = refit
            print(f"{tuner.model} on {tuner.dataset.name}, split {split}, trial {best['trial']} refitted: {refit}")
        fitted = tuner.model_class.load(path)
        (test,) = prepared(tuner.dataset, Split.load(tuner.splits / f"{split}.npz"), "test")
        scores, curves, groups = score(fitted, test)
        out["scores"] += [{**key, **s} for s in scores]
        out["curves"] += [{**key, **c} for c in curves]
        out["risk_groups"].append({**key, **groups})
    return out


def write(out: dict[str, Any], scores: Path, chosen: Path) -> None:
    """Scores as parquet, the rest as JSON; each file whole or absent."""
    import pandas as pd

    columns = ["dataset", "model", "split", "convention", "metric", "g_tau", "value"]
    with replacing(chosen) as part:
        part.write_text(json.dumps(out["chosen"], indent=1, sort_keys=True))
    with replacing(scores.with_suffix(".json")) as part:
        part.write_text(json.dumps({k: out[k] for k in ("curves", "risk_groups")}))
    with replacing(scores) as part:
        pd.DataFrame(out["scores"], columns=columns).to_parquet(part, index=False)
