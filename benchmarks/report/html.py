"""One self-contained page about a run: no file beside it, no network, no clock; same results, same bytes."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.report import html_context, html_format
from benchmarks.report.agreement import agreement
from benchmarks.report.claims.check import check_claims
from benchmarks.report.conventions import comparisons, rankings
from benchmarks.report.deviations import deviations
from benchmarks.report.metric_tables import page_tables
from benchmarks.report.provenance import Expected, costs, failures
from benchmarks.results import names
from benchmarks.results.folder import Results, Row
from benchmarks.results.search_noise import search_errors

TEMPLATE = Path(__file__).with_name("template")
BEYOND_FIGURES = ("critical_difference", "heat_map")  # where there are models beyond the paper's, in their section
MIME = {".png": "image/png", ".svg": "image/svg+xml"}


@dataclass(frozen=True)
class Report:
    """The page and the tables it was made from."""

    page: str
    agreement: pd.DataFrame
    claims: pd.DataFrame
    rankings: pd.DataFrame


def build(run: Results, figures: Path, published: pd.DataFrame, expected: Sequence[Expected]) -> Report:
    """Compare, judge and render."""
    search = None if run.hindsight is None else search_errors(run.hindsight)
    rows = agreement(published, run.cells, run.marks, search)
    claims = check_claims(run, published)
    found = comparisons(run.conventions)
    cost = costs(run, expected)
    headline, others, absent = read_figures(figures)
    ranks = html_context.mean_ranks(run)
    apart = BEYOND_FIGURES if ranks else ()
    page = render(
        head=html_context.head(run, rows, claims),
        headline=headline,
        figures=[f for f in others if f["name"] not in apart],
        ranks=ranks,
        beyond_figures=[f for f in others if f["name"] in apart],
        absent=absent,
        counts=html_context.count_rows(rows),
        signed=html_context.signed_rows(rows),
        agreement=html_context.agreement_tables(rows, run),
        results=html_context.result_tables(run, rows),
        extras=html_context.extra_tables(run),
        counting=html_context.counting_rows(run),
        other_metrics=page_tables(run),
        claims=claims.to_dict("records"),
        deviations=deviations(run),
        conventions=html_context.convention_tables(found, run),
        failures=failures(run).to_dict("records"),
        costs=cost.to_dict("records"),
        expected_minutes=float((cost["trials"] * cost["expected_seconds"]).sum() / 60),
        has_expectation=bool(expected),
        data=data_rows(run),
        chosen=html_context.chosen_tables(run),
        environment=run.environment,
        codes=list(dict.fromkeys(map(str, run.trials["code"]))),
        config=json.dumps(dict(run.config), indent=1, sort_keys=True),
        n_trials=len(run.trials),
        marks={name: run.marks.get(name, "") for name in run.trials["dataset"].unique()},
    )
    return Report(page, rows, claims, rankings(found))


def render(template: str = "page.html", **context: Any) -> str:
    """Fill a template; values are escaped, an unknown name is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    engine = Environment(
        loader=FileSystemLoader(TEMPLATE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name in ("number", "p_value", "seconds", "plural", "slug"):
        engine.globals[name] = getattr(html_format, name)
    for name in ("dataset_label", "model_label", "metric_label"):
        engine.globals[name] = getattr(names, name)
    style, script = (Markup((TEMPLATE / name).read_text(encoding="utf-8")) for name in ("page.css", "page.js"))
    return engine.get_template(template).render(style=style, script=script, **context)


def read_figures(folder: Path) -> tuple[Row | None, list[Row], dict[str, str]]:
    """The headline, the other figures as data URIs with caption and alternative text, and why some are absent."""
    index = folder / "index.json"
    if not index.is_file():
        return None, [], {}
    listed = json.loads(index.read_text(encoding="utf-8"))
    figures = [_figure(folder, entry) for entry in listed["figures"]]
    headline = next((figure for figure in figures if figure["name"] == "headline"), None)
    return headline, [figure for figure in figures if figure is not headline], listed["absent"]


def _figure(folder: Path, entry: Row) -> Row:
    for name in entry["files"]:
        path = folder / name
        if path.suffix in MIME and path.is_file():
            content = base64.b64encode(path.read_bytes()).decode()
            return {**entry, "uri": f"data:{MIME[path.suffix]};base64,{content}"}
    raise FileNotFoundError(
        f"figure {entry['name']} has no PNG or SVG in {folder}; draw it again with `python -m benchmarks figures`"
    )


def data_rows(run: Results) -> list[Row]:
    """What each data set is and where it came from; of those that could not be had, the first line of the reason."""
    rows = []
    for name, note in run.notes.items():
        why = note.get("why", "").splitlines()
        summary = note.get("summary", {})
        rows.append(
            {
                "name": name,
                "available": note["available"],
                "why": why[0].removesuffix(" Tried:") if why else "",
                "mark": note.get("mark", ""),
                "n": summary.get("n", ""),
                "censoring": summary.get("censoring_rate"),
                "source": note.get("source", ""),
                "sha256": note.get("sha256", ""),
            }
        )
    return rows
