"""The page: self-contained, the same bytes for the same results, honest about marks, gaps and failures."""

import argparse
import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from scipy import stats
from support.run_folder import write_run

from benchmarks.commands import report as command
from benchmarks.report import cells, html, page_context
from benchmarks.report.agreement import Yardstick, agreement, judge
from benchmarks.report.claims.check import check_claims
from benchmarks.report.html import Report, build, read_figures
from benchmarks.report.page_context import LINKS
from benchmarks.report.provenance import costs
from benchmarks.report.wording import mean_and_error, number, p_value
from benchmarks.results.folder import read_results
from benchmarks.results.published import published_cells
from benchmarks.study.gather import KEYS, gather

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
NOTHING = pd.DataFrame()  # no costs were expected


def figures(folder: Path) -> Path:
    folder.mkdir(parents=True)
    entries = []
    for name in ("headline", "search"):
        (folder / f"{name}.png").write_bytes(PIXEL)
        entry = {"name": name, "files": [f"{name}.pdf", f"{name}.png"], "caption": f"Caption of {name}."}
        entries.append(entry | {"alt": f"What {name} shows.", "sources": ["cells.csv"]})
    (folder / "headline.pdf").write_bytes(b"%PDF")
    index = {"figures": entries, "absent": {"cost": "no trials"}}
    (folder / "index.json").write_text(json.dumps(index))
    return folder


def page(folder: Path, **options: object) -> Report:
    run = read_results(write_run(folder / "results" / "made", **options))  # type: ignore[arg-type]
    drawn = folder / "figures" / "made"
    return build(run, drawn if drawn.is_dir() else figures(drawn), published_cells(), NOTHING)


def test_an_index_cannot_name_files_of_other_folders(tmp_path: Path) -> None:
    index = figures(tmp_path / "figures") / "index.json"
    (tmp_path / "secret.png").write_bytes(PIXEL)
    index.write_text(index.read_text().replace('"headline.png"', '"../secret.png"'))
    with pytest.raises(ValueError, match=r"index.json names '../secret.png'; wanted files of its own folder"):
        read_figures(index.parent)


