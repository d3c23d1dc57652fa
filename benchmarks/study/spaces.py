"""What the tables print about the models, taken from the models: their search spaces and labels."""

from __future__ import annotations

from collections.abc import Mapping

from baselines.space import Distribution
from benchmarks import registry


def search_spaces() -> dict[str, Mapping[str, Distribution]]:
    """Model name -> search space; empty for Cox."""
    return {name: model.space for name, model in registry.models().items()}


def model_labels() -> dict[str, str]:
    """Model name -> label as printed."""
    return {name: model.label for name, model in registry.models().items()}
