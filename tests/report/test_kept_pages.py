"""The tables, page and figures of the reference that git keeps are those that this code makes of its rows."""

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

from benchmarks.report import pdf


@pytest.mark.slow
def test_kept_tables_page_and_figures_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ".ci/write_pages.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\nmake numbers writes them anew"


def test_no_picture_is_kept_twice_but_what_readme_and_docs_show() -> None:
    shown = "\n".join((ROOT / name).read_text() for name in ("README.md", "docs/findings.rst", "docs/index.rst"))
    for path in (ROOT / "figures").glob("*/*.png"):
        if path.parent.name in ("reference", "beyond"):
            assert f"figures/{path.parent.name}/{path.name}" in shown


def test_readme_is_a_front_page() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.split()) <= 1200
    glossary, numbers = text.index("## Six terms"), text.index("<!-- numbers: counts -->")
    assert glossary < numbers
    assert text[glossary:numbers].split("##")[1].count("\n| ") == 1 + 6  # the head and six terms
    assert all(f"`{command}`" in text for command in ("make quick", "make test", "make verify"))
    assert text.count("![") == 1


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("! LaTeX Error: File \\`multirow.sty' not found.", "multirow.sty.*tlmgr install multirow"),
        ("mktextfm: \\`mf-nowin' failed to make pzdr.tfm.", "pzdr.tfm.*tlmgr install collection-fontsrecommended"),
    ],
)
def test_a_missing_latex_package_is_named(
    said: str, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    latex = tmp_path / "pdflatex"
    latex.write_text(f'#!/bin/sh\necho "{said}"\nexit 1\n')
    latex.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path) + ":/bin")
    monkeypatch.setattr(pdf.shutil, "which", lambda name: str(latex) if name == "pdflatex" else None)
    (tmp_path / "tables.tex").write_text("")
    with pytest.raises(pdf.LatexError, match=f"lacks {named}"):
        pdf.compile_pdf(tmp_path / "tables.tex")
