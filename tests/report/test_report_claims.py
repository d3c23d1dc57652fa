"""The statements: what the paper says of itself, what a changed number does, and what is never counted."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.run_folder import simulation, write_run

from benchmarks.report.claims import relations
from benchmarks.report.claims import simulation as simulation_rules
from benchmarks.report.claims.check import Check, check_claims, statements, verdict
from benchmarks.results.folder import read_results
from benchmarks.results.published import published_cells
from benchmarks.results.replications import STEPS
from benchmarks.study.simulation import TIMES

EVERYTHING = ("mimic_seq", "mimic", "support", "metabric")


def judged(folder: Path, *replications: Path) -> pd.DataFrame:
    others = [read_results(path) for path in replications]
    return check_claims(read_results(folder), published_cells(), others).set_index(["claim", "dataset"])


def test_the_paper_s_statements_in_its_own_tables(tmp_path: Path) -> None:
    """The expected verdicts are the paper's own words; the exceptions were found by hand in its tables.

    The text speaks of most settings over all sets, and single sets may differ: DeepSurv is below Cox on METABRIC,
    Nnet-Survival below DeepSurv and Cox-Time on MIMIC-SEQ, Cox worse calibrated than DeepHit on MIMIC at two
    truncations, SODEN-PH the worst of three on METABRIC. Nnet-Survival is behind SODEN by .003 on MIMIC and on SUPPORT.
    """
    paper = judged(write_run(tmp_path / "made"))["paper"]
    tables = paper[paper != "not in its tables"]
    assert len(set(tables.index.get_level_values("claim"))) == 18
    assert set(tables[tables == "fails"].index) == {
        ("networks_beat_cox", "metabric"),
        ("discrete_are_strong", "mimic_seq"),
        ("advantage_diminishes", "mimic"),
        ("deephit_worst_calibrated", "mimic"),
        ("linear_is_worst", "metabric"),
    }


def test_a_full_run_equal_to_the_paper_gets_the_verdicts_of_one_search(tmp_path: Path) -> None:
    claims = judged(write_run(tmp_path / "made", EVERYTHING, trials=100))
    for name in ("beats_continuous", "deephit_best_c", "like_counterparts", "tail_is_worse"):
        mine = claims.loc[name]
        # The paper's other sets have five splits; support and metabric need ten, and have them here.
        assert set(mine["verdict"]) == {"held in one search"}, name
        assert set(mine["paper"]) == {"holds"}
    assert claims.loc[("log_rank", "support"), ["passed", "checks"]].tolist() == [10, 10]


@pytest.mark.parametrize(
    ("n", "trials", "why"), [(10, 3, "3 trials instead of 100"), (2, 100, "2 splits instead of 10")]
)
def test_a_smaller_run_gets_no_verdicts(n: int, trials: int, why: str, tmp_path: Path) -> None:
    claims = judged(write_run(tmp_path / "made", n=n, trials=trials))
    assert set(claims["verdict"]) == {"untested"}
    row = claims.loc[("beats_continuous", "support")]
    assert (row["why"], row["checks"]) == (why, 9)


def test_a_statement_that_fails_in_one_place_says_where(tmp_path: Path) -> None:
    claims = judged(write_run(tmp_path / "made", shift={("support", "cox", "ctd", "0.2"): 0.05}, trials=100))
    claim = claims.loc[("beats_continuous", "support")]
    assert claim["verdict"] == "not held in one search"
    assert claim["fails_at"] == "Cᵗᵈ at 0.2, SODEN and Cox: 0.627 and 0.646"
    assert (claim["passed"], claim["checks"]) == (8, 9)
    assert claims.loc[("beats_continuous", "metabric"), "verdict"] == "held in one search"
    assert tuple(claims.loc[("beats_continuous", "mimic"), ["verdict", "why"]]) == ("untested", "not run")


def test_synthetic_data_support_no_statement(tmp_path: Path) -> None:
    claims = judged(
        write_run(tmp_path / "made", EVERYTHING[:2], marks=dict.fromkeys(EVERYTHING[:2], "demo"), trials=100)
    )
    assert set(claims["verdict"]) == {"untested"}
    assert claims.loc[("beats_continuous", "mimic"), "why"] == "demo data"


def test_replications_are_counted_set_by_set(tmp_path: Path) -> None:
    """SODEN behind Cox on SUPPORT in four of five, on METABRIC in none; the run itself is not among them."""
    behind = {("support", "cox", "ctd", "0.2"): 0.05}
    kept = [write_run(tmp_path / str(k), shift=behind if k else {}, trials=100) for k in range(2)]
    others = [kept[0], *4 * [kept[1]]]
    claims = judged(write_run(tmp_path / "made", trials=100), *others)
    assert tuple(claims.loc[("beats_continuous", "support"), ["verdict", "held", "of"]]) == ("fails", 1, 5)
    assert tuple(claims.loc[("beats_continuous", "metabric"), ["verdict", "held", "of"]]) == ("holds", 5, 5)
    # With fewer replications the run's own search is shown, and called one search.
    claims = judged(write_run(tmp_path / "again", trials=100), *others[:4])
    assert claims.loc[("beats_continuous", "support"), "verdict"] == "held in one search"
    # A small run beside five replications still says nothing.
    assert set(judged(write_run(tmp_path / "small"), *others)["verdict"]) == {"untested"}


@pytest.mark.parametrize(
    ("held", "of", "word"),
    [
        (5, 5, "holds"), (4, 5, "holds"), (3, 5, "undecided"), (2, 5, "undecided"), (1, 5, "fails"), (0, 5, "fails"),
        (2, 3, "holds"), (1, 3, "fails"), (2, 2, "holds"), (1, 2, "undecided"), (0, 2, "fails"),
        (1, 1, "held in one search"), (0, 1, "not held in one search"), (0, 0, "untested"),
    ],
)  # fmt: skip
def test_verdicts_count_replications(held: int, of: int, word: str) -> None:
    assert verdict(held, of) == word


@pytest.mark.parametrize(
    ("passed", "of", "share", "holds"),
    [
        (4, 4, 1.0, True), (3, 4, 1.0, False), (9, 10, 0.9, True),
        (8, 10, 0.9, False), (3, 4, "most", True), (2, 4, "most", False),
    ],
)  # fmt: skip
def test_the_words_say_which_share_must_pass(passed: int, of: int, share: float | str, holds: bool) -> None:
    checks = [Check("", k < passed, "") for k in range(of)]
    assert replace(statements()[0], share=share).holds(checks) is holds


def test_interpolation_is_tested_where_step_functions_were_scored(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "made", trials=100)
    key = ("interpolation_helps", "support")
    assert tuple(judged(folder).loc[key, ["verdict", "why"]]) == (
        "untested",
        "no model was scored without interpolation",
    )
    scores = pd.read_csv(folder / "scores.csv", dtype={"g_tau": str}).query("model in ['nnet_survival', 'deephit']")
    worse = scores.assign(
        value=scores["value"] + np.where(scores["metric"] == "ibs", 0.01, -0.01) * (scores["split"] + 1)
    )
    worse.to_csv(folder / STEPS, index=False)
    row = judged(folder).loc[key]
    assert tuple(row[["verdict", "passed", "checks"]]) == ("held in one search", 18, 18)
    scores.to_csv(folder / STEPS, index=False)  # no difference at all
    assert judged(folder).loc[key, "verdict"] == "not held in one search"


def curves(late: float = 0.0) -> dict[str, np.ndarray]:
    """SODEN: the truth, off after t = 1.5; DeepHit: a step hazard, and its groups `late` closer after t = 1.5."""
    t = TIMES
    true = np.stack([np.exp(-2 * t), np.exp(-2 * t**2)])
    hazard = np.stack([np.full_like(t, 2.0), 4 * t]) + (t > 1.5)
    survival = true * (1 + 0.1 * (t > 1.5))
    deephit = true.copy()
    deephit[0, t > 1.5] -= late
    steps = np.stack([np.full_like(t, 2.0), np.floor(t * 5) / 5 * 4 + 0.4])
    steps[:, t > 1.5] = np.where(np.floor(t[t > 1.5] * 5) % 2 == 0, 0.0, 9.0)
    return {"soden": survival, "hazard": hazard, "deephit": deephit, "steps": steps}


def simulated(folder: Path, repetitions: int = 10, n: int = 10_000, **change: np.ndarray) -> pd.DataFrame:
    run = read_results(write_run(folder))
    runs = tuple(simulation(k, n=n, **{**curves(late=0.02), **change}) for k in range(1, repetitions + 1))
    return (
        check_claims(replace(run, simulations=runs), published_cells())
        .set_index("claim")
        .query("dataset == 'simulated'")
    )


def test_the_simulation_s_statements_hold_for_curves_made_to_fit_them(tmp_path: Path) -> None:
    section = simulated(tmp_path / "made")
    assert len(section) == 8
    assert set(section["section"].str[0]) == {"4"}
    assert set(section["verdict"]) == {"holds"}, section["fails_at"].to_dict()
    assert set(section["of"]) == {10}
    assert "t = 1.000" in section.loc["crossing", "evidence"]


@pytest.mark.parametrize("small", [{"repetitions": 2}, {"n": 2000}])
def test_a_small_simulation_gets_no_verdict(small: dict[str, int], tmp_path: Path) -> None:
    section = simulated(tmp_path / "made", **small)
    assert set(section["verdict"]) == {"untested"}
    repetitions, n = small.get("repetitions", 10), small.get("n", 10_000)
    assert set(section["why"]) == {f"{repetitions} repetitions of {n:,} subjects"}


@pytest.mark.parametrize(
    ("claim", "change"),
    [
        ("survival_agrees", {"soden": curves()["soden"] * 0.8}),
        ("crossing", {"soden": curves()["soden"][::-1]}),  # group 0 is ahead from the start
        ("hazard_early_and_late", {"hazard": curves()["hazard"] + 1.0}),
        ("relative_error_grows", {"soden": np.stack([np.exp(-2 * TIMES), np.exp(-2 * TIMES**2)])}),
        ("steps", {"steps": np.stack([TIMES, TIMES**2])}),
        ("deephit_survival", {"deephit": curves(late=-0.02)["deephit"]}),
        ("deephit_hazard", {"steps": np.full((2, len(TIMES)), 5.0)}),
    ],
)
def test_the_simulation_s_statements_fail_when_the_curves_do(
    claim: str, change: dict[str, np.ndarray], tmp_path: Path
) -> None:
    row = simulated(tmp_path / "made", **change).loc[claim]
    assert tuple(row[["verdict", "held", "of"]]) == ("fails", 0, 10)


def test_every_statement_has_its_own_name_a_place_in_the_paper_and_a_rule() -> None:
    assert len({s.name for s in statements()}) == len(statements()) == 30
    assert {s.section.split(".")[0] for s in statements()} == {"4", "5"}
    for s in statements():
        assert hasattr(simulation_rules if s.sets == ("simulated",) else relations, s.relation), s.name
