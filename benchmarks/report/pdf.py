"""The tables as one document, and as a PDF where LaTeX is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from benchmarks.report.other_tables import RELATED_FOOTNOTE

# graphicx, xcolor, multirow, pifont and amsmath are what the tables need of a document they are dropped into.
PREAMBLE = r"""\documentclass[11pt]{article}
\usepackage[margin=0.9in]{geometry}
\usepackage[T1]{fontenc}
\usepackage{amsmath,amssymb}
\usepackage{booktabs}
\usepackage{graphicx}
\usepackage{multirow}
\usepackage{pifont}
\usepackage[dvipsnames]{xcolor}
\newcommand{\cmark}{\ding{51}}
\newcommand{\xmark}{\ding{55}}
"""
# The paper's tables 1 to 8: they keep their numbers, whatever else there is; other tables are numbered after them.
PAPER_TABLES = (
    *("related_work", "datasets", "mimic_seq", "mimic"),
    *("support", "metabric", "ablation", "hyper_parameters"),
)
# No bibliography is shipped: a citation prints its authors and year.
CITEP = r"\newcommand{\citep}[1]{(\csname cited@#1\endcsname)}"
COMPILERS = {
    "latexmk": ["latexmk", "-pdf", "-interaction=nonstopmode", "-halt-on-error", "-quiet"],
    "tectonic": ["tectonic"],
    "pdflatex": ["pdflatex", "-interaction=nonstopmode", "-halt-on-error"],
}
PACKAGES = "apt-get install latexmk texlive-latex-recommended texlive-latex-extra texlive-fonts-recommended"
INSTALL = (
    f"no LaTeX found (looked for latexmk, tectonic, pdflatex). On Debian or Ubuntu: {PACKAGES}; elsewhere: TeX Live, "
    "MacTeX or tectonic"
)


class LatexError(ValueError):
    """No PDF could be made; the text says what to install or where to look."""


def document(tables: Sequence[str], related: pd.DataFrame, title: str) -> str:
    r"""A document that \inputs the tables lying beside it: the paper's under their numbers, then the others."""
    cited = related.dropna(subset="citation")
    lines = [PREAMBLE + CITEP]
    for key, text in zip(cited["citation"], cited["citation_text"], strict=True):
        lines.append(rf"\expandafter\newcommand\csname cited@{key}\endcsname{{{text}}}")
    lines += [rf"\pagestyle{{myheadings}}\markright{{{title}}}", r"\begin{document}"]
    numbered = (*PAPER_TABLES, *(name for name in tables if name not in PAPER_TABLES))
    for name in sorted(tables, key=numbered.index):
        lines.append(rf"\setcounter{{table}}{{{numbered.index(name)}}}\input{{{name}}}")
        lines += [RELATED_FOOTNOTE] if name == "related_work" else []
    return "\n".join([*lines, r"\end{document}", ""])


def compile_pdf(source: Path) -> Path:
    """Compile a .tex file beside itself; LatexError says what to install or where the log is."""
    compiler = next((name for name in COMPILERS if shutil.which(name)), None)
    if compiler is None:
        raise LatexError(INSTALL)
    # pdflatex alone needs a second pass for references; the others see to that themselves.
    for _ in range(2 if compiler == "pdflatex" else 1):
        done = subprocess.run(
            [*COMPILERS[compiler], source.name],
            cwd=source.parent,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=300,
        )
        if done.returncode:
            output = done.stdout + done.stderr
            if absent := re.search(r"File [`'](.+?)' not found|failed to make (\S+\.tfm)", output):
                package = Path(absent[1]).stem if absent[1] else "collection-fontsrecommended"
                raise LatexError(
                    f"{compiler} could not compile {source}: this LaTeX lacks {absent[1] or absent[2]}. On Debian or "
                    f"Ubuntu: {PACKAGES}; with TeX Live: tlmgr install {package}"
                )
            raise LatexError(
                f"{compiler} could not compile {source}; see {source.with_suffix('.log')}. Its last words:\n"
                + "\n".join(output.splitlines()[-15:])
            )
    return source.with_suffix(".pdf")
