"""Which rows are trained on, judged by and scored: each slip that would make the headline numbers wrong fails here.

The parts differ in size and in the mean of every covariate, so that none can stand in for another; expected values are
worked out without the code under test. `python tests/support/mutations.py` makes the slips and shows what catches them.
"""

import hashlib
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from pycox.models.loss import cox_ph_loss
from support.uneven import SIZES, by_hand, poisoned, search_of, uneven

from baselines.contract import TrialOptions
from baselines.space import Power
from benchmarks import registry
from benchmarks.data import simulated
from benchmarks.metrics.base import CONVENTIONS
from benchmarks.results.types import Parts, Trial
from benchmarks.seeds import seed_for
from benchmarks.speed import literal
from benchmarks.study import evaluate, search, simulation
from benchmarks.study.gather import gather, gather_scores, gather_trials
from benchmarks.study.search import Search
from benchmarks.study.store import space_of, write_chunk
from benchmarks.study.trial import Key, fit_seed, hyper_parameters, run_trial
from soden import SODEN
from soden.clock import Clock
from soden.inputs import held_out_rows
from soden.models import Soden
from soden.outcomes import Outcomes
from soden.types import FitReport, SurvivalData

DATA, SPLIT = uneven()
HYPER = {"layers": 1, "width": 8, "lr": 1e-2, "weight_decay": 1e-6, "momentum": 0.9, "batch_size": 32}
HYPER |= {"dropout": 0.1, "batch_norm": True, "intervals": 10, "alpha": 0.5, "sigma": 0.25}


def searching(folder: Path, model: str = "deepsurv", dataset: Any = DATA, **keys: Any) -> Search:
    return search_of(folder, dataset, {1: SPLIT, 2: SPLIT}, model, **keys)


def scored(made: Search, trials: int) -> evaluate.Evaluation:
    return evaluate.evaluate_model(made, made.run("0000", [(1, t) for t in range(trials)]))


# evaluate.py: the test part, and nothing else


@pytest.fixture(scope="module")
def cox(tmp_path_factory: pytest.TempPathFactory) -> tuple[evaluate.Evaluation, Any]:
    """What `evaluate` says of Cox, and the fitted model it spoke of."""
    made = searching(tmp_path_factory.mktemp("cox"), "cox")
    out = scored(made, 1)
    (path,) = (made.folder / "states").iterdir()
    return out, made.model_class.load(path)


def plain_scores(model: Any, part: SurvivalData, convention: str = "published") -> dict[tuple[str, str], float]:
    """C^td and IBS as plain loops over Section 5.3; S by Cox's closed form."""
    risk = np.exp(part.x.astype(float) @ model.theta)
    H0 = np.concatenate([[0.0], model.cumulative])

    def S(i: int, t: float) -> float:
        return math.exp(-H0[np.searchsorted(model.times, t, side="right")] * risk[i])

    time, event = part.time.tolist(), part.event.tolist()
    found = {("ctd", level): literal.ctd(time, event, S, level, convention) for level in literal.THRESHOLD}
    return found | {("ibs", "0.4"): literal.ibs(time, event, S, "0.4", convention)}


def test_scores_are_those_of_the_test_part(cox: tuple[evaluate.Evaluation, Any]) -> None:
    out, model = cox
    test, valid = (by_hand(DATA, SPLIT, part) for part in ("test", "valid"))
    other = plain_scores(model, valid)
    for convention in CONVENTIONS:
        expected = plain_scores(model, test, convention)
        found = {(s.metric, s.g_tau): s.value for s in out.scores if s.convention == convention}
        for key, value in expected.items():
            assert found[key] == pytest.approx(value, abs=1e-6), (convention, key)
            assert value != pytest.approx(other[key], abs=1e-3), "the parts must be told apart"
    assert plain_scores(model, test) != expected, "the conventions must be told apart"
    (groups,) = out.risk_groups
    assert groups["n"]["all"] == SIZES[2]


