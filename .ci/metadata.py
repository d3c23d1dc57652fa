"""codemeta.json, .zenodo.json, results/croissant.json and the shared lines of CITATION.cff, from one place.

The version is `soden.__version__`; authors, licence and keywords are pyproject.toml's; title, abstract, date of the
release and the paper are CITATION.cff's. `make numbers` writes the files, `make lint` checks that none would change.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import croissant
import yaml

ROOT = Path(__file__).resolve().parents[1]
ARXIV = "https://arxiv.org/abs/"


def version(root: Path = ROOT) -> str:
    """`soden.__version__`, read without importing torch."""
    text = (root / "soden" / "__init__.py").read_text()
    [found] = re.findall(r'^__version__ = "([^"]+)"', text, re.MULTILINE)
    return str(found)


def citation(text: str, project: dict[str, Any], release: str) -> str:
    """CITATION.cff with the shared lines set anew."""
    shared = {
        "version": release,
        "license": project["license"],
        "keywords": "".join(f"\n  - {word}" for word in project["keywords"]),
        "authors": "".join(f'\n  - name: "{author["name"]}"' for author in project["authors"]),
    }
    for key, value in shared.items():
        line = f"{key}:{value}" if value.startswith("\n") else f"{key}: {value}"
        text = re.sub(rf"^{key}:.*(\n  .*)*", line.replace("\\", r"\\"), text, count=1, flags=re.MULTILINE)
    return text


def paper(cff: dict[str, Any]) -> dict[str, Any]:
    """The paper as schema.org's ScholarlyArticle."""
    article = cff["preferred-citation"]
    return {
        "@type": "ScholarlyArticle",
        "name": article["title"],
        "author": [person(author) for author in article["authors"]],
        "datePublished": str(article["year"]),
        "isPartOf": {"@type": "Periodical", "name": article["journal"]},
        "url": article["url"],
    }


def person(author: dict[str, str]) -> dict[str, str]:
    """An author of CITATION.cff as schema.org's Person."""
    return {"@type": "Person", "givenName": author["given-names"], "familyName": author["family-names"]}


def codemeta(cff: dict[str, Any], project: dict[str, Any]) -> dict[str, Any]:
    """https://codemeta.github.io: what catalogues of research software read."""
    return {
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        "name": cff["title"],
        "description": cff["abstract"],
        "version": cff["version"],
        "dateModified": str(cff["date-released"]),
        "license": f"https://spdx.org/licenses/{cff['license']}",
        "author": [{"@type": "Organization", "name": author["name"]} for author in cff["authors"]],
        "keywords": cff["keywords"],
        "applicationCategory": "Library",
        "applicationSubCategory": "Workflow",
        "developmentStatus": "active",
        "programmingLanguage": {"@type": "ComputerLanguage", "name": "Python"},
        "runtimePlatform": f"Python {project['requires-python']}",
        "operatingSystem": "Linux",
        "softwareRequirements": [{"@type": "SoftwareSourceCode", "name": name} for name in project["dependencies"]],
        "referencePublication": paper(cff),
    }


def zenodo(cff: dict[str, Any]) -> dict[str, Any]:
    """What Zenodo asks of a deposit. There is none: nothing here has a DOI."""
    return {
        "title": cff["title"],
        "description": f"<p>{cff['abstract']}</p>",
        "upload_type": "software",
        "access_right": "open",
        "version": cff["version"],
        "license": cff["license"],
        "creators": [{"name": author["name"]} for author in cff["authors"]],
        "keywords": cff["keywords"],
        "related_identifiers": [
            {
                "identifier": cff["preferred-citation"]["url"].replace(ARXIV, "arXiv:"),
                "relation": "isSupplementTo",
                "resource_type": "publication-article",
                "scheme": "arxiv",
            },
            {
                "identifier": cff["references"][0]["repository-code"],
                "relation": "references",
                "resource_type": "software",
                "scheme": "url",
            },
        ],
    }


def files(root: Path = ROOT) -> dict[str, str]:
    """Name -> text of every file that is written."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    text = citation((root / "CITATION.cff").read_text(), project, version(root))
    cff = yaml.safe_load(text)
    written = {"codemeta.json": codemeta(cff, project), ".zenodo.json": zenodo(cff)}
    written["results/croissant.json"] = croissant.describe(root, cff)
    dumped = {name: json.dumps(content, indent=2, ensure_ascii=False) + "\n" for name, content in written.items()}
    return {"CITATION.cff": text, **dumped}


def main() -> None:
    """Write, or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file would change")
    args = parser.parse_args()
    stale = [name for name, text in files().items() if not (ROOT / name).is_file() or (ROOT / name).read_text() != text]
    if args.check and stale:
        sys.exit(f"{', '.join(stale)}: not what pyproject.toml and soden/__init__.py say; `make numbers` writes them")
    for name in () if args.check else stale:
        (ROOT / name).write_text(files()[name])
        print(f"{name} written")


if __name__ == "__main__":
    main()
