"""The page's own arithmetic, run by QuickJS, against the Python that made the tables: every cell to 1e-12."""

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import quickjs
from conftest import ROOT
from scipy import stats

from benchmarks.report import cells, html
from benchmarks.report.agreement import judge
from benchmarks.results.folder import read_results
from benchmarks.results.published import published_cells
from benchmarks.results.statistics import TEST_TO_TRAIN, paired_t, summarise

SCRIPT = Path(html.__file__).with_name("template") / "recompute.js"
TOLERANCE = 1e-12  # absolute


@pytest.fixture(scope="module")
def script() -> quickjs.Context:
    context = quickjs.Context()
    context.eval(SCRIPT.read_text())
    return context


def call(script: quickjs.Context, function: str, *arguments: Any) -> Any:
    """NaN and infinity do not survive JSON: they come back as text."""
    given = ", ".join(json.dumps(argument, allow_nan=False) for argument in arguments)
    odd = "(k, v) => (typeof v === 'number' && !Number.isFinite(v) ? String(v) : v)"
    found = json.loads(script.eval(f"JSON.stringify({function}({given}), {odd})"))

    def number(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: number(v) for name, v in value.items()}
        return float(value) if isinstance(value, str) else value

    return [number(v) for v in found] if isinstance(found, list) else number(found)


def test_students_t_in_closed_form(script: quickjs.Context) -> None:
    for degrees, t in itertools.product(range(1, 40), (0.0, 1e-3, 0.1, 0.7, 1.0, 2.2621571628540993, 9.0, 400.0)):
        assert call(script, "twoSided", t, degrees) == pytest.approx(2 * stats.t.sf(t, degrees), abs=TOLERANCE)
    assert script.eval("twoSided(Infinity, 9)") == 0  # all pairs differ by the same amount
    assert math.isnan(script.eval("twoSided(NaN, 9)"))


def test_the_cases_at_the_edge_are_those_of_python(script: quickjs.Context) -> None:
    for differences in ([], [0.25], [0.0, 0.0, 0.0], [0.5, 0.5, 0.5], [0.1, -0.2], [1e-9, 2e-9, -1e-9]):
        ours = call(script, "pairedT", differences, TEST_TO_TRAIN)
        _, _, _, plain, corrected = paired_t(np.array(differences))
        assert (ours["plain"], ours["corrected"]) == pytest.approx((plain, corrected), abs=TOLERANCE, nan_ok=True)
    assert call(script, "summary", [None, 0.5], [0.25, None], TEST_TO_TRAIN) == pytest.approx(
        {"n": 1, "mean": 0.5, "standardError": math.nan, "plain": math.nan, "corrected": math.nan}, nan_ok=True
    )


@pytest.mark.parametrize("name", ["reference", "beyond"])
@pytest.mark.parametrize("without", [(), (1,), (2, 5, 9)])
def test_every_cell_is_what_python_makes_of_the_same_scores(
    name: str, without: tuple[int, ...], script: quickjs.Context
) -> None:
    run = read_results(ROOT / "results" / name)
    content = json.loads(cells.as_script(cells.contents(run, judge(run, published_cells()))))
    compared = 0
    for convention in ("published", "text"):
        kept = run.conventions[
            (run.conventions["convention"] == convention) & ~run.conventions["split"].isin(without)
        ].drop(columns="convention")
        made = summarise(kept).to_dict("records")
        columns: dict[tuple[str, ...], list[tuple[str, int]]] = {}
        for row in made:
            key = "/".join((row["dataset"], row["model"], row["metric"], row["g_tau"]))
            if key not in content["scores"] or not row["n_splits"]:
                continue
            splits = content["splits"][row["dataset"]]
            values, reference = (
                [v for v, split in zip(found[convention], splits, strict=True) if split not in without]
                if (found := content["scores"].get("/".join((row["dataset"], model, row["metric"], row["g_tau"]))))
                else None
                for model in (row["model"], content["reference"])
            )
            own = None if row["model"] == content["reference"] else reference
            ours = call(script, "summary", values, own, content["testToTrain"])
            python = {"mean": "mean", "standardError": "standard_error", "plain": "p_value", "corrected": "p_corrected"}
            for here, there in python.items():
                expected = math.nan if pd.isna(row[there]) else row[there]
                assert ours[here] == pytest.approx(expected, abs=TOLERANCE, nan_ok=True), (key, here)
            assert ours["n"] == row["n_splits"]
            compared += 1
            columns.setdefault((row["table"], row["dataset"], row["metric"], row["g_tau"]), []).append(
                (row["mark"], ours["mean"])
            )
        for (table, _, metric, _), entries in columns.items():
            ranks = call(script, "ranks", [mean for _, mean in entries], content["metrics"][metric]["higher"])
            if metric != "nll" or table != "main":
                marks = [{1: "best", 2: "second"}.get(rank, "") for rank in ranks]
                assert marks == [mark for mark, _ in entries]
    # The reference has 132 cells in the paper's tables; SODEN's C stands in two of them.
    assert compared >= 2 * (132 if name == "reference" else 500)
