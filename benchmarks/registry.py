"""Every model there is: the concrete SurvivalModel classes of the packages `soden` and `baselines`."""

from __future__ import annotations

import inspect
import pkgutil
from functools import cache
from importlib import import_module

from soden.types import SurvivalModel

PACKAGES = ("soden", "baselines")


@cache
def models() -> dict[str, type[SurvivalModel]]:
    """Name -> class, found by importing the modules of both packages; a model is added by adding its file."""
    found: dict[str, type[SurvivalModel]] = {}
    for package in PACKAGES:
        for module in pkgutil.iter_modules(import_module(package).__path__, f"{package}."):
            for cls in vars(import_module(module.name)).values():
                if not (inspect.isclass(cls) and issubclass(cls, SurvivalModel)) or inspect.isabstract(cls):
                    continue
                if cls.__module__ != module.name:  # imported there, defined elsewhere
                    continue
                if cls.name in found:
                    raise ValueError(f"two models are named {cls.name!r}: {found[cls.name]} and {cls}; rename one")
                found[cls.name] = cls
    return found


def model(name: str) -> type[SurvivalModel]:
    """The class called `name` in configs and paths."""
    if name not in models():
        raise ValueError(f"no model is named {name!r}; there are {', '.join(names())}")
    return models()[name]


def names() -> tuple[str, ...]:
    """The names of all models, sorted."""
    return tuple(sorted(models()))


def is_searched(name: str) -> bool:
    """Whether the model has hyper-parameters to search; one fit is enough otherwise."""
    return bool(model(name).space)
