"""The rules behind the statements, one by one, on cells made for them: each part of a condition decides somewhere."""

import pandas as pd
import pytest

from benchmarks.report.claims import comparison
from benchmarks.report.claims.check import Evidence, Rule

Given = dict[tuple[str, ...], tuple[float, bool]]  # (dataset, model, metric, truncation) -> mean, significant


def asked(rule: Rule, given: Given, run: object = None) -> dict[str, bool]:
    """Where the rule looked, and whether it passed."""
    columns = ["dataset", "model", "metric", "g_tau", "mean", "significant"]
    cells = pd.DataFrame([(*key, *value) for key, value in given.items()], columns=columns).assign(p_value=0.5)
    evidence = Evidence(cells)
    evidence.run = run  # type: ignore[assignment]
    return {check.where: check.passed for check in rule(evidence)}


def ctd(dataset: str, **means: float | tuple[float, bool]) -> Given:
    """C at the truncation 0.4; significant where a pair says so."""
    pairs = {m: v if isinstance(v, tuple) else (v, False) for m, v in means.items()}
    return {(dataset, m, "ctd", "0.4"): v for m, v in pairs.items()}


@pytest.mark.parametrize(("other", "passed"), [((0.6, True), True), ((0.6, False), False), ((0.8, True), False)])
def test_significantly_better_is_better_and_significant(other: tuple[float, bool], passed: bool) -> None:
    given = ctd("support", soden=0.7, cox=other)
    assert asked(comparison.significantly, given) == {"SUPPORT 0.4 vs Cox": passed}
    assert asked(comparison.on_every_set, given) == {"SUPPORT vs Cox": passed}


def test_on_the_large_sets_significance_is_asked_for_at_0_4_alone() -> None:
    cells = ctd("mimic", soden=0.7, cox=(0.6, True)) | ctd("support", soden=0.7, cox=(0.6, True))
    given = cells | {(d, m, metric, "0.2"): v for (d, m, metric, _), v in cells.items()}
    assert set(asked(comparison.significantly, given)) == {
        "MIMIC 0.4 vs Cox",
        "SUPPORT 0.4 vs Cox",
        "SUPPORT 0.2 vs Cox",
    }


def test_one_truncation_is_enough_for_every_set() -> None:
    given = ctd("support", soden=0.7, cox=(0.6, True)) | {
        ("support", "soden", "ctd", "0.2"): (0.5, False),
        ("support", "cox", "ctd", "0.2"): (0.6, False),
    }
    assert asked(comparison.on_every_set, given) == {"SUPPORT vs Cox": True}


