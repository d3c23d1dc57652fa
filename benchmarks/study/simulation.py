"""One repetition of the simulation study of Section 4: SODEN and DeepHit where two groups' survival curves cross."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from baselines.contract import Competitor, TrialOptions
from benchmarks import code, numerics, registry
from benchmarks.data import simulated
from benchmarks.data.dataset import Dataset
from benchmarks.data.files import replacing
from benchmarks.data.preprocess import Preprocessor
from benchmarks.elementary import portable_functions
from benchmarks.metrics.censoring import kaplan_meier
from benchmarks.seeds import seed_for
from soden.types import FitReport, FloatArray, SurvivalData

TIMES = np.linspace(0.0, simulated.CENSORED_BEFORE, 201)
GROUPS = (0, 1)
LATE = 1.5  # survival is judged up to here: fewer than one subject in a hundred is observed for longer
EARLY = 0.5  # hazards are judged up to here, where more than half of the events are
VALID = 5  # every fifth subject is held out for early stopping
MODELS = ("soden", "deephit")
# The paper gives no hyper-parameters for this section. Both models had the same number of random draws from the paper's
# ranges, on a draw of the data that is none of the repetitions; the draw with the highest likelihood of the held-out
# subjects was taken, and the true curves were never looked at. By `python -m benchmarks.studies simulation_search`.
SEARCH = Path(__file__).with_name("simulation_search.csv")
SEARCHED_N = 10_000  # subjects there; batches shrink with n, so that a small study takes as many steps per epoch
FLOOR = 1e-8  # of a likelihood: past its last interval DeepHit gives events none
WINDOW = 0.005  # half the time around an event whose probability is its likelihood


def simulate_once(
    n: int, seed: int, repetition: int, options: TrialOptions
) -> tuple[dict[str, FloatArray], dict[str, Any]]:
    """Draw, fit both models, predict: arrays (2, len(TIMES)), row x = group x, and what is to be said about them."""
    drawn = simulated.simulate(n, seed, repetition)
    *parts, two = split(drawn)
    arrays = {
        "times": TIMES,
        "survival_true": _by_group(simulated.survival),
        "hazard_true": _by_group(simulated.hazard),
        "survival_km": np.stack([_kaplan_meier(drawn, group) for group in GROUPS]),
    }
    meta: dict[str, Any] = {"n": n, "seed": seed, "repetition": repetition, "max_epochs": options.max_epochs}
    meta |= {"data": drawn.sha256(), "numerics": numerics.kind(), "models": {}}
    meta |= {"censoring_rate": float(1 - drawn.event.mean()), "kaplan_meier": numbers(arrays["survival_km"])}
    for name in MODELS:
        hyper = chosen(name)
        hyper["batch_size"] = max(2, round(hyper["batch_size"] * n / SEARCHED_N))
        model, report = fit(name, hyper, seed_for(seed, "simulation", name, repetition), parts, options)
        if not report.best_epoch:
            why = report.message or f"no epoch ended with max_epochs = {options.max_epochs}"
            raise RuntimeError(f"{name} could not be trained on repetition {repetition} of the simulation: {why}")
        with portable_functions():
            arrays[f"survival_{name}"] = model.predict_survival(two, TIMES)
            arrays[f"hazard_{name}"] = model.predict_hazard(two, TIMES)
        fitted = {k: getattr(report, k) for k in ("status", "epochs", "best_epoch", "stopped_by", "valid_loss")}
        found = numbers(arrays[f"survival_{name}"], arrays[f"hazard_{name}"])
        meta["models"][name] = {"hyper": hyper, "code": code.of_model(name), **fitted, **found}
    return arrays, meta


def split(drawn: Dataset) -> tuple[SurvivalData, SurvivalData, SurvivalData]:
    """Train and held-out parts, and a subject of each group, preprocessed."""
    rows = np.arange(len(drawn))
    train, valid = drawn.take(rows[rows % VALID != 0]), drawn.take(rows[rows % VALID == 0])
    transform = Preprocessor.fit(train).transform
    return transform(train), transform(valid), transform(_one_of_each(drawn))


def fit(
    name: str, hyper: Mapping[str, Any], seed: int, parts: Sequence[SurvivalData], options: TrialOptions
) -> tuple[Competitor, FitReport]:
    """A model fitted on the training part, stopped by its loss on the held-out part."""
    model = registry.model(name)({**hyper, "momentum": 0.0}, options)
    return model, model.fit(parts[0], parts[1], seed)


def likelihood(model: Competitor, two: SurvivalData, drawn: Dataset) -> float:
    """Mean log-likelihood of the held-out subjects, by the predicted survival alone: the same for both models.

    An event counts by the probability per unit of time of the window around it, a censored subject by its survival.
    Models cannot be compared by their own losses: DeepHit's change with its number of intervals and with its weights.
    """
    held = drawn.take(np.arange(len(drawn))[::VALID])
    group = held.x[:, 0].astype(int)
    low, high = np.maximum(held.time - WINDOW, 0.0), held.time + WINDOW
    rows = np.arange(len(held))
    with portable_functions():
        before, at, after = (model.predict_survival(two, times)[group, rows] for times in (low, held.time, high))
    density = (before - after) / (high - low)
    return float(np.log(np.maximum(np.where(held.event, density, at), FLOOR)).mean())


@cache
def _search() -> pd.DataFrame:
    return pd.read_csv(SEARCH)


def chosen(name: str) -> dict[str, Any]:
    """The hyper-parameters of the best of the model's draws."""
    rows = _search()
    rows = rows[rows["model"] == name]
    hyper: dict[str, Any] = json.loads(rows.loc[rows["likelihood"].idxmax(), "hyper"])
    return hyper


