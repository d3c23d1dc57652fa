"""The base class of all competitors: names, search space, and what their best trial is chosen by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from baselines.space import Distribution
from soden.types import FitOptions, SurvivalModel


@dataclass(frozen=True)
class TrialOptions(FitOptions):
    """How every model of a run is trained; defaults are those behind the published numbers."""

    use_momentum: bool = False  # the paper searches RMSProp's momentum, the released code never passes it on
    # What stops and selects SODEN and its variants. "published": the unweighted mean over time-sorted chunks; "text":
    # the plain mean; "authors": as published, with the floors of the authors' code (see baselines/soden.py).
    nll: Literal["published", "text", "authors"] = "published"


class Competitor(SurvivalModel):
    """One class per file, found by its folder; after `fit` it predicts survival curves at any times.

    `Model(hyper, options)` with the values of its `space`. The same seed gives the same bytes on CPU with one thread.
    """

    name: ClassVar[str]  # config key, path segment
    label: ClassVar[str]  # as printed in the paper
    space: ClassVar[Mapping[str, Distribution]] = {}  # empty: nothing to search, one fit per split
    # What the best trial is best in: "loss", "ctd" (Antolini's C of the validation part), or the name of a method that
    # takes the validation part and gives a number, the higher the better.
    select_by: ClassVar[str] = "loss"

    def __init__(self, hyper: Mapping[str, Any] | None = None, options: FitOptions | None = None) -> None:
        super().__init__(hyper, options or TrialOptions())