@pytest.mark.parametrize(
    ("net", "p", "passed"), [(0.7, 0.01, True), (0.7, 0.2, False), (0.5, 0.01, False), (0.7, None, False)]
)
def test_networks_beat_cox_by_more_and_significantly(
    net: float, p: float | None, passed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ctd("support", deepsurv=net, cox=0.6)
    monkeypatch.setattr(Evidence, "p_against_cox", lambda *a: p)
    assert asked(comparison.networks_beat_cox, given, run="a run") == {"SUPPORT 0.4 DeepSurv": passed}
    # The paper printed no test against Cox: its means alone are read.
    assert asked(comparison.networks_beat_cox, given) == {"SUPPORT 0.4 DeepSurv": net > 0.6}


@pytest.mark.parametrize(
    ("other", "passed"), [((0.6, True), True), ((0.7, True), True), ((0.8, False), True), ((0.8, True), False)]
)
def test_better_or_similar_is_either(other: tuple[float, bool], passed: bool) -> None:
    given = ctd("mimic", soden=0.7, deephit=other) | ctd("support", soden=0.7, deephit=other)
    assert asked(comparison.better_or_similar, given) == {"MIMIC 0.4 vs DeepHit": passed}


@pytest.mark.parametrize(
    ("ibll", "ibs", "passed"), [(-0.6, 0.3, True), (-0.6, 0.1, False), (-0.4, 0.3, False), (-0.4, 0.1, False)]
)
def test_the_price_of_ranking_is_paid_in_both_scores(ibll: float, ibs: float, passed: bool) -> None:
    def given(ctd: float) -> Given:
        values = {"deephit": (ctd, ibll, ibs), "soden": (0.7, -0.5, 0.2)}
        triples = {m: zip(("ctd", "ibll", "ibs"), v, strict=True) for m, v in values.items()}
        return {("support", m, metric, "0.4"): (v, False) for m, some in triples.items() for metric, v in some}

    assert asked(comparison.price_of_ranking, given(0.8)) == {"SUPPORT 0.4": passed}
    assert asked(comparison.price_of_ranking, given(0.7)) == {}  # no better, so no price is due
    for missing in given(0.8):
        assert asked(comparison.price_of_ranking, {k: v for k, v in given(0.8).items() if k != missing}) == {}


def test_deephit_is_ranked_among_three_at_least() -> None:
    three = ctd("support", soden=0.7, cox=0.6, deephit=0.8)
    assert asked(comparison.deephit_best_c, three) == {"SUPPORT 0.4 ctd": True}
    assert asked(comparison.deephit_best_c, ctd("support", soden=0.9, cox=0.6, deephit=0.8)) == {
        "SUPPORT 0.4 ctd": False
    }
    assert asked(comparison.deephit_best_c, ctd("support", soden=0.7, deephit=0.8)) == {}
    assert asked(comparison.deephit_best_c, ctd("support", soden=0.7, cox=0.6, cox_time=0.6)) == {}


def test_calibration_is_similar_within_a_hundredth_deephit_apart() -> None:
    given: Given = {("support", m, "ibs", "0.4"): (v, False) for m, v in {"soden": 0.19, "cox": 0.199}.items()}
    assert asked(comparison.similarly_calibrated, given | {("support", "deephit", "ibs", "0.4"): (0.4, False)}) == {
        "SUPPORT 0.4": True
    }
    assert asked(comparison.similarly_calibrated, given | {("support", "cox_time", "ibs", "0.4"): (0.4, False)}) == {
        "SUPPORT 0.4": False
    }


PAIRS = [  # rule, data set, the two models it compares
    (comparison.beats_continuous, "support", "soden", "cox"),
    (comparison.significantly, "support", "soden", "cox"),
    (comparison.on_every_set, "support", "soden", "cox"),
    (comparison.networks_beat_cox, "support", "deepsurv", "cox"),
    (comparison.discrete_are_strong, "support", "deephit", "cox"),
    (comparison.better_or_similar, "mimic", "soden", "deephit"),
]


@pytest.mark.parametrize(("rule", "dataset", "one", "two"), PAIRS, ids=lambda v: getattr(v, "__name__", str(v)))
def test_a_comparison_needs_both_sides(rule: Rule, dataset: str, one: str, two: str) -> None:
    assert len(asked(rule, ctd(dataset, **{one: 0.7, two: 0.6}))) == 1
    assert asked(rule, ctd(dataset, **{one: 0.7})) == asked(rule, ctd(dataset, **{two: 0.6})) == {}


def test_discrete_models_are_strong_where_above_and_truncations_near_where_the_same() -> None:
    """Both rules with a case that passes and one that does not."""
    for value, passed in ((0.7, True), (0.6, False), (0.5, False)):
        given = ctd("support", deephit=value, cox=0.6)
        assert asked(comparison.discrete_are_strong, given) == {"SUPPORT 0.4 DeepHit vs Cox": passed}
    for value, passed in ((0.601, True), (0.62, False), (0.58, False)):
        levels: Given = {("mimic", "cox", "ctd", g): (v, False) for g, v in {"1e-8": 0.6, "0.2": value}.items()}
        assert asked(comparison.nearly_untruncated, levels) == {"MIMIC Cox": passed}


def test_a_comparison_of_sets_or_truncations_needs_both_as_well() -> None:
    both = ctd("mimic", deephit=0.7, soden=0.69) | ctd("support", deephit=0.7, soden=0.65)
    where = "DeepHit, MIMIC against SUPPORT"
    assert asked(comparison.advantage_diminishes, both) == {where: True}
    for missing in both:
        assert asked(comparison.advantage_diminishes, {k: v for k, v in both.items() if k != missing}) == {}
    levels: Given = {
        ("mimic", "cox", "ctd", g): (v, False) for g, v in {"1e-8": 0.61, "0.2": 0.611, "0.4": 0.6}.items()
    }
    assert asked(comparison.tail_is_worse, levels) == {"MIMIC Cox 1e-8": False, "MIMIC Cox 0.2": False}
    assert asked(comparison.nearly_untruncated, levels) == {"MIMIC Cox": True}
    for g in ("1e-8", "0.2"):
        without = {k: v for k, v in levels.items() if k[3] != g}
        assert asked(comparison.nearly_untruncated, without) == {}
        assert len(asked(comparison.tail_is_worse, without)) == 1
    assert asked(comparison.tail_is_worse, {k: v for k, v in levels.items() if k[3] != "0.4"}) == {}