def test_the_likelihood_is_that_of_the_test_part(tmp_path: Path) -> None:
    """The mean of Lambda(y) - Delta log lambda(y), from curves predicted for the rows made by hand."""
    made = searching(tmp_path, "soden")
    out = scored(made, 1)
    (path,) = (made.folder / "states").iterdir()
    test = by_hand(DATA, SPLIT, "test")
    model, diagonal = made.model_class.load(path), np.arange(len(test))
    order = np.argsort(test.time)
    test = test.take(order)
    Lambda = -np.log(model.predict_survival(test, test.time))[diagonal, diagonal]
    terms = Lambda - test.event * np.log(model.predict_hazard(test, test.time)[diagonal, diagonal])
    (found,) = (s.value for s in out.scores if (s.convention, s.metric) == ("published", "nll"))
    assert found == pytest.approx(terms.mean(), rel=2e-3)  # two meshes of one ODE: the tolerance of test_soden_model


def test_calibration_and_scores_name_their_split_and_model(cox: tuple[evaluate.Evaluation, Any]) -> None:
    out, _ = cox
    rows = [*(r.to_row() for r in (*out.scores, *out.chosen)), *out.curves, *out.risk_groups]
    for row in rows:
        assert (row["dataset"], row["model"], row["split"]) == ("simulated", "cox", 1)
    assert sum(r["n"] for r in out.curves if r["horizon"] == out.curves[0]["horizon"]) == SIZES[2]


def test_risk_groups_are_cut_at_the_median_time_of_the_events() -> None:
    """Events at 1, 2, 3, 4, 5 (median 3), many censored later (median of all times 7): curves cross in between."""
    from lifelines import KaplanMeierFitter

    time = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0])
    test = SurvivalData(time, time <= 5, np.zeros((12, 1)))
    early = np.arange(12) % 2 == 0  # have the lower curve up to t = 6, the higher one after

    class Crossing:
        def predict_survival(self, data: Any, times: Any) -> Any:
            return np.where(early[:, None] == (np.asarray(times) < 6), 0.2, 0.8)

    groups = evaluate.risk_groups(Crossing(), test)  # type: ignore[arg-type]
    assert groups["time"] == 3.0
    for name, member in (("high", early), ("low", ~early)):
        km = KaplanMeierFitter().fit(time[member], test.event[member])
        np.testing.assert_allclose(groups[name], km.survival_function_at_times(groups["grid"]), atol=1e-6)


@pytest.mark.parametrize("favourite", [0, 1, 2])
def test_the_validation_score_chooses_and_nothing_else(favourite: int, tmp_path: Path) -> None:
    """Whichever trial has the best score in its row is chosen, whatever its other numbers and its test score are."""
    made = searching(tmp_path)
    rows = made.run("0000", [(1, t) for t in range(3)])
    rows[favourite] = replace(rows[favourite], score=1e9)
    out = evaluate.evaluate_model(made, rows)
    assert out.chosen[0].trial == favourite
    model = made.model_class.load(made.state_path(rows[favourite]))
    test = by_hand(DATA, SPLIT, "test")
    times = np.unique(test.time[test.event])
    S = model.predict_survival(test, times)
    (found,) = (s.value for s in out.scores if (s.convention, s.metric) == ("published", "antolini"))
    assert found == pytest.approx(antolini_by_hand(test, times, S), abs=1e-6)


# trial.py and search.py: what a trial is given, and what it is judged by


