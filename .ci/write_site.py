"""Build one static site from what is in the repository: `make site` writes _site/, which opens offline from index.html.

index.html leads to the page of the reference, the page of the beyond tier, the documentation of the library with the
findings, and tables and figures as files. Every link is followed; one that leads nowhere stops the build.
"""

from __future__ import annotations

import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import numerics

numerics.set_up()

from benchmarks.commands import report
from benchmarks.report import page_context
from benchmarks.report.agreement import judge
from benchmarks.report.claims.check import check_claims, kept_replications
from benchmarks.report.html import render
from benchmarks.results.folder import read_results
from benchmarks.results.published import published_cells

SITE = ROOT / "_site"
DOCS = ROOT / "docs" / "_build" / "html"


class Links(HTMLParser):
    """The addresses that a page refers to, and the names that others can refer to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.names: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect `href`, `src` and `id`."""
        found = dict(attrs)
        self.targets += [value for key in ("href", "src") if (value := found.get(key))]
        self.names |= {value for key in ("id", "name") if (value := found.get(key))}


def broken(site: Path) -> list[str]:
    """The links within the site that lead nowhere, each with its page."""
    pages = {page.resolve(): Links(page) for page in sorted(site.rglob("*.html"))}
    found = []
    for page, links in pages.items():
        for target in links.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            there = file / "index.html" if file.is_dir() else file
            name = unquote(parts.fragment)
            if not there.is_file() or (name and there in pages and name not in pages[there].names):
                found.append(f"{page.relative_to(site.resolve())}: {target}")
    return found


def build(site: Path) -> None:
    """All pages and files."""
    if not (DOCS / "index.html").is_file():
        raise SystemExit(f"the documentation is not built: {DOCS} has no index.html; `make docs` makes it")
    shutil.rmtree(site, ignore_errors=True)
    site.mkdir()
    for name in ("reference", "beyond"):
        run = read_results(ROOT / "results" / name)
        report.figures(run, site / "figures" / name)
        report.page(run, site / name, site / "figures" / name)
        report.tables(run, site / name / "tables")
        (site / name / "report.html").rename(site / f"{name}.html")
    front(site)
    shutil.copytree(DOCS, site / "docs", ignore=shutil.ignore_patterns(".doctrees", ".buildinfo*", "*.inv"))


def front(site: Path) -> None:
    """index.html: what was found, and the way to everything else."""
    run = read_results(ROOT / "results" / "reference")
    rows, claims = judge(run, published_cells()), check_claims(run, published_cells(), kept_replications())
    files = {
        name: sorted(path.relative_to(site).as_posix() for path in site.glob(f"{name}/**/*") if path.is_file())
        for name in ("reference", "beyond")
    }
    figures = sorted(path.relative_to(site).as_posix() for path in site.glob("figures/*/*.pdf"))
    text = render(
        "site.html",
        paragraph=page_context.paragraph(run, rows, claims),
        links=page_context.LINKS,
        files=files,
        figures=figures,
    )
    (site / "index.html").write_text(text, encoding="utf-8")


def main() -> int:
    """Build, follow every link, and say where the site is."""
    site = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else SITE
    build(site)
    if wrong := broken(site):
        print("\n".join(["links that lead nowhere:", *wrong[:20]]))
        return 1
    print(f"{site / 'index.html'}: {len(list(site.rglob('*.html')))} pages, every link leads somewhere")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
