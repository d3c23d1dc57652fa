"""Finds the models: a class with a `name` in a file of `soden/` or `baselines/` is a competitor, nothing else to register.

Names are read from the source text, so that planning a run loads no torch; `model(name)` imports the one file it needs.
"""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from pathlib import Path

from soden.types import SurvivalModel

ROOT = Path(__file__).resolve().parents[1]


@cache
def _found() -> dict[str, tuple[str, str]]:
    """Model name -> (module, class)."""
    found: dict[str, tuple[str, str]] = {}
    for package in ("baselines", "soden"):
        for path in sorted((ROOT / package).glob("*.py")):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and (name := _name_of(node)):
                    found[name] = (f"{package}.{path.stem}", node.name)
    return found


def _name_of(node: ast.ClassDef) -> str | None:
    for statement in node.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            target = statement.targets[0]
            if isinstance(target, ast.Name) and target.id == "name" and isinstance(statement.value.value, str):
                return statement.value.value
    return None


def names() -> list[str]:
    """All models, as config keys."""
    return sorted(_found())


def model(name: str) -> type[SurvivalModel]:
    """The class behind a name."""
    if name not in _found():
        raise ValueError(f"unknown model {name!r}; choose among {', '.join(names())}")
    module, attribute = _found()[name]
    found: type[SurvivalModel] = getattr(import_module(module), attribute)
    return found


def models() -> dict[str, type[SurvivalModel]]:
    """Every model's class; imports them all."""
    return {name: model(name) for name in names()}