def antolini_by_hand(part: SurvivalData, times: Any, S: Any) -> float:
    """Pair by pair: an event at y_i, j known to live longer; equal predictions count 1/2. No times are tied here."""
    at = {t: k for k, t in enumerate(times)}
    right = pairs = 0.0
    for i in np.flatnonzero(part.event):
        k = at[part.time[i]]
        for j in np.flatnonzero(part.time > part.time[i]):
            pairs += 1
            right += 1.0 if S[i, k] < S[j, k] else 0.5 * (S[i, k] == S[j, k])
    return right / pairs


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The arguments of every trial that runs."""
    seen: list[tuple[Any, ...]] = []
    monkeypatch.setattr(search, "run_trial", lambda *a: seen.append(a) or run_trial(*a))
    return seen


def test_a_trial_gets_train_and_valid_scaled_by_train(tmp_path: Path, given: list[tuple[Any, ...]]) -> None:
    searching(tmp_path).run("0000", [(1, 0)])
    for part, name in zip(given[0][4:6], ("train", "valid"), strict=True):
        wanted = by_hand(DATA, SPLIT, name)
        np.testing.assert_array_equal(part.time, wanted.time)
        np.testing.assert_array_equal(part.event, wanted.event)
        np.testing.assert_allclose(part.x, wanted.x, atol=1e-6)


def test_validation_and_test_rows_teach_the_training_part_nothing(tmp_path: Path, given: list[tuple[Any, ...]]) -> None:
    searching(tmp_path / "a").run("0000", [(1, 0)])
    searching(tmp_path / "b", dataset=poisoned(DATA, np.concatenate([SPLIT.valid, SPLIT.test]))).run("0000", [(1, 0)])
    for name in ("time", "event", "x"):
        np.testing.assert_array_equal(getattr(given[0][4], name), getattr(given[1][4], name))
        assert name == "event" or (getattr(given[0][5], name) != getattr(given[1][5], name)).any()


def test_each_split_gets_its_own_rows(tmp_path: Path, given: list[tuple[Any, ...]]) -> None:
    other = uneven(seed=1)[1]
    made = search_of(tmp_path, DATA, {1: SPLIT, 2: other}, "deepsurv")
    made.run("0000", [(1, 0), (2, 0), (1, 1)])
    for (_, key, *_, train, _, _), split in zip(given, (SPLIT, other, SPLIT), strict=True):
        np.testing.assert_array_equal(train.time, DATA.time[split.train])
        assert key.split == (2 if split is other else 1)


NEIGHBOURS = [
    Key("simulated", "deephit", 1, 0),
    Key("flchain", "deephit", 1, 0),
    Key("simulated", "soden", 1, 0),
    Key("simulated", "deephit", 2, 0),
    Key("simulated", "deephit", 1, 1),
]


def test_seeds_are_hashes_of_all_that_names_a_trial() -> None:
    text = "\x1f".join(("3", "fit", "simulated", "deephit", "1", "0"))
    expected = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") // 2
    assert fit_seed(3, NEIGHBOURS[0]) == seed_for(3, "fit", "simulated", "deephit", 1, 0) == expected
    assert len({fit_seed(root, key) for root in (3, 4) for key in NEIGHBOURS}) == 2 * len(NEIGHBOURS)


def test_draws_are_those_of_the_trial_s_own_name_and_of_no_neighbour() -> None:
    space = {"one": Power(10, 0, 1), "two": Power(10, 0, 1)}
    drawn = [hyper_parameters(root, key, space, "truncate") for root in (3, 4) for key in NEIGHBOURS]
    values = [v for d in drawn for v in d.values()]
    assert len(set(values)) == len(values)  # no parameter follows another, either
    text = "\x1f".join(("3", "draw", "simulated", "deephit", "1", "0", "two"))
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") // 2
    assert drawn[0]["two"] == pytest.approx(10 ** np.random.default_rng(seed).uniform(0, 1), rel=1e-12)


def test_widths_are_cut_or_rounded_as_told() -> None:
    """2^u with u from the generator of this name: the paper rounds, the authors' code truncates."""
    width = Power(2, 2, 7, whole=True)
    exact = [2 ** np.random.default_rng(k).uniform(2, 7) for k in range(20)]
    assert [width.draw(np.random.default_rng(k), "truncate") for k in range(20)] == [math.floor(v) for v in exact]
    assert [width.draw(np.random.default_rng(k), "nearest") for k in range(20)] == [round(v) for v in exact]


def test_rows_have_their_own_seed_and_draw(tmp_path: Path) -> None:
    made = searching(tmp_path)
    pairs = [(s, t) for s in (1, 2) for t in (0, 1)]
    rows = made.run("0000", pairs)
    for (split, trial), row in zip(pairs, rows, strict=True):
        key = Key("simulated", "deepsurv", split, trial)
        assert row.seed == fit_seed(3, key)
        assert row.hyper == hyper_parameters(3, key, space_of(made.dataset.name, made.model), "truncate")
    assert len({r.seed for r in rows}) == len({r.hyper["lr"] for r in rows}) == 4
    assert len({r.valid_loss for r in rows}) == 4


def trial(name: str, **changes: Any) -> tuple[dict[str, Any], Any, SurvivalData]:
    """One trial on the parts made by hand, seed 5."""
    train, valid = (by_hand(DATA, SPLIT, part) for part in ("train", "valid"))
    options = TrialOptions(max_epochs=12, patience=4)
    key = Key("simulated", name, 1, 0)
    row, model = run_trial(registry.model(name), key, 5, HYPER | changes, train, valid, options)
    assert row["status"] == "ok", row
    return row, model, valid


