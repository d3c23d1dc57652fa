"""Curves of fitted models, one or several: S is the mean of the members' S, so the ensemble is a mixture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from soden.backends import curves as compiled
from soden.inputs import Rows
from soden.models import OdeModel
from soden.types import FloatArray, SurvivalData

BLOCK = 2048  # subjects at once


class Curves(NamedTuple):
    """Of some subjects at increasing times, (n, k)."""

    Lambda: FloatArray
    lam: FloatArray | None  # where it was asked for


def curves(model: OdeModel, rows: Rows, times: FloatArray, horizon: float, hazard: bool) -> Curves:
    """Lambda, and lambda if wanted, of one model at increasing times, all in its own scale."""
    net: Any = model.net
    if not compiled.serves(net):
        # The horizon joins the times so that what else is asked for does not move the mesh.
        asked = np.append(times, horizon)
        Lambda = model.predict_cumulative_hazard(rows, asked)[:, :-1]
        return Curves(Lambda, model.predict_hazard(rows, asked)[:, :-1] if hazard else None)
    tau = float(model.prepared["tau"])
    Lambda, lam = np.empty((2, len(rows.x), len(times)))
    for start in range(0, len(rows.x), BLOCK):
        part = slice(start, start + BLOCK)
        with torch.no_grad():
            encoded = net.encode(*model.features(rows.take(part)))
        Lambda[part], lam[part] = compiled.curves(net, encoded, times, tau)
    np.maximum.accumulate(Lambda, axis=1, out=Lambda)  # rounding may leave steps down in the last place
    return Curves(Lambda, lam)


def in_unit(one: Curves, rate: FloatArray) -> Curves:
    """Curves on a clock that runs at `rate` (k,), with hazards per unit of the user's time."""
    return Curves(one.Lambda, None if one.lam is None else one.lam * rate)


def stacked(each: Sequence[Curves], hazard: bool) -> FloatArray:
    """The members' Lambda, or lambda, (members, n, k)."""
    return np.stack([one.lam if hazard and one.lam is not None else one.Lambda for one in each])


def mixture(each: Sequence[Curves], hazard: bool) -> FloatArray:
    """Lambda, or lambda, of the mean of the members' S: their hazards weigh as their S do."""
    Lambda = stacked(each, False)
    least = Lambda.min(axis=0)
    weights = np.exp(least - Lambda)  # of which one is 1: nothing underflows
    if hazard:
        mean: FloatArray = (weights * stacked(each, True)).sum(axis=0) / weights.sum(axis=0)
        return mean
    mixed: FloatArray = Lambda[0] if len(each) == 1 else least - np.log(weights.mean(axis=0))
    np.maximum.accumulate(mixed, axis=1, out=mixed)
    return mixed


def log_likelihood(models: Sequence[OdeModel], data: Sequence[SurvivalData], rates: Sequence[FloatArray]) -> FloatArray:
    """log of the mixture's density (events) or survival (censored) at y, given survival up to entry; per subject.

    Each member has its own scaled data and its own clock, whose rate at y its densities are multiplied by.
    """
    terms, entered = [], []
    for model, seen, rate in zip(models, data, rates, strict=True):
        plain = -model.nll(SurvivalData.trusted(vars(seen) | {"entry": None, "weight": None}))
        terms.append(plain + np.log(np.where(seen.event, rate, 1)))
        if seen.entry is not None:
            entered.append(-model.nll(seen) - plain)  # Lambda(entry)
    if not entered:
        return _log_mean(np.stack(terms))
    return _log_mean(np.stack(terms)) - _log_mean(-np.stack(entered))


def _log_mean(values: FloatArray) -> FloatArray:
    """log of the mean of exp over the first axis."""
    largest = values.max(axis=0)
    result: FloatArray = largest + np.log(np.exp(values - largest).mean(axis=0))
    return result
