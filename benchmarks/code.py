"""Fingerprints of code: what a row, a data set or a score depends on, and nothing else.

A fingerprint covers a file and every file of this project it imports, as far as they compute: comments, docstrings,
formatting and imports for type checkers change nothing. The text is read, nothing is imported.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path

from benchmarks import registry

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("soden", "baselines", "benchmarks")
# What a trial runs besides its model.
RUNNER = ("benchmarks.data.preprocess", "benchmarks.study.trial")
SERIES = "soden.gru"  # imported only where the data have series
VALIDATION_SCORE = "benchmarks.metrics.antolini"  # imported only for models that are selected by it


@cache
def of_model(name: str, series: bool = False, root: Path = ROOT) -> str:
    """What a model's rows depend on: its file, what it imports, preprocessing and the trial runner."""
    without = set() if series else {SERIES}
    if registry.selected_by(name) != "ctd":
        without.add(VALIDATION_SCORE)
    return _digest(closure([registry.module_of(name), *RUNNER], root, without), root)


@cache
def of_dataset(name: str, root: Path = ROOT) -> str:
    """What a data set depends on: its file and what it imports, SQL and CSV of its packages included."""
    files = closure([f"benchmarks.data.{name}"], root)
    folders = {path.parent for path in files} - {root / "benchmarks" / "data"}
    inside = (root / "benchmarks" / "data", root / "benchmarks" / "data" / name)
    extra = [p for folder in folders if folder.is_relative_to(inside[0]) for p in folder.rglob("*")]
    return _digest({*files, *(p for p in extra if p.suffix in (".sql", ".csv"))}, root)


@cache
def of_simulation(root: Path = ROOT) -> str:
    """What the simulation study depends on: its own files and the two models it fits, but not their search spaces."""
    names = ("study/simulation.py", "study/simulation_search.csv", "data/simulated.py")
    files = {root / "benchmarks" / name for name in names}
    models = closure(["baselines.soden", "baselines.deephit"], root, {SERIES, "baselines.space"})
    return _digest(files | models, root, without="space")


@cache
def of_metrics(root: Path = ROOT) -> str:
    """What scores depend on besides the fitted model: every metric and the evaluator."""
    names = [f"benchmarks.metrics.{path.stem}" for path in (root / "benchmarks" / "metrics").glob("*.py")]
    return _digest(closure(names, root) | {root / "benchmarks" / "study" / "evaluate.py"}, root)


@cache
def of_report(part: str, root: Path = ROOT) -> str:
    """What gathered numbers, tables, figures or the page of a run depend on besides its results.

    `part` is "gather", "tables", "figures" or "page".
    """
    folder = root / "benchmarks" / "report"
    modules = {"gather": ["benchmarks.study.gather"], "tables": ["benchmarks.report.tables"]}
    modules["figures"] = [f"benchmarks.report.figures.{path.stem}" for path in (folder / "figures").glob("*.py")]
    modules["page"] = ["benchmarks.report.html"]
    texts = [path for path in folder.rglob("*") if path.suffix in (".toml", ".csv", ".html", ".css", ".js")]
    return _digest({*closure(modules[part], root), *(texts if part == "page" else ())}, root)


def closure(modules: Iterable[str], root: Path = ROOT, without: Collection[str] = ()) -> set[Path]:
    """The files of these modules and of all they import of the project, inside functions too."""
    files: set[Path] = set()
    waiting = [_file(name, root) for name in modules]
    skipped = {_file(name, root) for name in without}
    while waiting:
        path = waiting.pop()
        if path is None or path in files or path in skipped:
            continue
        files.add(path)
        waiting += [_file(name, root) for name in _imported(path)]
    return files


@cache
def _imported(path: Path) -> tuple[str, ...]:
    try:
        return tuple(_imports(ast.parse(path.read_text(encoding="utf-8"))))
    except SyntaxError as error:
        raise ValueError(f"{path}, line {error.lineno} cannot be read: {error.msg}; mend it or take it away") from None


def _file(name: str, root: Path) -> Path | None:
    """The file of a module or package; of `package.attribute` the package's; None outside the project."""
    parts = name.split(".")
    if parts[0] not in PACKAGES:
        return None
    for end in (len(parts), len(parts) - 1):
        place = root.joinpath(*parts[:end])
        if place.with_suffix(".py").is_file():
            return place.with_suffix(".py")
        if end > 1 and (place / "__init__.py").is_file():
            return place / "__init__.py"
    return None


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        else:
            yield from _imports(node)


def _digest(files: Iterable[Path], root: Path, without: str = "") -> str:
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(str(path.relative_to(root)).encode() + b"\0")
        digest.update(_content(path, without))
    return digest.hexdigest()[:12]


@cache
def _content(path: Path, without: str) -> bytes:
    return normalised(path.read_text(), without).encode() if path.suffix == ".py" else path.read_bytes()


def normalised(text: str, without: str = "") -> str:
    """Python code without comments, docstrings and formatting, nor the class attribute called `without`."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        first = node.body[0] if node.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            node.body = node.body[1:] or [ast.Pass()]
        if without and isinstance(node, ast.ClassDef):
            node.body = [line for line in node.body if _target(line) != without] or [ast.Pass()]
    return ast.unparse(tree)


def _target(line: ast.stmt) -> str:
    """The one name that a statement assigns to; empty for any other statement."""
    targets = line.targets if isinstance(line, ast.Assign) else [line.target] if isinstance(line, ast.AnnAssign) else []
    return targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else ""
