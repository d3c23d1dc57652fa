"""What is wrong with a configuration, in words: the key, what came and what was wanted, not the schema's own terms."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

TYPES = {
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "boolean": "true or false",
    "array": "a list such as [a, b]",
    "object": "a map of keys",
    "null": "null",
}


def schema_problems(config: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[str]:
    """One line for each value the schema does not allow; infinite numbers, which it cannot forbid, are none of them."""
    import jsonschema

    errors = jsonschema.Draft202012Validator(schema).iter_errors(config)
    for error in sorted(errors, key=lambda e: [str(part) for part in e.absolute_path]):
        key = ".".join(str(part) for part in error.absolute_path)
        yield _problem(key, error)
    for key, value in _numbers("", config):
        if not math.isfinite(value):
            yield f"{key}: got {value}; wanted a finite number"


def _problem(key: str, error: Any) -> str:
    value, rule = error.instance, error.validator
    if rule == "additionalProperties":
        known = sorted(error.schema.get("properties", {}))
        unknown = ", ".join(repr(name) for name in value if name not in known)
        return f"{key or '(top level)'}: unknown key {unknown}; choose among {', '.join(known)}"
    if rule == "required":
        lost = ", ".join(name for name in error.validator_value if name not in value)
        return f"{key or '(top level)'}: {lost} is missing; config/paper.yaml has every key"
    if rule == "enum":
        return f"{key}: got {value!r}; choose among {', '.join(map(str, error.validator_value))}"
    if rule == "uniqueItems":
        return f"{key}: got {value!r}; wanted each name once"
    if rule == "minItems":
        return f"{key}: got an empty list; wanted at least one name"
    return f"{key}: got {value!r}; wanted {wanted(error.schema)}{_hint(value, error.schema)}"


def wanted(schema: Mapping[str, Any]) -> str:
    """ "a whole number of at least 1"; a schema's own `wanted` says what its type does not."""
    if "wanted" in schema:
        return str(schema["wanted"])
    first, *others = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    bound = f" of at least {schema['minimum']}" if "minimum" in schema else ""
    bound += f" above {schema['exclusiveMinimum']}" if "exclusiveMinimum" in schema else ""
    return " or ".join([TYPES[first] + bound, *(TYPES[other] for other in others)])


def _hint(value: Any, schema: Mapping[str, Any]) -> str:
    """YAML takes 1e-8 for a text, and 2024 or yes for something else than one."""
    if schema.get("type") == "string" and not isinstance(value, str):
        return "; put it in quotes" if isinstance(value, int | float) else ""
    try:
        number = float(value) if isinstance(value, str) else math.nan
    except ValueError:
        return ""
    return f"; YAML reads {value} as a text: write {number!r}" if math.isfinite(number) else ""


def _numbers(key: str, value: Any) -> Iterator[tuple[str, float]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _numbers(f"{key}.{name}".lstrip("."), inner)
    elif isinstance(value, float):
        yield key, value
