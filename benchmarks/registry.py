"""Finds the models: a class with a `name` in a file of `soden/` or `baselines/` is a competitor; nothing to register.

Names are read from the source text, so that planning a run loads no torch; `model(name)` imports the one file it needs.
"""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from soden.types import SurvivalModel

ROOT = Path(__file__).resolve().parents[1]


@cache
def _classes() -> dict[str, tuple[str, ast.ClassDef]]:
    """Class name -> (module, syntax tree), for every class of the two packages."""
    return {
        node.name: (f"{package}.{path.stem}", node)
        for package in ("baselines", "soden")
        for path in sorted((ROOT / package).glob("*.py"))
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef)
    }


@cache
def _found() -> dict[str, str]:
    """Model name -> class name."""
    found: dict[str, str] = {}
    for cls, (_, node) in _classes().items():
        value = _assigned(node, "name")
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            if value.value in found:
                raise ValueError(f"two models are named {value.value!r}: {found[value.value]} and {cls}; rename one")
            found[value.value] = cls
    return found


def _assigned(node: ast.ClassDef, attribute: str) -> ast.expr | None:
    for statement in node.body:
        if isinstance(statement, ast.Assign):
            targets: list[ast.expr] = statement.targets
        elif isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        else:
            continue
        if any(isinstance(t, ast.Name) and t.id == attribute for t in targets):
            return statement.value
    return None


def _class_of(name: str) -> str:
    if name not in _found():
        raise ValueError(f"unknown model {name!r}; choose among {', '.join(names())}")
    return _found()[name]


def names() -> list[str]:
    """All models, as config keys."""
    return sorted(_found())


def is_searched(name: str) -> bool:
    """Whether the class or one it inherits from has a search space; one fit is enough otherwise."""
    waiting = [_class_of(name)]
    while waiting:
        cls = waiting.pop()
        if cls in _classes() and cls != "SurvivalModel":  # whose space is empty
            node = _classes()[cls][1]
            if _assigned(node, "space") is not None:
                return True
            waiting += [base.id for base in node.bases if isinstance(base, ast.Name)]
    return False


def model(name: str) -> type[SurvivalModel]:
    """The class behind a name."""
    cls = _class_of(name)
    found: type[SurvivalModel] = getattr(import_module(_classes()[cls][0]), cls)
    return found


def models() -> dict[str, type[SurvivalModel]]:
    """Every model's class; imports them all."""
    return {name: model(name) for name in names()}