class Tags(HTMLParser):
    """Every start tag with its attributes; void elements are not closed, all others are."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "img", "br", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def named(self, *names: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.found if tag in names]


def test_the_same_results_give_the_same_bytes(tmp_path: Path) -> None:
    one, two = page(tmp_path / "a").page, page(tmp_path / "b").page
    assert one == two
    assert str(tmp_path) not in one
    assert not re.search(r"20\d\d-\d\d-\d\d|\d\d:\d\d:\d\d", one)


def test_nothing_is_fetched_and_every_link_has_its_target(tmp_path: Path) -> None:
    tags = Tags(page(tmp_path).page)
    assert tags.open == []
    ids = [a["id"] for _, a in tags.found if "id" in a]
    assert len(ids) == len(set(ids))
    for attributes in (a for _, a in tags.found):
        for name in ("src", "href"):
            target = attributes.get(name)
            assert target is None or target.startswith(("#", "data:")) or target in LINKS.values(), target
            assert target is None or not target.startswith("#") or target[1:] in ids, target
    assert not tags.named("iframe", "object", "embed")
    assert all("src" not in a for a in tags.named("script"))


def test_only_the_page_s_own_script_may_run(tmp_path: Path) -> None:
    text = page(tmp_path).page
    (policy,) = (a["content"] for a in Tags(text).named("meta") if a.get("http-equiv") == "Content-Security-Policy")
    rules = dict(rule.strip().split(" ", 1) for rule in str(policy).split(";"))
    assert rules["default-src"] == rules["form-action"] == "'none'"
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" in rules["script-src"]
    assert "unsafe" not in rules["script-src"]


def test_it_is_accessible(tmp_path: Path) -> None:
    tags = Tags(page(tmp_path).page)
    assert tags.named("html")[0]["lang"] == "en"
    assert [a["alt"] for a in tags.named("img")] == ["What headline shows.", "What search shows."]
    assert all(a.get("scope") in ("row", "col", "rowgroup") for a in tags.named("th"))
    assert len(tags.named("caption")) == len(tags.named("table"))
    assert tags.named("a")[0] == {"class": "skip", "href": "#main"}
    assert all(a.get("name") for a in tags.named("select", "input") if a.get("id") != "unrun")


def colours(scheme: str) -> dict[str, tuple[str, str]]:
    """Pairs of ink and paper that text is printed in, as the variables of the style say."""
    css = (Path(html.__file__).with_name("template") / "page.css").read_text()
    light, dark = css.split("@media (prefers-color-scheme: dark)", 1)
    values = dict(re.findall(r"--([\w-]+): (#\w{6})", light.split("@media")[0]))
    values |= dict(re.findall(r"--([\w-]+): (#\w{6})", dark.split("* {")[0])) if scheme == "dark" else {}
    badges = [(name, f"{name}-b") for name in ("good", "near", "bad", "broken", "none", "alarm", "warn")]
    plain = [(ink, paper) for ink in ("ink", "soft", "link") for paper in ("paper", "tint")]
    return {f"{ink} on {paper}": (values[ink], values[paper]) for ink, paper in (*badges, *plain, ("paper", "alarm"))}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_at_least_4_5_to_1(scheme: str) -> None:
    """The formula of WCAG 2.1, success criterion 1.4.3."""

    def luminance(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for name, pair in colours(scheme).items():
        low, high = sorted(map(luminance, pair))
        assert (high + 0.05) / (low + 0.05) >= 4.5, name


def test_the_first_screen_counts_verdicts_and_says_what_the_run_lacks(tmp_path: Path) -> None:
    text = page(tmp_path).page
    first = text[: text.index('<section id="cells"')]
    assert "126 of 239 published values tried" in first
    counted = {verdict: int(n) for verdict, n in re.findall(r'">([a-z ]+)</span></th><td>(\d+)</td>', first)}
    assert (counted["reproduced"], counted["no verdict"], counted["not run"]) == (18, 108, 113)  # 239 distinct values
    assert '<td>108</td><td class="why">3 trials instead of 100' in first
    assert "No verdict yet" not in first  # such a run gets none, with any number of replications
    assert "3 trials per split instead of 100" in first
    assert "Caption of headline." in first
    assert re.findall(r'<a download="(.*?)" href="(.*?)">PDF', text) == [
        ("headline.pdf", "data:application/pdf;base64," + base64.b64encode(b"%PDF").decode())
    ]
    assert "instead of 10;" not in first  # ten splits are the paper's own number


def test_a_full_run_waits_for_its_replications_and_then_says_what_they_found(monkeypatch: pytest.MonkeyPatch) -> None:
    run, published = read_results(ROOT / "results" / "reference"), published_cells()
    claims = check_claims(run, published)
    for finished, waits in ((0, True), (5, False)):
        by = Yardstick(replications=finished)
        rows = agreement(published, run.cells, {}, by)
        if finished:
            searched = rows["why"] == "not among the replications"
            rows = rows.mask(searched, rows.assign(verdict="close", why="", replications=finished))
        monkeypatch.setattr(page_context, "enough", lambda n=finished: n == 5)
        first = page_context.head(run, rows, claims)
        assert first["waiting"] == waits
        counted = {t["verdict"]: (t["n"], t["why"]) for t in first["tally"] if t["n"]}
        yet = {"no verdict": (108, "0 of 5 replications")} if waits else {"close": (108, "")}
        assert counted == {"reproduced": (18, ""), **yet, "not run": (113, "needs credentialed data")}
        said = "have no verdict yet: it needs 5 replications of the whole search, of which 0 are finished"
        assert (said in first["paragraph"]) == waits
        assert ("Of the 108 values of models with a search, 108 close." in first["paragraph"]) != waits


def test_data_that_are_not_real_are_marked_wherever_they_appear(tmp_path: Path) -> None:
    text = page(tmp_path, datasets=("support", "mimic"), marks={"mimic": "synthetic"}, n=2).page
    assert "<strong>MIMIC: synthetic data.</strong>" in text
    for group in re.findall(r'<tr class="group">.*?<span>(MIMIC\b[^-].{0,60})', text):
        assert "synthetic data" in group, group


def test_messages_of_failed_trials_are_grouped_and_escaped(tmp_path: Path) -> None:
    text = page(tmp_path, bad="loss <b>1e9</b> at epoch 3").page
    assert "loss &lt;b&gt;…&lt;/b&gt; at epoch …" in text
    assert "split 1, trial 2: loss &lt;b&gt;1e9&lt;/b&gt; at epoch 3" in text
    assert "<b>1e9" not in text


def test_without_figures_the_page_says_so(tmp_path: Path) -> None:
    run = read_results(write_run(tmp_path / "made"))
    text = build(run, tmp_path / "none", published_cells(), NOTHING).page
    assert "No headline figure was drawn" in text
    assert "<p>None were drawn.</p>" in text


def test_a_listed_figure_that_is_gone_is_an_error(tmp_path: Path) -> None:
    folder = figures(tmp_path / "figures")
    (folder / "search.png").unlink()
    with pytest.raises(FileNotFoundError, match=r"figure search has no PNG or SVG in .*draw it again"):
        read_figures(folder)


def test_expected_and_actual_cost_stand_side_by_side(tmp_path: Path) -> None:
    run = read_results(write_run(tmp_path / "made"))
    expected = pd.DataFrame([{"dataset": "support", "model": "soden", "seconds": 4.0, "peak_mb": 250.0}])
    text = build(run, tmp_path / "none", published_cells(), expected).page
    cost = text[text.index('<section id="cost">') :]
    row = next(part for part in cost.split("<tr>") if "SUPPORT" in part and ">SODEN<" in part)
    assert re.findall(r">([\d.]+)</td>", row) == ["30", "4", "2", "0.50", "250", "300", "1.0"]


def test_known_trials_cost_nothing_here(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "made")
    trials = pd.read_parquet(folder / "trials.parquet")
    support = trials["dataset"] == "support"
    trials["taken_from"] = pd.Series("another", trials.index).where(support)
    trials.to_parquet(folder / "trials.parquet")
    cost = costs(read_results(folder), NOTHING).set_index(["dataset", "model"])
    assert cost.loc[("support", "soden"), ["known", "trials", "total_seconds"]].tolist() == [30, 0, 0]
    assert cost.loc[("metabric", "soden"), ["known", "trials", "total_seconds"]].tolist() == [0, 30, 60]
    text = build(read_results(folder), tmp_path / "none", published_cells(), NOTHING).page
    here = int((~support).sum())
    assert f"{len(trials) - here} trials of {len(trials)} were known" in text
    assert f"The {here} trials fitted here took {here * 2 / 60:.1f} CPU minutes." in text


def test_the_verb_writes_the_page_and_its_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_run(tmp_path / "results" / "made")
    figures(tmp_path / "figures" / "made")
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    assert command.run(parser.parse_args([str(folder), "page"])) == 0
    out = capsys.readouterr().out
    assert "SUPPORT: 54 published cells: 9 reproduced, 45 no verdict" in out
    assert out.splitlines()[-1] == str(folder / "report.html")
    assert "Caption of headline." in (folder / "report.html").read_text()
    assert len(pd.read_csv(folder / "agreement.csv")) == 251
    assert set(pd.read_csv(folder / "claims.csv")["verdict"]) == {"untested"}
    assert len(pd.read_csv(folder / "rankings.csv")) > 0


def test_a_page_of_the_reference_changes_nothing_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is under git is written by `renew` alone."""
    kept = write_run(tmp_path / "results" / "beyond", n=3)
    monkeypatch.setattr(command, "ROOT", tmp_path.resolve())
    monkeypatch.setattr(command, "figures", lambda run, folder: figures(folder))  # the repository keeps PDFs alone
    before = {path: path.read_bytes() for path in kept.rglob("*") if path.is_file()}
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    with pytest.raises(ValueError, match="belongs to the project: say with --out where the report goes"):
        command.run(parser.parse_args([str(kept)]))
    assert command.run(parser.parse_args([str(kept), "page", "--out", str(tmp_path / "out")])) == 0
    assert "Caption of headline." in (tmp_path / "out" / "report.html").read_text()
    assert {path: path.read_bytes() for path in kept.rglob("*") if path.is_file()} == before


