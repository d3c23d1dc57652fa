"""Fits of the study, one row of a CSV file each: what is there already is not run again."""

from __future__ import annotations

import csv
import json
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from baselines.cox import RIDGE
from benchmarks.defaults.sets import load, parts
from soden import SODEN
from soden.concordance import concordance
from soden.types import FloatArray, SurvivalData

FIELDS = ("stage", "set", "split", "model", "settings", "c", "ibs", "nll", "seconds", "n", "events")
GRID = 50  # times of the integrated Brier score, between the 5 % and the 90 % quantile of the test part's


def run(path: Path, stage: str, sets: list[str], splits: int, settings: Mapping[str, Mapping[str, Any]]) -> None:
    """Cox and SODEN under each of the settings on every split; rows are appended as they come."""
    done = {(r["stage"], r["set"], int(r["split"]), r["model"], r["settings"]) for r in read(path)}
    for split in range(splits):
        for name in sets:
            jobs = [("cox", "")] + [(model, json.dumps(chosen, sort_keys=True)) for model, chosen in settings.items()]
            jobs = [job for job in jobs if (stage, name, split, *job) not in done]
            if not jobs:
                continue
            train, test = parts(name, load(name), stage, split)
            for model, chosen in jobs:
                started = time.process_time()
                row = {"stage": stage, "set": name, "split": split, "model": model, "settings": chosen}
                row |= fitted(model, json.loads(chosen or "{}"), train, test, split)
                row |= {"n": len(train), "events": int(train.event.sum())}
                append(path, row | {"seconds": round(time.process_time() - started, 2)})


def fitted(model: str, chosen: dict[str, Any], train: SurvivalData, test: SurvivalData, seed: int) -> dict[str, Any]:
    """C (Antolini's, equal to Harrell's for Cox), integrated Brier score and, for SODEN, the NLL of the test part."""
    start, end = np.quantile(test.time, (0.05, 0.9))
    times = np.linspace(start, end, GRID)
    asked = np.union1d(times, test.time[test.event])
    nll = float("nan")
    if model == "cox":
        S = cox(train, test, asked)
    else:
        soden = SODEN(**chosen, standardise=False, random_state=seed, device="cpu")
        soden.fit(train.x, train.time, train.event)
        S = soden.predict_survival(test.x, asked)
        nll = -soden.log_likelihood(test.x, test.time, test.event)
    with np.errstate(divide="ignore"):
        Lambda = -np.log(S)
    c = concordance(lambda rows, at: Lambda[rows][:, np.searchsorted(asked, at)], test.time, test.event)
    ibs = brier(train, test, S[:, np.searchsorted(asked, times)], times)
    return {"c": round(c, 5), "ibs": round(ibs, 5), "nll": round(nll, 5)}


def cox(train: SurvivalData, test: SurvivalData, times: FloatArray) -> FloatArray:
    """S of scikit-survival's Cox model, Breslow's baseline; with more ridge where Newton's method fails without."""
    from sksurv.linear_model import CoxPHSurvivalAnalysis
    from sksurv.util import Surv

    outcome = Surv.from_arrays(train.event, train.time)
    for ridge in (RIDGE, 1e-2, 1.0, 10.0):  # a dummy of two or three people in 375 can send its coefficient away
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model = CoxPHSurvivalAnalysis(alpha=ridge, ties="breslow").fit(train.x.astype(float), outcome)
            except ValueError:
                continue
        steps = model.predict_survival_function(test.x.astype(float), return_array=True)
        at = np.searchsorted(model.unique_times_, times, side="right")
        S: FloatArray = np.concatenate([np.ones((len(steps), 1)), steps], axis=1)[:, at]
        return S
    raise ValueError("no ridge up to 10 lets the Cox model converge")


def brier(train: SurvivalData, test: SurvivalData, S: FloatArray, times: FloatArray) -> float:
    """scikit-survival's integrated Brier score, censoring estimated on both parts so that it covers all test times."""
    from sksurv.metrics import integrated_brier_score
    from sksurv.util import Surv

    both = Surv.from_arrays(np.r_[train.event, test.event], np.r_[train.time, test.time])
    return float(integrated_brier_score(both, Surv.from_arrays(test.event, test.time), S, times))


def read(path: Path) -> list[dict[str, str]]:
    """The rows there are."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def append(path: Path, row: Mapping[str, Any]) -> None:
    """One more row."""
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)