@pytest.mark.parametrize("name", ["deephit", "nnet_survival"])
def test_the_score_of_a_discrete_model_is_antolini_s_c_on_valid(name: str) -> None:
    row, model, valid = trial(name)
    times = np.unique(valid.time[valid.event])
    expected = antolini_by_hand(valid, times, model.predict_survival(valid, times))
    assert row["score"] == pytest.approx(expected, abs=1e-6)
    assert expected != pytest.approx(0.5, abs=0.02), "a score without signal could be that of any rows"


def test_the_score_of_other_models_is_minus_the_loss_on_valid() -> None:
    """DeepSurv's loss is pycox's, on the validation rows, with the network that was kept."""
    row, model, valid = trial("deepsurv", lr=0.1)
    assert 0 < row["best_epoch"] < row["epochs"], "the best epoch must not be the last"
    with torch.no_grad():
        g = model.net(torch.as_tensor(valid.x))[:, 0]
    expected = cox_ph_loss(g, torch.as_tensor(valid.time), torch.as_tensor(valid.event).float()).item()
    assert row["valid_loss"] == pytest.approx(expected, abs=1e-5)  # float32
    assert row["score"] == -row["valid_loss"]


def test_momentum_is_drawn_but_not_used_unless_told() -> None:
    train, valid = (by_hand(DATA, SPLIT, part) for part in ("train", "valid"))
    key = Key("simulated", "deepsurv", 1, 0)
    losses = []
    for momentum, use in ((0.9, False), (0.0, True), (0.9, True)):
        options = TrialOptions(max_epochs=2, use_momentum=use)
        row, _ = run_trial(registry.model("deepsurv"), key, 5, HYPER | {"momentum": momentum}, train, valid, options)
        losses.append(row["valid_loss"])
    assert losses[0] == losses[1] != losses[2]


def test_the_kept_state_is_that_of_the_best_trial(tmp_path: Path) -> None:
    made = searching(tmp_path)
    rows = made.run("0000", [(1, t) for t in range(4)])
    best = max(rows, key=lambda r: r.score)
    assert [path.name for path in (made.folder / "states").iterdir()] == [made.state_path(best).name]
    assert made.state(best) == (made.state_path(best), "")


# simulation.py and the estimator


class Recorder:
    """A model that keeps what it was given and predicts S = 1."""

    calls: list[tuple[SurvivalData, SurvivalData, int]] = []  # noqa: RUF012

    def __init__(self, hyper: Any, options: Any) -> None:
        self.hyper = hyper

    def fit(self, train: SurvivalData, valid: SurvivalData, seed: int) -> FitReport:
        self.calls.append((train, valid, seed))
        return FitReport("ok", valid_loss=0.0, epochs=1, best_epoch=1)

    def predict_survival(self, data: Any, times: Any) -> Any:
        return np.ones((len(data.x), len(times)))

    predict_hazard = predict_survival


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[SurvivalData, SurvivalData, int]]:
    monkeypatch.setattr(Recorder, "calls", [])
    monkeypatch.setattr(simulation.registry, "model", lambda name: Recorder)
    return Recorder.calls


def test_the_simulation_trains_on_four_fifths_and_stops_on_the_rest(
    recorded: list[tuple[SurvivalData, SurvivalData, int]],
) -> None:
    simulation.simulate_once(103, 7, 2, TrialOptions(max_epochs=1))
    drawn = simulated.simulate(103, 7, 2)
    held_out = np.arange(103) % 5 == 0
    for train, valid, _ in recorded:
        np.testing.assert_array_equal(train.time, drawn.time[~held_out])
        np.testing.assert_array_equal(valid.time, drawn.time[held_out])
        group = drawn.x[~held_out, 0]
        scale = group.std()
        np.testing.assert_allclose(train.x[:, 0], (group - group.mean()) / scale, atol=1e-6)
        np.testing.assert_allclose(valid.x[:, 0], (drawn.x[held_out, 0] - group.mean()) / scale, atol=1e-6)


