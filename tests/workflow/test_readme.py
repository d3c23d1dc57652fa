"""The README's numbers are those of the reference run, its commands exist, its files are there."""

import re

import pandas as pd
import pytest
from conftest import ROOT

from benchmarks.__main__ import main, verbs
from benchmarks.results.counting import counted
from benchmarks.results.folder import read_results
from benchmarks.results.names import MODELS
from benchmarks.results.ranks import rankings
from benchmarks.study import plan
from benchmarks.study.config import resolve

README = (ROOT / "README.md").read_text()
REFERENCE = ROOT / "results" / "reference"
COLUMNS = [(dataset, metric) for dataset in ("support", "metabric") for metric in ("ctd", "ibs", "nll")]
NAMES = {label: name for name, label in MODELS.items()}


def table_rows() -> list[list[str]]:
    inside = README.split("<!-- reference -->")[1].split("<!-- /reference -->")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in inside.splitlines() if line.startswith("|")]
    return [row for row in rows if row[0] in NAMES]


def test_the_headline_table_is_the_reference_run_beside_the_paper() -> None:
    cells = pd.read_csv(REFERENCE / "agreement.csv", dtype={"g_tau": str}).fillna({"g_tau": ""})
    rows = table_rows()
    assert [NAMES[row[0]] for row in rows] == list(MODELS)
    for name, *shown in rows:
        assert len(shown) == len(COLUMNS)
        for (dataset, metric), text in zip(COLUMNS, shown, strict=True):
            level = "" if metric == "nll" else "1e-8"
            key = (cells["model"] == NAMES[name]) & (cells["dataset"] == dataset)
            found = cells[key & (cells["metric"] == metric) & (cells["g_tau"] == level)]
            if not text:
                assert found.empty, (name, dataset, metric)
                continue
            cell = found.iloc[0]
            assert text == f"{cell['mean']:.3f} ({cell['paper_mean']:.3f})".replace("0.", "."), (name, dataset, metric)


def test_the_counts_in_the_text_are_those_of_the_reference() -> None:
    verdicts = pd.read_csv(REFERENCE / "agreement.csv")["verdict"].value_counts()
    compared = sum(verdicts.get(name, 0) for name in ("agrees", "drifts", "differs"))
    said = f"Of the {compared} published cells of the two sets {verdicts['agrees']} agree"
    assert said in " ".join(README.split())
    claims = pd.read_csv(REFERENCE / "claims.csv")["verdict"].value_counts()
    assert f"{claims['holds']} hold" in README


def test_what_is_said_of_other_models_is_what_was_tested() -> None:
    said = " ".join(README.split("## Beyond the paper")[1].split("\n## ")[0].split())
    run = read_results(ROOT / "results" / "beyond")
    assert f"{len(run.trials):,} trials, of which {run.trials['taken_from'].isna().sum():,} were run for it" in said
    found = {ranking.metric: ranking for ranking in rankings(run.cells)[0]}
    shown = [f"{metric_label} {found[m].p_contenders:.2g}" for m, metric_label in (("ibll", "IBLL"), ("ibs", "IBS"))]
    assert (
        f"(C^td p = {found['ctd'].p_contenders:.2g}, {', '.join(shown)}, NLL {found['nll'].p_contenders:.2g})" in said
    )
    assert all(found[m].p_contenders > 0.05 for m in found)
    for metric in ("ctd", "ibll", "ibs"):
        ranks = found[metric].mean_ranks
        assert max(ranks["random_forest"], ranks["sumo_net"]) < ranks["soden"]
    tests = counted(run.scores).query("table == 'beyond'")
    both = tests[tests["p_corrected_holm"] < 0.05]
    plain = (tests["p_value"] < 0.05).sum()
    assert f"of {len(tests)} tests against SODEN {plain} are significant plainly, {len(both)} once corrected" in said
    assert (both["model"] == "kaplan_meier").sum() == 9
    assert (both["gain"] < 0).all()
    others = both[both["model"] != "kaplan_meier"]
    assert set(zip(others["dataset"], others["metric"], others["model"], strict=True)) == {
        ("support", "nll", "pc_hazard"),
        ("support", "nll", "soden_cox"),
    }


def test_the_shown_output_is_what_explain_prints(capsys: pytest.CaptureFixture[str]) -> None:
    shown = README.split("$ python -m benchmarks explain ")[1].split("```")[0].splitlines()
    assert main(["explain", *shown[0].split()]) == 0
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert len(shown) == 6
    assert shown[1:4] == printed[:3]
    assert shown[5] in printed


def test_every_command_is_a_verb() -> None:
    used = set(re.findall(r"python -m benchmarks ([a-z]+)", README))
    assert used
    assert used <= set(verbs())


def test_the_quick_tier_has_as_many_trials_and_data_sets_as_said() -> None:
    config = resolve({"tier": "quick"})
    n = sum(len(chunk.trials) for chunk in plan.plan(config))
    assert f"{n}/{n} trials." in README
    assert f"{len(config['models'])} models, {len(config['datasets'])} data sets" in README


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#]+)\)", README))))
def test_every_link_inside_the_project_leads_somewhere(target: str) -> None:
    assert target.startswith("https://") or (ROOT / target).exists()
