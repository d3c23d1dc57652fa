"""The rules behind the statements, one by one, on cells made for them: each part of a condition decides somewhere."""

import math

import pandas as pd
import pytest

from benchmarks.report.claims.check import Evidence, checks_of, statements

Given = dict[tuple[str, ...], tuple[float, bool]]  # (dataset, model, metric, truncation) -> mean, significant


def asked(name: str, given: Given, run: object = None) -> dict[str, bool]:
    """Where a statement looked on each of its data sets, and whether it passed."""
    columns = ["dataset", "model", "metric", "g_tau", "mean", "significant"]
    cells = pd.DataFrame([(*key, *value) for key, value in given.items()], columns=columns).assign(p_value=0.5)
    evidence = Evidence(cells)
    evidence.run = run  # type: ignore[assignment]
    statement = next(s for s in statements() if s.name == name)
    found = [(d, check) for d in statement.sets for check in checks_of(statement, evidence, d)]
    return {f"{d}: {check.where}": check.passed for d, check in found}


def ctd(dataset: str, **means: float | tuple[float, bool]) -> Given:
    """C at the truncation 0.4; significant where a pair says so."""
    pairs = {m: v if isinstance(v, tuple) else (v, False) for m, v in means.items()}
    return {(dataset, m, "ctd", "0.4"): v for m, v in pairs.items()}


@pytest.mark.parametrize(("other", "passed"), [((0.6, True), True), ((0.6, False), False), ((0.8, True), False)])
def test_significantly_better_is_better_and_significant(other: tuple[float, bool], passed: bool) -> None:
    given = ctd("support", soden=0.7, cox=other)
    assert asked("significantly", given) == {"support: Cᵗᵈ at 0.4, SODEN and Cox": passed}
    assert asked("on_every_set", given) == {"support: against Cox": passed}


def test_on_the_large_sets_significance_is_asked_for_at_0_4_alone() -> None:
    cells = ctd("mimic", soden=0.7, cox=(0.6, True)) | ctd("support", soden=0.7, cox=(0.6, True))
    given = cells | {(d, m, metric, "0.2"): v for (d, m, metric, _), v in cells.items()}
    assert set(asked("significantly", given)) == {
        "mimic: Cᵗᵈ at 0.4, SODEN and Cox",
        "support: Cᵗᵈ at 0.4, SODEN and Cox",
        "support: Cᵗᵈ at 0.2, SODEN and Cox",
    }


def test_one_truncation_is_enough_for_every_set() -> None:
    given = ctd("support", soden=0.7, cox=(0.6, True)) | {
        ("support", "soden", "ctd", "0.2"): (0.5, False),
        ("support", "cox", "ctd", "0.2"): (0.6, False),
    }
    assert asked("on_every_set", given) == {"support: against Cox": True}


