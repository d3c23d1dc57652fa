"""The site: links within it are followed, and those that lead nowhere are found."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from conftest import ROOT


@pytest.fixture(scope="module")
def site() -> ModuleType:
    spec = importlib.util.spec_from_file_location("write_site", ROOT / ".ci" / "write_site.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_links_that_lead_nowhere_are_found_and_no_others(site: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.html").write_text('<p id="there"><a href="../index.html#top">back</a>')
    (tmp_path / "a b.pdf").write_text("")
    good = ("docs/", "docs/index.html#there", "#top", "a%20b.pdf", "https://arxiv.org/abs/2008.08637", "data:,")
    bad = ("docs/index.html#nowhere", "gone.html", "#nothing", "../outside.pdf")
    links = "".join(f'<a href="{target}">x</a>' for target in (*good, *bad))
    (tmp_path / "index.html").write_text(f'<h1 id="top">{links}<img src="gone.png">')
    assert site.broken(tmp_path) == [f"index.html: {target}" for target in (*bad, "gone.png")]


def test_without_the_documentation_it_says_what_makes_it(
    site: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site, "DOCS", tmp_path / "docs")
    with pytest.raises(SystemExit, match=r"the documentation is not built: .* `make docs` makes it"):
        site.build(tmp_path / "site")
