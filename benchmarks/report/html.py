"""The page of a run as one HTML file: nothing is fetched, no date is in it, so the same results give the same bytes."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from benchmarks.report import cells, page_context, wording
from benchmarks.report.agreement import judge
from benchmarks.report.claims.check import check_claims, kept_replications
from benchmarks.report.conventions import comparisons, rankings
from benchmarks.report.deviations import deviations
from benchmarks.report.page_context import Context
from benchmarks.report.provenance import costs, failures
from benchmarks.results import names
from benchmarks.results.folder import Results
from benchmarks.results.tidy import PAPER_METRICS, TRUNCATIONS

TEMPLATE = Path(__file__).with_name("template")
BEYOND_FIGURES = ("critical_difference", "heat_map")  # where there are models beyond the paper's, in their section
DEVIATION_FIGURES = ("deviations",)
MIME = {".svg": "image/svg+xml", ".png": "image/png", ".pdf": "application/pdf"}


@dataclass(frozen=True)
class Report:
    """The page and the tables it was made from."""

    page: str
    agreement: pd.DataFrame
    claims: pd.DataFrame
    rankings: pd.DataFrame


def build(run: Results, figures: Path, published: pd.DataFrame, expected: pd.DataFrame) -> Report:
    """Compare with the paper, judge its statements, and fill the template; `expected` are costs, see `costs`."""
    rows = judge(run, published)
    claims = check_claims(run, published, kept_replications())
    compared = comparisons(run.conventions)
    cost = costs(run, expected)
    headline, figures_below, absent = read_figures(figures)
    ranks = page_context.mean_ranks(run)
    apart = (*DEVIATION_FIGURES, *(BEYOND_FIGURES if ranks else ()))
    groups = cells.groups(run, rows)
    disagreements = deviations(run)
    page = render(
        head=page_context.head(run, rows, claims),
        headline=headline,
        figures=[f for f in figures_below if f["name"] not in apart],
        ranks=ranks,
        beyond_figures=[f for f in figures_below if ranks and f["name"] in BEYOND_FIGURES],
        absent=absent,
        counts=page_context.count_rows(rows),
        signed=page_context.signed_rows(rows),
        heads=cells.heads(),
        columns=[(metric, g_tau, g_tau in ("", TRUNCATIONS[0])) for metric, g_tau in PAPER_METRICS],
        groups=groups,
        choices=cells.choices(groups, run),
        cells=Markup(cells.as_script(cells.contents(run, rows))),
        extras=page_context.extra_tables(run),
        counting=page_context.counting_rows(run),
        other_metrics=page_context.metric_tables(run),
        error_rates=page_context.error_rates(rows),
        claims=claims.to_dict("records"),
        deviations=[d for d in disagreements if not d.is_mimic],
        mimic_deviations=[d for d in disagreements if d.is_mimic],
        mimic_run=bool(set(run.cells["dataset"]) & {"mimic", "mimic_seq"}),
        deviation_figures=[f for f in figures_below if f["name"] in DEVIATION_FIGURES],
        conventions=page_context.convention_tables(compared, run),
        failures=failures(run).to_dict("records"),
        costs=cost.to_dict("records"),
        expected_minutes=float((cost["trials"] * cost["expected_seconds"]).sum() / 60),
        has_expectation=len(expected) > 0,
        data=data_rows(run),
        environment=run.environment,
        codes=list(dict.fromkeys(map(str, run.trials["code"]))),
        config=json.dumps(dict(run.config), indent=1, sort_keys=True),
        n_trials=len(run.trials),
        marks={name: run.marks.get(name, "") for name in run.trials["dataset"].unique()},
    )
    return Report(page, rows, claims, rankings(compared))


def render(template: str = "page.html", **context: Any) -> str:
    """Fill a template; values are escaped, an unknown name is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    engine = Environment(
        loader=FileSystemLoader(TEMPLATE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name in ("number", "p_value", "seconds", "plural", "slug"):
        engine.globals[name] = getattr(wording, name)
    for name in ("dataset_label", "model_label", "metric_label"):
        engine.globals[name] = getattr(names, name)
    files = {"style": "page.css", "script": "page.js", "recompute": "recompute.js"}
    parts = {name: Markup((TEMPLATE / file).read_text(encoding="utf-8")) for name, file in files.items()}
    # Nothing is fetched, and no script is run but these two, whatever a name or a message in the page says.
    scripts = ("\n{recompute}\n{script}\n".format(**parts), "\n{script}\n".format(**parts))
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    policy = "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src 'unsafe-inline'; "
    policy += "script-src " + " ".join(f"'sha256-{digest}'" for digest in digests)
    return engine.get_template(template).render(policy=policy, **parts, **context)


def read_figures(folder: Path) -> tuple[Context | None, list[Context], dict[str, str]]:
    """The headline, the other figures as data URIs with caption and alternative text, and why some are absent."""
    index = folder / "index.json"
    if not index.is_file():
        return None, [], {}
    listed = json.loads(index.read_text(encoding="utf-8"))
    figures = [_figure(folder, entry) for entry in listed["figures"]]
    headline = next((figure for figure in figures if figure["name"] == "headline"), None)
    return headline, [figure for figure in figures if figure is not headline], listed["absent"]


def _figure(folder: Path, entry: Context) -> Context:
    """The entry of index.json with its picture, and its PDF to download, as data URIs."""
    if foreign := [name for name in entry["files"] if Path(name).name != name]:
        raise ValueError(f"{folder}/index.json names {foreign[0]!r}; wanted files of its own folder")
    uris = {
        path.suffix: f"data:{MIME[path.suffix]};base64,{base64.b64encode(path.read_bytes()).decode()}"
        for name in entry["files"]
        if (path := folder / name).suffix in MIME and path.is_file()
    }
    if not (picture := uris.get(".svg") or uris.get(".png")):
        raise FileNotFoundError(
            f"figure {entry['name']} has no PNG or SVG in {folder}; draw it again with `python -m benchmarks report`"
        )
    return {**entry, "uri": picture, "pdf": uris.get(".pdf", "")}


def data_rows(run: Results) -> list[Context]:
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
