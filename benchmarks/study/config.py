"""Configuration of a run: paper.yaml, the tier's overlay, the caller's own values; merged, then checked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks import registry
from benchmarks.results import KEPT
from benchmarks.study.config_words import schema_problems

ROOT = Path(__file__).resolve().parents[2]
BASE = "paper"  # what every other tier, and every overlay, lies on
# A name of one folder, in results/ and in figures/: whatever a job makes anew there, Snakemake deletes first.
RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
Config = dict[str, Any]


class ConfigError(ValueError):
    """The configuration cannot be run; the text names each key and what it may be."""


def tiers(root: Path = ROOT) -> list[str]:
    """The files of config/: adding one makes a tier."""
    return sorted(path.stem for path in (root / "config").glob("*.yaml"))


def resolve(overrides: Mapping[str, Any] | None = None, root: Path = ROOT) -> Config:
    """The whole configuration of a run; `overrides` may name the tier (default quick) and change any key."""
    overrides = dict(overrides or {})
    tier = overrides.pop("tier", "quick")
    if tier not in (known := tiers(root)):
        raise ConfigError(f"tier: got {tier!r}; choose among {', '.join(known)}; a new file in config/ makes a tier")
    config = read(root / "config" / f"{BASE}.yaml")
    if tier != BASE:
        config = merge(config, _overlay(root / "config" / f"{tier}.yaml"))
    config = merge(config, overrides) | {"tier": tier}
    if config["run"] in ("", None):
        config["run"] = tier
    check(config, root)
    rows = root / config["known"] if config["known"] else ""  # an absolute one stays as it is
    return {**config, "known": str(rows)}


def _overlay(path: Path) -> Config:
    """A tier's file, which need not say its name and must not say another."""
    overlay = read(path)
    if overlay.get("tier", path.stem) != path.stem:
        raise ConfigError(
            f"{path} says tier: {overlay['tier']}, and its name {path.stem}; leave `tier` out of it, or rename the file"
        )
    return overlay


def with_tier(overlay: Mapping[str, Any], tier: str | None, default: str = "quick") -> Config:
    """An overlay with the tier it lies on: the one named on the command line, its own, the default."""
    own = overlay.get("tier")
    if tier is not None and own not in (None, tier):
        raise ConfigError(
            f"tier: got {tier!r} on the command line and {own!r} in the configuration file; leave one of them out"
        )
    return dict(overlay) | {"tier": tier or own or default}


def merge(base: Mapping[str, Any], overlay: Mapping[str, Any]) -> Config:
    """Maps are merged key by key, everything else is replaced (as Snakemake does)."""
    merged = dict(base)
    for key, value in overlay.items():
        old = merged.get(key)
        merged[key] = merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def check(config: Mapping[str, Any], root: Path = ROOT) -> None:
    """Raise ConfigError listing every problem at once."""
    schema = read(root / "workflow" / "schemas" / "config.schema.yaml")
    if problems := [*schema_problems(config, schema)] or [*_run_problems(config["run"]), *_name_problems(config)]:
        raise ConfigError("the configuration cannot be run:\n" + "\n".join(f"  {p}" for p in problems))


def _run_problems(name: str) -> Iterator[str]:
    """Outputs lie in results/<run> and figures/<run> only because a run's name cannot lead out of them."""
    if not RUN.fullmatch(name):
        yield (
            f"run: got {name!r}; wanted letters, digits, - and _, a letter or digit first: it is the name of a folder "
            "in results/ and in figures/, not a path (`--directory` of `python -m benchmarks run` says where they are)"
        )
    elif name.lower() in KEPT:  # some file systems do not tell cases apart
        yield f"run: got {name!r}; results/{name.lower()} belongs to the project, no run writes there; choose another"


def _name_problems(config: Mapping[str, Any]) -> Iterator[str]:
    from benchmarks import data
    from benchmarks.data.mimic3.options import MimicOptions

    models, datasets = registry.names(), data.names()
    for key, names, known in (
        ("models", config["models"], models),
        ("datasets", config["datasets"], datasets),
        ("splits", config["splits"], datasets),
        ("skip", config["skip"], datasets),
        ("fallback", [*config["fallback"], *config["fallback"].values()], datasets),
        *((f"skip.{d}", names, models) for d, names in config["skip"].items()),
    ):
        for name in names:
            if name not in known:
                yield f"{key}: unknown name {name!r}; choose among {', '.join(known)}"
    options = config["data"]["mimic"]["options"]
    try:
        MimicOptions.of(options)
    except TypeError:
        yield f"data.mimic.options: got {options!r}; benchmarks/data/mimic3/options.py says of which type each must be"
    except ValueError as error:
        yield f"data.mimic.options: {error}; see benchmarks/data/mimic3/options.py"
    if "soden" not in config["models"]:
        yield "models: must include soden, which every other model is tested against"


def read(path: Path) -> Config:
    """A YAML file that must hold a map."""
    import yaml

    try:
        loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(
            f"no configuration file {path}; give the path of a YAML file, or the name of a tier ({', '.join(tiers())})"
        ) from None
    except OSError as error:
        raise ConfigError(f"cannot read {path} ({error.strerror}); wanted a YAML file") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid YAML: {error}") from None
    if not isinstance(loaded, dict):
        raise ConfigError(f"{path} must hold a map of keys such as `trials: 5`, got {_kind(loaded)}")
    return loaded


def _kind(value: object) -> str:
    return "nothing" if value is None else type(value).__name__