def test_numbers_are_printed_as_in_the_paper() -> None:
    assert mean_and_error(-0.5634, 0.0019) == "−0.563 ±.002"
    assert mean_and_error(0.5, float("nan")) == "0.500 ±–"
    assert mean_and_error(None, None) == "–"
    assert [number(x, sign=True) for x in (0.01, -0.01, 0.0001, -0.0001)] == ["+0.010", "−0.010", "0.000", "0.000"]
    assert [p_value(x) for x in (0.0004, 0.043, float("nan"))] == ["< 0.001", "0.043", "–"]


def test_rows_of_another_run_and_refits_that_differ_are_said_on_the_first_screen(tmp_path: Path) -> None:
    run = read_results(write_run(tmp_path / "made"))
    trials = run.trials.assign(taken_from=np.where(run.trials["model"] == "cox", "reference", None))
    chosen = [replace(row, refit="identical") for row in run.chosen]
    text = build(replace(run, trials=trials, chosen=tuple(chosen)), tmp_path / "none", published_cells(), NOTHING).page
    said = " ".join(text.split())
    assert "20 trials were taken from the run <strong>reference</strong> (Cox); the chosen ones were" in said
    assert "and each gave its row again" in said
    chosen[0] = replace(chosen[0], refit="different: epochs 3 then, 4 now")
    said = " ".join(
        build(replace(run, chosen=tuple(chosen)), tmp_path / "none", published_cells(), NOTHING).page.split()
    )
    assert f"1 chosen network of {len(chosen)} fitted again did not give the row that chose it:" in said
    assert "different: epochs 3 then, 4 now" in said


