"""Config -> every job of the study; a pure function, the one place that knows which trials make which chunk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks import registry


@dataclass(frozen=True, order=True)
class Chunk:
    """Some consecutive trials of one model on one data set; the unit of work of a tuning job."""

    dataset: str
    model: str
    index: int
    trials: tuple[tuple[int, int], ...]  # (split, trial), splits from 1, trials from 0


def models_for(config: Mapping[str, Any], dataset: str) -> list[str]:
    """The models that run on a data set."""
    return [m for m in config["models"] if m not in config["skip"].get(dataset, [])]


def n_splits(config: Mapping[str, Any], dataset: str) -> int:
    """As configured, else as the paper."""
    from benchmarks import data

    return int(config["splits"].get(dataset, data.module(dataset).N_SPLITS))


def n_trials(config: Mapping[str, Any], model: str) -> int:
    """Per split; a model without search is fitted once."""
    return int(config["trials"]) if registry.is_searched(model) else 1


def chunks(config: Mapping[str, Any], dataset: str, model: str) -> list[Chunk]:
    """Cut all (split, trial) pairs into pieces of `chunk` trials; a piece may span splits where trials are few."""
    pairs = [(s, t) for s in range(1, n_splits(config, dataset) + 1) for t in range(n_trials(config, model))]
    size = config["chunk"]
    return [Chunk(dataset, model, i // size, tuple(pairs[i : i + size])) for i in range(0, len(pairs), size)]


def plan(config: Mapping[str, Any], datasets: list[str] | None = None) -> list[Chunk]:
    """All tuning jobs, for the given (available) data sets."""
    names = config["datasets"] if datasets is None else datasets
    return [c for d in names for m in models_for(config, d) for c in chunks(config, d, m)]
