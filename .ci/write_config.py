"""Write the configuration's JSON schema and the table of keys in config/README.md from benchmarks/config.py."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.config import Config
from benchmarks.config_checks import schema_of, wanted

SCHEMA, README = ROOT / "workflow/schemas/config.schema.yaml", ROOT / "config/README.md"
HEAD = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Configuration of a benchmark run",
    "description": "Written from benchmarks/config.py by .ci/write_config.py. Defaults are those of config/paper.yaml, "
    "the full protocol of the paper; other tiers and your own file are overlays on it. Maps are merged key by key, "
    "lists are replaced.",
}
BLOCK = re.compile(r"(?<=<!-- keys -->\n).*?(?=<!-- keys end -->)", re.DOTALL)


def schema_text() -> str:
    """The schema as YAML."""

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    return yaml.dump(HEAD | schema_of(Config), Dumper=Dumper, sort_keys=False, width=118, allow_unicode=True)


def rows(schema: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """A line of the table for each key that holds a value."""
    for name, rules in schema["properties"].items():
        if "properties" in rules:
            yield from rows(rules, f"{prefix}{name}.")
        else:
            kind = " \\| ".join(rules["enum"]) if "enum" in rules else wanted(rules)
            yield f"| `{prefix}{name}` | `{json.dumps(rules['default'])}` | {kind} | {rules['description']} |"


def readme_text() -> str:
    """config/README.md with its table of keys renewed."""
    table = "\n".join(["| key | default | wanted | what |", "|---|---|---|---|", *rows(schema_of(Config)), ""])
    return BLOCK.sub(lambda _: table, README.read_text(encoding="utf-8"))


if __name__ == "__main__":
    stale = [path for path, text in ((SCHEMA, schema_text()), (README, readme_text())) if path.read_text() != text]
    SCHEMA.write_text(schema_text(), encoding="utf-8")
    README.write_text(readme_text(), encoding="utf-8")
    if "--check" in sys.argv and stale:
        sys.exit(f"not up to date: {', '.join(str(path.relative_to(ROOT)) for path in stale)}")