def test_a_run_without_soden_and_nothing_of_the_paper(tmp_path: Path) -> None:
    """Cox is what others are tested against; no published value, no statement, no SODEN in captions."""
    rng = np.random.default_rng(3)
    keys = [(m, s, g) for m in ("cox", "deepsurv") for s in (1, 2, 3) for g in ("1e-8", "0.2", "0.4")]
    rows = [
        ("flchain", m, s, metric, g, rng.normal(0.6, 0.02)) for m, s, g in keys for metric in ("ctd", "ibll", "ibs")
    ]
    folder, scores = tmp_path / "own", pd.DataFrame(rows, columns=[*KEYS, "value"])
    write_run(folder, datasets=("support",), n=2)
    both = pd.concat([scores.assign(convention=c) for c in ("published", "text")])
    trials = pd.DataFrame(
        [("flchain", m, s, 0, "ok") for m, s, g in keys], columns=["dataset", "model", "split", "trial", "status"]
    ).drop_duplicates()
    planned = pd.DataFrame([("flchain", m, 3) for m in ("cox", "deepsurv")], columns=["dataset", "model", "n_splits"])
    gather(both, trials, "auto", planned, folder, "cox")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"compare_with": "cox"}))
    summary = pd.read_csv(folder / "datasets.csv").assign(dataset="flchain", label="FLCHAIN", convention="text")
    summary.to_csv(folder / "datasets.csv", index=False)
    run = read_results(folder)
    tests = run.tests[(run.tests["metric"] == "ctd") & (run.tests["g_tau"] == "0.4")]
    wide = scores.query("metric == 'ctd' and g_tau == '0.4'").pivot(index="split", columns="model", values="value")
    assert tests["p_value"].item() == pytest.approx(stats.ttest_rel(wide["deepsurv"], wide["cox"]).pvalue)
    command.tables(run, tmp_path / "tables")
    latex = (tmp_path / "tables" / "flchain.tex").read_text()
    assert "baseline model and Cox, under pairwise t-test" in latex
    assert "SODEN" not in latex
    assert "significant difference to Cox" not in latex
    groups = cells.groups(run, judge(run, published_cells()))
    assert [(group["effort"].name, group["run"]) for group in groups] == [("flchain", True)]
    content = page_context.head(run, judge(run, published_cells()), check_claims(run, published_cells()))
    assert content["of_paper"] is False
    assert content["reference"] == "cox"
