"""Finds the models: a class with a `name` and a `label` in a file of `baselines/` is a competitor; nothing to register.

Names are read from the source text, so that planning a run loads no torch; `model(name)` imports the one file it needs.
A file that Python cannot read, or a class with one of the two names only, is no model; `faults` says which and why.
"""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from baselines.contract import Competitor

ROOT = Path(__file__).resolve().parents[1]


class Found(NamedTuple):
    """A competitor's class and the file it stands in."""

    module: str
    cls: str
    searched: bool  # whether it has a search space
    selected_by: str  # "loss", "ctd", or a method of the class
    label: str  # as printed


def _parsed() -> tuple[dict[Path, ast.Module], tuple[str, ...]]:
    """The syntax tree of every file of `baselines/`, and what is wrong with those that have none."""
    files, faults = {}, []
    for path in sorted((ROOT / "baselines").glob("*.py")):
        try:
            files[path] = ast.parse(path.read_text(encoding="utf-8"), str(path))
        except (SyntaxError, ValueError) as error:  # ValueError: bytes that are no text
            line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
            faults.append(f"baselines/{path.name}{line} cannot be read: {getattr(error, 'msg', error)}")
    return files, tuple(faults)


def faults() -> list[str]:
    """What keeps files and classes of `baselines/` from being models."""
    files, unreadable = _parsed()
    half = []
    for path, tree in files.items():
        for node in (node for node in tree.body if isinstance(node, ast.ClassDef)):
            given = [key for key in ("name", "label") if _constant(node, key) is not None]
            if len(given) == 1:
                lacks = "label" if given == ["name"] else "name"
                half.append(f'baselines/{path.name}: class {node.name} has a {given[0]} and no {lacks} = "..."')
    return [*unreadable, *half]


@cache
def _found() -> dict[str, Found]:
    """Model name -> where it is."""
    files, _ = _parsed()
    classes = {(p.stem, node.name): node for p, t in files.items() for node in t.body if isinstance(node, ast.ClassDef)}
    models_by_name: dict[str, Found] = {}
    for (module, cls), node in classes.items():
        name, label = _constant(node, "name"), _constant(node, "label")
        if name is None or label is None:
            continue
        if name in models_by_name:
            twice = f"{models_by_name[name].module}.{models_by_name[name].cls} and baselines.{module}.{cls}"
            raise ValueError(f"two models are named {name!r}: {twice}; rename one")
        space = _inherited(node, "space", module, classes)
        chosen = _inherited(node, "select_by", module, classes)
        selected_by = chosen.value if isinstance(chosen, ast.Constant) else "loss"
        models_by_name[name] = Found(f"baselines.{module}", cls, space is not None, str(selected_by), label)
    return models_by_name


def _constant(node: ast.ClassDef, attribute: str) -> str | None:
    value = _assigned(node, attribute)
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None


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


def _inherited(
    node: ast.ClassDef, attribute: str, module: str, classes: dict[tuple[str, str], ast.ClassDef]
) -> ast.expr | None:
    """The attribute of the class or of one it inherits from, in its own file or another of the folder."""
    if node.name == "Competitor":  # where every attribute has the value that means nothing special
        return None
    if (own := _assigned(node, attribute)) is not None:
        return own
    bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
    parents = [(m, c) for m, c in classes if c in bases and (m == module or (module, c) not in classes)]
    found = (_inherited(classes[key], attribute, key[0], classes) for key in parents)
    return next((value for value in found if value is not None), None)


def _of(name: str) -> Found:
    if name not in _found():
        wrong = "".join(f"; {fault}" for fault in faults())
        raise ValueError(f"unknown model {name!r}; choose among {', '.join(names())}{wrong}")
    return _found()[name]


def names() -> list[str]:
    """All models, as config keys."""
    return sorted(_found())


def is_searched(name: str) -> bool:
    """Whether the model has a search space; one fit is enough otherwise."""
    return _of(name).searched


def selected_by(name: str) -> str:
    """What the trials of a model are compared by: "loss", "ctd" for Antolini's C, or a method of the class."""
    return _of(name).selected_by


def label(name: str) -> str:
    """The printed name of a model."""
    return _of(name).label


def module_of(name: str) -> str:
    """The module a model stands in, e.g. baselines.deepsurv."""
    return _of(name).module


def model(name: str) -> type[Competitor]:
    """The class behind a name."""
    found: type[Competitor] = getattr(import_module(_of(name).module), _of(name).cls)
    return found


def models() -> dict[str, type[Competitor]]:
    """Every model's class; imports them all."""
    return {name: model(name) for name in names()}
