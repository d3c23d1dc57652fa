"""What the tables print of the models' search, taken from the models."""

from __future__ import annotations

from collections.abc import Mapping

from baselines.space import Distribution
from benchmarks import registry


def search_spaces() -> dict[str, Mapping[str, Distribution]]:
    """Model name -> search space; empty for Cox."""
    return {name: model.space for name, model in registry.models().items()}