@pytest.mark.parametrize(
    ("net", "p", "passed"), [(0.7, 0.01, True), (0.7, 0.2, False), (0.5, 0.01, False), (0.7, None, False)]
)
def test_networks_beat_cox_by_more_and_significantly(
    net: float, p: float | None, passed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ctd("support", deepsurv=net, cox=0.6)
    monkeypatch.setattr(Evidence, "p_value", lambda *a: math.nan if p is None else p)
    assert asked("networks_beat_cox", given, run="a run") == {"support: Cᵗᵈ at 0.4, DeepSurv and Cox": passed}
    monkeypatch.undo()  # the paper printed no test against Cox: its means alone are read
    assert asked("networks_beat_cox", given) == {"support: Cᵗᵈ at 0.4, DeepSurv and Cox": net > 0.6}


@pytest.mark.parametrize(
    ("other", "passed"), [((0.6, True), True), ((0.7, True), True), ((0.8, False), True), ((0.8, True), False)]
)
def test_better_or_similar_is_either(other: tuple[float, bool], passed: bool) -> None:
    given = ctd("mimic", soden=0.7, deephit=other) | ctd("support", soden=0.7, deephit=other)
    assert asked("better_or_similar", given) == {"mimic: Cᵗᵈ at 0.4, SODEN and DeepHit": passed}


@pytest.mark.parametrize(
    ("ibll", "ibs", "passed"), [(-0.6, 0.3, True), (-0.6, 0.1, False), (-0.4, 0.3, False), (-0.4, 0.1, False)]
)
def test_the_price_of_ranking_is_paid_in_both_scores(ibll: float, ibs: float, passed: bool) -> None:
    def given(ctd: float) -> Given:
        values = {"deephit": (ctd, ibll, ibs), "soden": (0.7, -0.5, 0.2)}
        triples = {m: zip(("ctd", "ibll", "ibs"), v, strict=True) for m, v in values.items()}
        return {("support", m, metric, "0.4"): (v, False) for m, some in triples.items() for metric, v in some}

    assert asked("price_of_ranking", given(0.8)) == {"support: Cᵗᵈ at 0.4": passed}
    assert asked("price_of_ranking", given(0.7)) == {}  # no better, so no price is due
    for missing in given(0.8):
        assert asked("price_of_ranking", {k: v for k, v in given(0.8).items() if k != missing}) == {}


def test_deephit_is_ranked_among_three_at_least() -> None:
    three = ctd("support", soden=0.7, cox=0.6, deephit=0.8)
    assert asked("deephit_best_c", three) == {"support: Cᵗᵈ at 0.4": True}
    assert asked("deephit_best_c", ctd("support", soden=0.9, cox=0.6, deephit=0.8)) == {"support: Cᵗᵈ at 0.4": False}
    assert asked("deephit_best_c", ctd("support", soden=0.7, deephit=0.8)) == {}
    assert asked("deephit_best_c", ctd("support", soden=0.7, cox=0.6, cox_time=0.6)) == {}


def test_calibration_is_similar_within_a_hundredth_deephit_apart() -> None:
    given: Given = {("support", m, "ibs", "0.4"): (v, False) for m, v in {"soden": 0.19, "cox": 0.199}.items()}
    assert asked("similarly_calibrated", given | {("support", "deephit", "ibs", "0.4"): (0.4, False)}) == {
        "support: IBS at 0.4": True
    }
    assert asked("similarly_calibrated", given | {("support", "cox_time", "ibs", "0.4"): (0.4, False)}) == {
        "support: IBS at 0.4": False
    }


PAIRS = [  # rule, data set, the two models it compares
    ("beats_continuous", "support", "soden", "cox"),
    ("significantly", "support", "soden", "cox"),
    ("on_every_set", "support", "soden", "cox"),
    ("networks_beat_cox", "support", "deepsurv", "cox"),
    ("discrete_are_strong", "support", "deephit", "cox"),
    ("better_or_similar", "mimic", "soden", "deephit"),
]


@pytest.mark.parametrize(("rule", "dataset", "one", "two"), PAIRS, ids=str)
def test_a_comparison_needs_both_sides(rule: str, dataset: str, one: str, two: str) -> None:
    assert len(asked(rule, ctd(dataset, **{one: 0.7, two: 0.6}))) == 1
    assert asked(rule, ctd(dataset, **{one: 0.7})) == asked(rule, ctd(dataset, **{two: 0.6})) == {}


def test_discrete_models_are_strong_where_above_and_truncations_near_where_the_same() -> None:
    """Both rules with a case that passes and one that does not."""
    for value, passed in ((0.7, True), (0.6, False), (0.5, False)):
        given = ctd("support", deephit=value, cox=0.6)
        assert asked("discrete_are_strong", given) == {"support: Cᵗᵈ at 0.4, DeepHit and Cox": passed}
    for value, passed in ((0.601, True), (0.62, False), (0.58, False)):
        levels: Given = {("mimic", "cox", "ctd", g): (v, False) for g, v in {"1e-8": 0.6, "0.2": value}.items()}
        assert asked("nearly_untruncated", levels) == {"mimic: Cox, Cᵗᵈ at 1e-8 and 0.2": passed}


def test_a_comparison_of_sets_or_truncations_needs_both_as_well() -> None:
    both = ctd("mimic", deephit=0.7, soden=0.69) | ctd("support", deephit=0.7, soden=0.65)
    where = "mimic: DeepHit, here and on SUPPORT"
    assert asked("advantage_diminishes", both) == {where: True}
    for missing in both:
        assert asked("advantage_diminishes", {k: v for k, v in both.items() if k != missing}) == {}
    levels: Given = {
        ("mimic", "cox", "ctd", g): (v, False) for g, v in {"1e-8": 0.61, "0.2": 0.611, "0.4": 0.6}.items()
    }
    assert asked("tail_is_worse", levels) == {
        "mimic: Cox, Cᵗᵈ at 1e-8 and 0.4": False,
        "mimic: Cox, Cᵗᵈ at 0.2 and 0.4": False,
    }
    assert asked("nearly_untruncated", levels) == {"mimic: Cox, Cᵗᵈ at 1e-8 and 0.2": True}
    for g in ("1e-8", "0.2"):
        without = {k: v for k, v in levels.items() if k[3] != g}
        assert asked("nearly_untruncated", without) == {}
        assert len(asked("tail_is_worse", without)) == 1
    assert asked("tail_is_worse", {k: v for k, v in levels.items() if k[3] != "0.4"}) == {}
