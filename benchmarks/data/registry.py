"""Find the data sets of this folder; see the package's docstring for what a module must hold."""

import pkgutil
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Protocol, cast

from benchmarks.data.dataset import Dataset
from benchmarks.data.settings import DataSettings
from benchmarks.data.sources import DataUnavailable

_NEEDED = ("NAME", "LABEL", "SEARCH", "N_SPLITS", "load")


class DatasetModule(Protocol):
    """What a file of this folder must define to be a data set."""

    NAME: str
    LABEL: str
    SEARCH: Mapping[str, tuple[int, ...]]
    N_SPLITS: int

    def load(self, settings: DataSettings) -> Dataset:
        """Return the raw table or raise DataUnavailable."""
        ...


@cache
def _all() -> tuple[dict[str, DatasetModule], dict[str, str]]:
    """The data sets by name, and what is wrong with the files that cannot be imported or lack something."""
    modules: dict[str, DatasetModule] = {}
    broken: dict[str, str] = {}
    for info in pkgutil.iter_modules(import_module("benchmarks.data").__path__):
        if info.ispkg:
            continue
        try:
            module = import_module(f"benchmarks.data.{info.name}")
            if hasattr(module, "NAME"):
                modules[info.name] = _checked(info.name, module)
        except Exception as error:  # whatever a file raises when it is imported: the other data sets do not need it
            where = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
            broken[info.name] = f"benchmarks/data/{info.name}.py{where} cannot be used: {error}"
    return modules, broken


def faults() -> list[str]:
    """What keeps files of this folder from being data sets."""
    return list(_all()[1].values())


def _checked(file: str, module: object) -> DatasetModule:
    missing = [attribute for attribute in _NEEDED if not hasattr(module, attribute)]
    if missing:
        raise TypeError(f"benchmarks/data/{file}.py defines NAME but lacks {', '.join(missing)}")
    checked = cast(DatasetModule, module)
    if file != checked.NAME:
        raise TypeError(f"benchmarks/data/{file}.py has NAME = {checked.NAME!r}; file name and NAME must be the same")
    absent = {"batch_size", "intervals"} - set(checked.SEARCH)
    if absent:
        raise TypeError(f"benchmarks/data/{file}.py: SEARCH lacks {', '.join(sorted(absent))}")
    return checked


def names() -> tuple[str, ...]:
    """Names of all data sets, in alphabetical order."""
    return tuple(sorted(_all()[0]))


def module(name: str) -> DatasetModule:
    """Return the module of a data set."""
    if name not in _all()[0]:
        wrong = "".join(f"; {fault}" for fault in faults())
        raise ValueError(f"unknown data set {name!r}; choose among {', '.join(names())}{wrong}")
    return _all()[0][name]


def load(name: str, settings: DataSettings | None = None) -> Dataset:
    """Load the raw table of a data set, or raise DataUnavailable with everything that was tried."""
    return module(name).load(settings or DataSettings())


def has_series(name: str) -> bool:
    """Whether its subjects have series; their encoder is then part of a model's code."""
    return bool(getattr(module(name), "SERIES", False))


def convention_of(name: str, configured: str) -> str:
    """How the metrics of a data set are computed: as configured or, by "auto", as its file says."""
    return str(getattr(module(name), "CONVENTION", "text")) if configured == "auto" else configured


def credentialed(name: str, mark: str) -> bool:
    """Whether only people with credentials may see its rows; a mark says that they are the demo's or invented."""
    return not mark and bool(getattr(_all()[0].get(name), "CREDENTIALED", False))


def split_key(name: str) -> str:
    """Name under which splits are drawn: data sets of the same patients share it and so get the same rows."""
    return str(getattr(module(name), "SPLIT_KEY", name))


def gather(wanted: Sequence[str], settings: DataSettings | None = None) -> tuple[dict[str, Dataset], dict[str, str]]:
    """Load what can be had; for the rest, why not: a run goes on without a missing data set and says so."""
    datasets: dict[str, Dataset] = {}
    missing: dict[str, str] = {}
    for name in wanted:
        try:
            datasets[name] = load(name, settings)
        except DataUnavailable as error:
            missing[name] = str(error)
    return datasets, missing
