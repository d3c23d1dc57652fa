"""Make a JSON schema of the configuration's dataclasses, and say where values break it."""

from __future__ import annotations

import math
import re
import types
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import yaml

T = TypeVar("T")
Schema = dict[str, Any]
LARGEST_FILE = 1_000_000  # bytes; a configuration has a few thousand
NAMES: dict[type, str] = {int: "integer", float: "number", str: "string", bool: "boolean", types.NoneType: "null"}
WORDS = {
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "boolean": "true or false",
    "array": "a list such as [a, b]",
    "object": "a map of keys",
    "null": "null",
}


class ConfigError(ValueError):
    """The configuration cannot be run; the text names each key and what it may be."""


@cache
def schema_of(cls: Any) -> Schema:
    """The JSON schema of a dataclass whose fields were made by `benchmarks.data.settings.key`."""
    hints = get_type_hints(cls)
    keys = {field.name: _field_schema(field, hints[field.name]) for field in fields(cls)}
    return {"type": "object", "additionalProperties": False, "properties": keys}


def _field_schema(field: Field[Any], hint: Any) -> Schema:
    default = field.default if field.default_factory is MISSING else field.default_factory()
    items = field.metadata.get("items", {})
    rules = {name: value for name, value in field.metadata.items() if name != "items"}
    schema = _type_schema(hint, items) | rules
    return schema if is_dataclass(hint) else schema | {"default": _jsonable(default)}


def _type_schema(hint: Any, items: Schema) -> Schema:
    """The schema of a type; `items` are the rules for what a list or a map holds."""
    origin, inner = get_origin(hint), get_args(hint)
    if is_dataclass(hint) and isinstance(hint, type):
        return schema_of(hint)
    if origin is Literal:
        return {"enum": list(inner)}
    if origin is tuple:
        names = {"type": "array", "items": _type_schema(inner[0], {}) | items}
        return names | {"minItems": 1, "uniqueItems": True} if items else names
    if origin is dict:
        return {"type": "object", "additionalProperties": _type_schema(inner[1], {}) | items}
    if origin is types.UnionType:
        return {"type": [NAMES[kind] for kind in inner]}
    return {"type": NAMES[hint]}


def _jsonable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _jsonable(inner) for name, inner in value.items()}
    return [_jsonable(inner) for inner in value] if isinstance(value, tuple | list) else value


def _kinds(schema: Schema) -> list[str]:
    kinds = schema.get("type", "string")
    return kinds if isinstance(kinds, list) else [kinds]


def _is(value: Any, kind: str) -> bool:
    if kind in ("integer", "number"):
        return isinstance(value, int | float if kind == "number" else int) and not isinstance(value, bool)
    wanted = {"string": str, "boolean": bool, "array": list, "object": Mapping, "null": types.NoneType}[kind]
    return isinstance(value, wanted)


def _inner(schema: Schema, name: str) -> Schema | None:
    """The schema of one key of a map; None if there is no such key."""
    known, others = schema.get("properties", {}), schema.get("additionalProperties", False)
    return known.get(name) or (others or None)


def as_declared(value: Any, schema: Schema) -> Any:
    """A value in the form its key is declared in, where this is beyond doubt; anything else is left as it came.

    Snakemake passes nested values of --config as texts ({"max_epochs": "2"}), and YAML reads 1e-8 as a text.
    """
    if isinstance(value, Mapping):
        rules = {name: _inner(schema, str(name)) for name in value}
        return {name: as_declared(inner, rules[name] or {}) for name, inner in value.items()}
    if isinstance(value, tuple | list):
        return [as_declared(inner, schema.get("items", {})) for inner in value]
    if "enum" in schema:
        return str(value) if str(value) in schema["enum"] else value
    kinds = _kinds(schema)
    if value is None and kinds == ["string"]:
        return ""
    if isinstance(value, str) and "type" in schema and "string" not in kinds:
        value = _read(value, kinds)
    return float(value) if "number" in kinds and _is(value, "number") else value


def _read(text: str, kinds: list[str]) -> Any:
    """The number, truth value or map that a text spells, if that is of a kind wanted; else the text."""
    for parse in (yaml.safe_load, float):
        try:
            found = parse(text)
        except (ValueError, yaml.YAMLError):
            continue
        if any(_is(found, kind) for kind in kinds):
            return found
    return text


