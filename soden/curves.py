"""Curves of fitted models, one or several: S is the mean of the members' S, so the ensemble is a mixture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from soden import compiled, ode
from soden.hazard import GeneralHazard
from soden.inputs import Rows
from soden.models import OdeModel
from soden.nets import MLP
from soden.types import FloatArray, SurvivalData

BLOCK = 2048  # subjects at once


class Curves(NamedTuple):
    """Of some subjects at increasing times, (n, k)."""

    Lambda: FloatArray
    lam: FloatArray | None  # where it was asked for


def curves(model: OdeModel, rows: Rows, times: FloatArray, horizon: float, hazard: bool) -> Curves:
    """Lambda, and lambda if wanted, of one model at increasing times, all in its own scale."""
    if not _compiled(model):
        # The horizon joins the times so that what else is asked for does not move the mesh.
        asked = np.append(times, horizon)
        Lambda = model.predict_cumulative_hazard(rows, asked)[:, :-1]
        return Curves(Lambda, model.predict_hazard(rows, asked)[:, :-1] if hazard else None)
    from soden.kernels import piecewise

    net = model.net.net
    assert isinstance(net, MLP)
    network, tau = _arrays(net), float(model.prepared["tau"])
    Lambda, lam = np.empty((2, len(rows.x), len(times)))
    for start in range(0, len(rows.x), BLOCK):
        part = slice(start, start + BLOCK)
        with torch.no_grad():
            encoded = model.net.encode(*model.features(rows.take(part))).numpy()
        Lambda[part], lam[part] = piecewise.curves(np.ascontiguousarray(encoded), *network, times, tau, ode.LARGEST)
    np.maximum.accumulate(Lambda, axis=1, out=Lambda)  # rounding may leave steps down in the last place
    return Curves(Lambda, lam)


def _compiled(model: OdeModel) -> bool:
    """Whether a kernel follows the curves from kink to kink: SODEN in float64 on the CPU, where numba is installed."""
    weight = next(model.net.parameters())
    double = weight.is_cpu and weight.dtype is torch.float64
    return isinstance(model.net, GeneralHazard) and double and compiled.available()


def _arrays(net: MLP) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(first, up, bias), as `soden.kernels.piecewise` takes them."""
    first, *others = net.linears()
    up, bias = np.zeros((net.layers, net.width, net.width)), np.zeros((net.layers + 1, net.width))
    for m, layer in enumerate([first, *others]):
        bias[m, : layer.out_features] = layer.bias.detach().numpy()
    for m, layer in enumerate(others):
        up[m, :, : layer.out_features] = layer.weight.detach().numpy().T
    return np.ascontiguousarray(first.weight.detach().numpy().T), up, bias


def in_unit(found: Curves, unit: float) -> Curves:
    """Curves of times that were divided by `unit`, for times that are not: hazards are per unit of time."""
    return Curves(found.Lambda, None if found.lam is None else found.lam / unit)


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


def log_likelihood(models: Sequence[OdeModel], data: Sequence[SurvivalData], units: Sequence[float]) -> FloatArray:
    """log of the mixture's density (events) or survival (censored) at y, given survival up to entry; per subject.

    Each member has its own scaled data and its unit of time, in which its densities are divided.
    """
    terms, entered = [], []
    for model, seen, unit in zip(models, data, units, strict=True):
        plain = -model.nll(SurvivalData(seen.time, seen.event, seen.x, seen.seq))
        terms.append(plain - seen.event * np.log(unit))
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
