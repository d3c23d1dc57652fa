"""What a trial on MIMIC or MIMIC-SEQ costs, from its drawn configuration: seconds per step and memory were measured.

Trials there differ a hundredfold, and few whole ones were run, so that their own mean would say little: mimic_costs.py
takes the mean of this model over the configurations that the paper's search draws. Each row of cost_model.csv is a
configuration with the CPU seconds of one training step, of one validation and of everything that is done once, and the
peak memory of the process.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import nnls

from baselines.space import NETWORK, Distribution, PerDataset, Rounding, draw, resolve
from benchmarks import data
from benchmarks.seeds import rng_for

FOLDER = Path(__file__).with_name("mimic")
TABLE = FOLDER / "cost_model.csv"
WHOLE = FOLDER / "cost_whole.csv"  # what whole trials on MIMIC show, and scoring
EPOCHS = FOLDER / "cost_epochs.csv"  # epochs until early stopping by learning rate, of the reference
# What decides the cost; every model draws them under these names, each from a generator of its own.
DRAWN = ("layers", "width", "gru_width", "batch_size", "intervals")
STEPS = 24  # hours of a series
INPUTS = {"mimic": 26, "mimic_seq": 5}
CHANNELS = 15

Floats = npt.NDArray[np.float64]


class Estimate(NamedTuple):
    """Of one trial."""

    epoch_seconds: float
    once_seconds: float
    peak_mb: float


def configuration(root: int, dataset: str, model: str, split: int, trial: int, rounding: Rounding) -> dict[str, Any]:
    """The values a trial will draw, without loading its model."""
    return draw(_space(dataset), lambda name: rng_for(root, "draw", dataset, model, split, trial, name), rounding)


@cache
def _space(dataset: str) -> Mapping[str, Distribution]:
    both = {**NETWORK, "intervals": PerDataset("intervals")}
    return resolve({name: both[name] for name in (*DRAWN, "lr")}, data.module(dataset).SEARCH)


def estimate(dataset: str, model: str, hyper: Mapping[str, Any], table: Path = TABLE) -> Estimate:
    """Seconds of an epoch and of the rest, and peak memory, of one configuration."""
    fitted = _models(table)[dataset, model]
    hyper = {**hyper, "intervals": hyper.get("intervals", 0) if fitted.discrete else 0}
    step, valid, once, peak = (float(x @ w) for x, w in zip(_features(dataset, hyper), fitted.weights, strict=True))
    batches = fitted.examples // int(hyper["batch_size"]) if fitted.examples else 0
    return Estimate(batches * step + valid, once, peak)


def trial_seconds(dataset: str, model: str, hyper: Mapping[str, Any], max_epochs: int) -> float:
    """Of a whole trial, that stops early when fits of its learning rate do.

    `stretch` is how many epochs trials on this data set took over those of the reference, `factor` what the model's
    trials took over what their configurations and epochs predict: SODEN's error control asks for more steps as a fit
    goes on.
    """
    found, whole = estimate(dataset, model, hyper), _whole()[dataset, model]
    epochs = float(whole.stretch) * usual_epochs(model, hyper["lr"]) if found.epoch_seconds else 0.0
    return (found.once_seconds + min(max_epochs, epochs) * found.epoch_seconds) * float(whole.factor)


def usual_epochs(model: str, rate: float) -> float:
    """Epochs until early stopping of the reference's trials with this learning rate, which decides most of it."""
    row = _epochs().loc[model]
    return float(np.interp(math.log10(rate), row.index, row))


class _Fitted(NamedTuple):
    weights: tuple[Floats, ...]  # of step, validation, once, peak
    examples: int  # rows of the training part that make batches
    discrete: bool  # whether the network has an output per interval of time
    error: float  # largest relative error of an epoch's seconds among the measured configurations


@cache
def _models(table: Path) -> dict[tuple[str, str], _Fitted]:
    groups = pd.read_csv(table).groupby(["dataset", "model"])
    return {(str(d), str(m)): fit(str(d), rows) for (d, m), rows in groups}


@cache
def _epochs() -> pd.DataFrame:
    table = pd.read_csv(EPOCHS, index_col="model")
    return table.set_axis(table.columns.astype(float), axis="columns")


@cache
def _whole() -> dict[tuple[str, str], Any]:
    return {(str(row.dataset), str(row.model)): row for row in pd.read_csv(WHOLE).itertuples()}


def fit(dataset: str, rows: pd.DataFrame) -> _Fitted:
    """Non-negative weights of the work to be done, by least squares of the *relative* error."""
    features = [_features(dataset, row) for row in rows[list(DRAWN)].fillna(0).to_dict("records")]
    weights = []
    for i, column in enumerate(("step_s", "valid_s", "once_s", "peak_mb")):
        x, y = np.array([f[i] for f in features]), rows[column].to_numpy(float)
        weights.append(_relative(x, y) if y.max() > 0 else np.zeros(x.shape[1]))
    batches = (rows["examples"] // rows["batch_size"].clip(lower=1)).to_numpy(float)
    wanted = batches * rows["step_s"].to_numpy() + rows["valid_s"].to_numpy()
    found = batches * [f[0] @ weights[0] for f in features] + np.array([f[1] @ weights[1] for f in features])
    error = float(np.max(np.abs(found / wanted - 1))) if wanted.max() > 0 else 0.0
    return _Fitted(tuple(weights), int(rows["examples"].max()), bool(rows["intervals"].max() > 0), error)


def _relative(x: Floats, y: Floats) -> Floats:
    y = np.maximum(y, 1e-4)
    scale = np.maximum((x / y[:, None]).max(axis=0), 1e-300)
    weights, _ = nnls(x / y[:, None] / scale, np.ones(len(y)))
    return np.asarray(weights / scale)


def _features(dataset: str, hyper: Mapping[str, Any]) -> tuple[Floats, Floats, Floats, Floats]:
    """The work of a step, of a validation, of the rest, and what lies in memory: products, activations, a constant."""
    layers, width, batch = (float(hyper[name]) for name in ("layers", "width", "batch_size"))
    gru = float(hyper["gru_width"]) if dataset == "mimic_seq" else 0.0
    outputs = float(hyper.get("intervals") or 1)
    recurrent, states = STEPS * 3 * gru * (CHANNELS + gru), STEPS * gru
    # The layers apart: SODEN multiplies by the hidden ones many times a step, by the first one once.
    rows = np.array([width * (INPUTS[dataset] + gru), (layers - 1) * width**2, width * outputs, layers * width])
    rows = np.concatenate([rows, [outputs, recurrent, states]])
    return (
        np.array([1.0, *(batch * rows)]),
        np.array([1.0, *rows]),
        np.array([1.0, *rows]),
        np.array([1.0, batch * layers * width, batch * states, layers * width, outputs, states, gru * gru]),
    )