def numbers(survival: FloatArray, hazard: FloatArray | None = None) -> dict[str, Any]:
    """How far curves (2, len(TIMES)) are from the truth, per group, and where they cross."""
    true, known = _by_group(simulated.survival), TIMES <= LATE
    found: dict[str, Any] = {"survival_error": np.abs(survival - true)[:, known].mean(axis=1).tolist()}
    found["crossing"] = crossing_time(survival)
    if hazard is not None:
        early = (TIMES > 0) & (TIMES <= EARLY)
        gap = np.abs(hazard - _by_group(simulated.hazard))
        found["hazard_error"] = gap[:, early].mean(axis=1).tolist()
        found["hazard_error_late"] = gap[:, TIMES > LATE].mean(axis=1).tolist()
    return found


def crossing_time(survival: FloatArray) -> float:
    """Where group 0 first overtakes group 1 after t = 0.2 (near 0 both curves are 1); nan if it never does."""
    ahead = survival[0] - survival[1]
    for k in np.flatnonzero((TIMES[:-1] >= 0.2) & (ahead[:-1] < 0) & (ahead[1:] >= 0)):
        return float(TIMES[k] + (TIMES[k + 1] - TIMES[k]) * ahead[k] / (ahead[k] - ahead[k + 1]))
    return float("nan")


def _by_group(function: Any) -> FloatArray:
    return np.stack([function(group, TIMES) for group in GROUPS])


def _kaplan_meier(drawn: Dataset, group: int) -> npt.NDArray[np.float64]:
    member = drawn.x[:, 0] == group
    times, values, _ = kaplan_meier(drawn.time[member], drawn.event[member])
    return np.concatenate([[1.0], values])[np.searchsorted(times, TIMES, side="right")]


def _one_of_each(drawn: Dataset) -> Dataset:
    """A subject of each group; with an event, because data without any are refused."""
    return drawn.take(np.array([np.flatnonzero((drawn.x[:, 0] == group) & drawn.event)[0] for group in GROUPS]))


def save(path: Path, arrays: Mapping[str, FloatArray], meta: Mapping[str, Any]) -> None:
    """Write one npz; the meta as JSON text inside it, because npz files are never unpickled here."""
    with replacing(path) as part, part.open("wb") as file:
        np.savez_compressed(file, meta=np.array(json.dumps(meta, sort_keys=True)), **arrays)  # type: ignore[arg-type]
