"""Configuration of a run: paper.yaml, the tier's overlay, the caller's own values; merged, then checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks import registry

ROOT = Path(__file__).resolve().parents[2]
TIERS = ("quick", "small", "beyond", "paper")
Config = dict[str, Any]


class ConfigError(ValueError):
    """The configuration cannot be run; the text names each key and what it may be."""


def resolve(overrides: Mapping[str, Any] | None = None, root: Path = ROOT) -> Config:
    """The whole configuration of a run; `overrides` may name the tier (default quick) and change any key."""
    overrides = dict(overrides or {})
    tier = overrides.get("tier", "quick")
    if tier not in TIERS:
        raise ConfigError(f"tier: got {tier!r}; choose among {', '.join(TIERS)}")
    config = read(root / "config" / "paper.yaml")
    if tier != "paper":
        config = merge(config, read(root / "config" / f"{tier}.yaml"))
    config = merge(config, overrides)
    check(config, root)
    known = root / config["known"] if config["known"] else ""  # an absolute one stays as it is
    return {**config, "run": config["run"] or tier, "known": str(known)}


def from_file(path: Path, root: Path = ROOT) -> Config:
    """The configuration an overlay file stands for, e.g. config/small.yaml or a lab's own."""
    return resolve(read(path), root)


def merge(base: Mapping[str, Any], overlay: Mapping[str, Any]) -> Config:
    """Maps are merged key by key, everything else is replaced (as Snakemake does)."""
    merged = dict(base)
    for key, value in overlay.items():
        old = merged.get(key)
        merged[key] = merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def check(config: Mapping[str, Any], root: Path = ROOT) -> None:
    """Raise ConfigError listing every problem at once."""
    problems = [*_schema_problems(config, root)]
    if not problems:
        problems = [*_name_problems(config)]
    if problems:
        raise ConfigError("the configuration cannot be run:\n" + "\n".join(f"  {p}" for p in problems))


def _schema_problems(config: Mapping[str, Any], root: Path) -> Iterator[str]:
    import jsonschema

    schema = read(root / "workflow" / "schemas" / "config.schema.yaml")
    for error in jsonschema.Draft202012Validator(schema).iter_errors(config):
        key = ".".join(str(part) for part in error.absolute_path) or "(top level)"
        if error.validator == "additionalProperties":
            known = sorted(error.schema.get("properties", {}))
            unknown = sorted(set(error.instance) - set(known))
            yield f"{key}: unknown key {', '.join(map(repr, unknown))}; choose among {', '.join(known)}"
        elif error.validator == "enum":
            yield f"{key}: got {error.instance!r}; choose among {', '.join(map(str, error.validator_value))}"
        else:
            yield f"{key}: {error.message}"


def _name_problems(config: Mapping[str, Any]) -> Iterator[str]:
    from benchmarks import data

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
    if "soden" not in config["models"]:
        yield "models: must include soden, which every other model is tested against"


def read(path: Path) -> Config:
    """A YAML file that must hold a map."""
    import yaml

    try:
        loaded = yaml.safe_load(path.read_text())
    except FileNotFoundError:
        raise ConfigError(
            f"no configuration file {path}; the tiers are {', '.join(f'config/{t}.yaml' for t in TIERS)}"
        ) from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not valid YAML: {error}") from None
    if not isinstance(loaded, dict):
        raise ConfigError(f"{path} must hold a map of keys, got {type(loaded).__name__}")
    return loaded