def problems(where: str, value: Any, schema: Schema) -> Iterator[str]:
    """One line for each value the schema does not allow: the key, what came and what was wanted."""
    if "enum" in schema:
        if value not in schema["enum"]:
            yield f"{where}: got {value!r}; choose among {', '.join(map(str, schema['enum']))}"
    elif not any(_is(value, kind) for kind in _kinds(schema)):
        in_quotes = isinstance(value, int | float) and _kinds(schema) == ["string"]
        hint = "; put it in quotes (in a shell in two: '\"2024\"')" if in_quotes else ""
        yield f"{where}: got {value!r}; wanted {wanted(schema)}{hint}"
    elif isinstance(value, Mapping):
        if unknown := [repr(name) for name in value if _inner(schema, str(name)) is None]:
            names = ", ".join(sorted(schema["properties"]))
            yield f"{where or '(top level)'}: unknown key {', '.join(unknown)}; choose among {names}"
        for name, inner in value.items():
            if (rules := _inner(schema, str(name))) is not None:
                yield from problems(f"{where}.{name}".lstrip("."), inner, rules)
    elif isinstance(value, list):
        yield from _list_problems(where, value, schema)
    elif _is(value, "number") and not math.isfinite(value):
        yield f"{where}: got {value}; wanted a finite number"
    elif not _allowed(value, schema):
        yield f"{where}: got {value!r}; wanted {wanted(schema)}"


def _list_problems(where: str, value: list[Any], schema: Schema) -> Iterator[str]:
    if not value and schema.get("minItems"):
        yield f"{where}: got an empty list; wanted at least one name"
    if schema.get("uniqueItems") and len({str(inner) for inner in value}) < len(value):
        yield f"{where}: got {value!r}; wanted each name once"
    for number, inner in enumerate(value):
        yield from problems(f"{where}.{number}", inner, schema["items"])


def _allowed(value: Any, schema: Schema) -> bool:
    """Whether a number lies between its bounds, and a text is of the pattern."""
    if isinstance(value, str):
        return "pattern" not in schema or bool(re.fullmatch(schema["pattern"], value))
    if value is None or isinstance(value, bool):
        return True
    least, most = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    return bool(least <= value <= most and value > schema.get("exclusiveMinimum", -math.inf))


def wanted(schema: Schema) -> str:
    """ "a whole number of at least 1"; a key's own `wanted` says what its type does not."""
    if "wanted" in schema:
        return str(schema["wanted"])
    first, *rest = _kinds(schema)
    bound = f" above {schema['exclusiveMinimum']}" if "exclusiveMinimum" in schema else ""
    if "maximum" in schema:
        bound = f" from {schema['minimum']} to {schema['maximum']:,}"
    elif "minimum" in schema:
        bound = f" of at least {schema['minimum']}"
    return " or ".join([WORDS[first] + bound, *(WORDS[other] for other in rest)])


def built(cls: type[T], plain: Mapping[str, Any]) -> T:
    """The dataclass of a map that `problems` found nothing wrong with."""
    hints = get_type_hints(cls)
    return cls(**{name: _built(hints[name], value) for name, value in plain.items()})


def _built(hint: Any, value: Any) -> Any:
    if is_dataclass(hint) and isinstance(hint, type):
        return built(hint, value)
    if get_origin(hint) is dict:
        return {name: _built(get_args(hint)[1], inner) for name, inner in value.items()}
    return tuple(value) if get_origin(hint) is tuple else value


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """YAML without what a configuration never needs: repeated keys, of which the last would win, and aliases."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            raise _refused(f"alias *{event.anchor}; write the value out", event)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for name, _ in node.value:
            if name.value in seen:
                raise _refused(f"key {name.value!r} stands there twice; leave one of them out", name)
            seen.add(name.value)
        return dict(super().construct_mapping(node, deep))


def _refused(problem: str, where: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=where.start_mark)


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML file that must hold a map; what is not a configuration is refused with what was wanted."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise ConfigError(f"{path} has {path.stat().st_size:,} bytes; wanted a YAML file with a map of keys")
        loaded = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except OSError as error:
        raise ConfigError(f"cannot read {path} ({error.strerror}); wanted a YAML file") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid YAML: {error}") from None
    except RecursionError:
        raise ConfigError(f"{path} is nested too deeply; wanted a map of keys such as `trials: 5`") from None
    if not isinstance(loaded, dict):
        came = "nothing" if loaded is None else type(loaded).__name__
        raise ConfigError(f"{path} must hold a map of keys such as `trials: 5`, got {came}")
    return loaded
