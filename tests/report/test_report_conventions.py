"""Conventions and deviations: ranks and Kendall's tau in closed form, effects from the rows they come from."""

from pathlib import Path

import pandas as pd
import pytest
from support.run_folder import write_run

from benchmarks.report.conventions import comparisons, effect, rankings, summary
from benchmarks.report.deviations import deviations
from benchmarks.results.folder import read_results

MODELS = ("cox", "deepsurv", "deephit", "soden")
COLUMNS = ["dataset", "convention", "metric", "g_tau", "model", "split", "value"]


def rows(values: dict[tuple[str, str, str], tuple[float, ...]]) -> pd.DataFrame:
    """Two splits, 0.01 below and above the given mean of each model."""
    out = [
        ("support", *key, model, split, mean + step)
        for key, means in values.items()
        for model, mean in zip(MODELS, means, strict=True)
        for split, step in ((1, -0.01), (2, 0.01))
    ]
    return pd.DataFrame(out, columns=COLUMNS)


def test_ranks_and_kendalls_tau() -> None:
    """One swap of neighbours among four models: tau = (5 - 1) / 6; the reverse order: -1."""
    found = comparisons(
        rows(
            {
                ("published", "ctd", "1e-8"): (0.60, 0.61, 0.62, 0.63),
                ("text", "ctd", "1e-8"): (0.60, 0.62, 0.61, 0.63),
                ("published", "antolini", ""): (0.63, 0.62, 0.61, 0.60),
            }
        )
    )
    assert [c.family for c in found] == ["C-index"]
    base, swapped, reversed_ = found[0].rows
    assert (base.tau, swapped.tau, reversed_.tau) == pytest.approx((1, 4 / 6, -1))
    assert (base.label, swapped.label, reversed_.label) == ("published Cᵗᵈ 1e-8", "text Cᵗᵈ 1e-8", "Antolini C")
    assert base.ranks == {"cox": 4, "deepsurv": 3, "deephit": 2, "soden": 1}
    assert (swapped.same_order, swapped.same_best) == (False, True)
    assert (reversed_.best, reversed_.same_best) == (["cox"], False)
    assert summary(found[0]) == (
        "Against published Cᵗᵈ 1e-8, the order of the models changes under 2 of 2 other conventions and the best model "
        "under 1. The convention moves one model by up to 0.030; the models differ among themselves by 0.030."
    )


def test_lower_brier_scores_rank_higher_and_unprinted_differences_tie() -> None:
    found = comparisons(rows({("published", "ibs", "0.2"): (0.20, 0.19, 0.1901, 0.21)}))
    assert found[0].rows[0].ranks == {"cox": 3, "deepsurv": 1, "deephit": 1, "soden": 4}


def test_rankings_are_one_row_per_convention_and_model(tmp_path: Path) -> None:
    run = read_results(write_run(tmp_path / "made"))
    table = rankings(comparisons(run.conventions))
    assert not table.duplicated(["dataset", "convention", "metric", "g_tau", "model"]).any()
    best = table[(table["rank"] == 1) & (table["convention"] == "published") & (table["metric"] == "ctd")]
    assert set(best["model"]) == {"deephit"}  # as printed in the paper's tables of both data sets


def test_a_run_without_conventions_has_none() -> None:
    empty = pd.DataFrame(columns=COLUMNS)
    assert comparisons(empty) == []
    assert effect(empty, "ibs") == []


def test_effects_are_measured_on_the_run(tmp_path: Path) -> None:
    run = read_results(write_run(tmp_path / "made"))  # its text scores are 0.01 above its published ones
    found = {d.topic: d for d in deviations(run)}
    alone, _, together = found["Grid of IBS and IBLL"].effect.partition("published")
    assert alone.startswith("alone, on the authors' splits:\nMETABRIC")
    assert together.splitlines() == [
        " − text, mean and largest:",
        *(f"{name} {metric} 0.0100 (largest 0.0100)" for metric in ("IBS", "IBLL") for name in ("SUPPORT", "METABRIC")),
    ]
    assert found["METABRIC's unit of time"].effect == "0.44 printed is 13.4 years"  # 0.44 * 365.25 / 12
    assert found["ODE solver"].effect.endswith("median 1.0e-04, largest 1.0e-04")
    tests = run.tests
    plain, corrected = (int((tests[name] < 0.05).sum()) for name in ("p_value", "p_corrected"))
    assert plain > corrected > 0
    assert found["t-test"].effect == (
        f"{plain} of {len(tests)} differences from SODEN are significant, {corrected} with the corrected variance"
    )


def test_effects_on_invented_data_are_not_shown(tmp_path: Path) -> None:
    run = read_results(write_run(tmp_path / "made", ("support", "mimic"), n=5, marks={"mimic": "synthetic"}))
    effects = "".join(d.effect for d in deviations(run) if not d.topic.startswith("MIMIC"))
    assert "SUPPORT IBS 0.0100" in effects
    assert "MIMIC" not in effects


def test_every_disagreement_of_the_protocol_is_listed(tmp_path: Path) -> None:
    topics = [d.topic for d in deviations(read_results(write_run(tmp_path / "made")))]
    for word in ("Grid", "METABRIC", "SUPPORT", "Split", "Direction", "Censoring", "Momentum", "clipping", "Widths",
                 "Time zero", "NLL", "t-test", "MIMIC"):  # fmt: skip
        assert any(word in topic for topic in topics), word


def test_searches_of_their_own_are_told_with_their_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without truncation, the paper's metrics, one line per model; what nobody measured is said to be unmeasured."""
    columns = "change,dataset,model,metric,g_tau,without,effect,standard_error,splits\n"
    lines = [f"momentum used,metabric,deephit,{m},{g},0.6,0.0123,0.004,10" for m, g in
             (("ctd", "1e-8"), ("ctd", "0.4"), ("ibs", "1e-8"), ("dcal", ""))]  # fmt: skip
    (tmp_path / "switches.csv").write_text(columns + "\n".join(lines))
    monkeypatch.setattr("benchmarks.report.deviations.SWITCHES", tmp_path / "switches.csv")
    found = {d.topic: d for d in deviations(read_results(write_run(tmp_path / "made")))}
    assert found["Momentum"].effect.splitlines() == [
        "10 splits, 10 trials each, effect ± standard error:",
        "METABRIC DeepHit: Cᵗᵈ +0.0123 ± 0.0040, IBS +0.0123 ± 0.0040",
    ]
    assert found["Widths"].effect == "not measured here: python -m benchmarks.studies switches"