def test_every_repetition_of_the_simulation_has_its_own_draw_and_seeds(
    recorded: list[tuple[SurvivalData, SurvivalData, int]],
) -> None:
    for seed, repetition in ((7, 1), (7, 2), (8, 1)):
        simulation.simulate_once(100, seed, repetition, TrialOptions(max_epochs=1))
    seeds = [seed for *_, seed in recorded]
    assert len(set(seeds)) == 6  # two models each
    assert len({train.time.tobytes() for train, *_ in recorded}) == 3
    assert seeds[:2] == [seed_for(7, "simulation", name, 1) for name in ("soden", "deephit")]


def test_the_estimator_scales_by_its_training_rows_alone() -> None:
    X, time, event = DATA.x, DATA.time, DATA.event
    small = {"hidden": 4, "layers": 1, "max_epochs": 1}
    train, valid = SPLIT.train, SPLIT.valid
    given = SODEN(**small).fit(
        X[train], time[train], event[train], X_val=X[valid], time_val=time[valid], event_val=event[valid]
    )
    chosen, others = held_out_rows(event, 0.2, 0)
    assert len(others) == pytest.approx(0.2 * len(event), abs=2)
    for model, rows in ((given, train), (SODEN(**small).fit(X, time, event), chosen)):
        np.testing.assert_allclose(model.scaling_.x_mean, X[rows].mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(model.scaling_.x_std, X[rows].std(axis=0), rtol=1e-12)
        expected = Clock.learn(Outcomes(time[rows], event[rows]))
        np.testing.assert_array_equal(model.scaling_.clock.values, expected.values)
        np.testing.assert_array_equal(model.scaling_.clock.knots, expected.knots)


def test_the_estimator_trains_on_its_training_rows_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[SurvivalData, SurvivalData]] = []
    fit = Soden.fit
    monkeypatch.setattr(Soden, "fit", lambda self, *a: seen.append(a[:2]) or fit(self, *a))
    model = SODEN(hidden=4, layers=1, max_epochs=1, random_state=3).fit(DATA.x, DATA.time, DATA.event)
    rows = held_out_rows(DATA.event, 0.2, 3)
    assert sorted(np.concatenate(rows)) == list(range(len(DATA)))
    for part, chosen in zip(seen[0], rows, strict=True):
        np.testing.assert_array_equal(part.time, model.scaling_.clock.at(DATA.time[chosen]))


# gather.py: what the tables are made of


def test_gathered_scores_are_those_of_the_convention_asked_for(tmp_path: Path) -> None:
    keys = [
        ("simulated", m, s, c, "ctd", "0.4") for c in ("text", "published") for m in ("soden", "cox") for s in (2, 1)
    ]
    scores = pd.DataFrame(keys, columns=["dataset", "model", "split", "convention", "metric", "g_tau"])
    scores["value"] = np.arange(len(scores)) / 10
    scores.iloc[::2].to_parquet(tmp_path / "b.parquet")
    scores.iloc[1::2].to_parquet(tmp_path / "a.parquet")
    together = gather_scores([tmp_path / "b.parquet", tmp_path / "a.parquet"])
    pd.testing.assert_frame_equal(together, gather_scores([tmp_path / "a.parquet", tmp_path / "b.parquet"]))
    rows = [(m, s, t) for t in (1, 0) for m in ("soden", "cox") for s in (1, 2)]
    rest = ("data", "settings", "space", "code", "portable", "cpu", "split")
    write_chunk([Trial(Parts(3, "simulated", m, *rest), s, t, 7, {}, "ok") for m, s, t in rows], tmp_path / "trials")
    trials = gather_trials([tmp_path / "trials"])
    assert trials[["model", "split", "trial"]].to_numpy().tolist() == sorted(map(list, rows))
    planned = pd.DataFrame([("simulated", m, 2) for m in ("soden", "cox")], columns=["dataset", "model", "n_splits"])
    for convention, values in (("published", {0.4, 0.5, 0.6, 0.7}), ("text", {0.0, 0.1, 0.2, 0.3})):
        gather(together, trials, convention, planned, tmp_path)
        assert set(pd.read_csv(tmp_path / "scores.csv")["value"]) == values
        cells = pd.read_csv(tmp_path / "cells.csv").query("model == 'soden' and table == 'main'")
        assert cells["mean"].item() == pytest.approx(np.mean([min(values), sorted(values)[1]]))
        assert cells["n_trials"].item() == 2
    assert len(pd.read_csv(tmp_path / "conventions.csv")) == len(scores)
