"""Where data are looked for and how they are made: one small frozen object that every loader receives."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


def key(default: Any, description: str, **rules: Any) -> Any:
    """A field of the configuration: its default, a description, and rules of the JSON schema beyond its type."""
    metadata = {"description": description, **rules}
    if isinstance(default, type):  # a section
        return field(default_factory=default, metadata=metadata)
    if isinstance(default, dict):
        return field(default_factory=lambda: dict(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def default_cache() -> Path:
    """The user's cache of this project: SODEN_CACHE, else XDG_CACHE_HOME/soden, else ~/.cache/soden."""
    if chosen := os.environ.get("SODEN_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "soden"


def data_folders(chosen: str | Path | None = None) -> tuple[Path, ...]:
    """The chosen one, else those of SODEN_DATA (several are joined as in PATH); none if neither is given."""
    if chosen:
        return (Path(chosen),)
    return tuple(Path(part) for part in os.environ.get("SODEN_DATA", "").split(os.pathsep) if part)


@dataclass(frozen=True)
class DataSettings:
    """What a `load(settings)` may need; `options` holds what only one data set understands."""

    folders: tuple[Path, ...] = field(default_factory=data_folders)
    cache: Path = field(default_factory=default_cache)
    offline: bool = False  # never open a connection; sources that need one are reported as left out
    simulated_n: int = 10_000  # subjects of the simulation (Section 4)
    seed: int = 0  # root seed; only the simulation draws random numbers here
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # data set: its own options
    progress: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "folders", tuple(Path(folder).expanduser() for folder in self.folders))
        object.__setattr__(self, "cache", Path(self.cache).expanduser())
        if self.simulated_n < 2:
            raise ValueError(f"the simulation needs at least two subjects; got simulated_n = {self.simulated_n}")
