"""Outcomes by name, rows that change in time, members in processes, and warnings where nothing was learnt."""

import warnings

import numpy as np
import pandas as pd
import pytest
from test_estimator import EVENT, SMALL, TIME, X
from test_library_own import Gompertz

import soden
from soden import SODEN, SODENPH, SODENCox, backends, machine
from soden.inputs import held_out_rows

FRAME = pd.DataFrame(X, columns=["age", "b", "c"]).assign(T=TIME, E=EVENT.astype(int), began=0.0)


def test_outcomes_are_columns_by_name():
    features = FRAME[["age", "b", "c"]]
    apart = SODEN(**SMALL).fit(features, TIME, EVENT)
    named = SODEN(**SMALL).fit(FRAME, "T", "E", entry="began")
    np.testing.assert_array_equal(named.predict(features), apart.predict(features))
    assert named.feature_names_in_.tolist() == ["age", "b", "c"]
    assert named.score(FRAME.drop(columns="began"), "T", "E") == apart.score(features, TIME, EVENT)
    with pytest.raises(ValueError, match="X has no column 'died'; it has 'age', 'b', 'c', 'T', 'E', 'began'"):
        SODEN(**SMALL).fit(FRAME, "T", "died")
    with pytest.raises(ValueError, match="X has no column 'T'; it has no names"):
        SODEN(**SMALL).fit(X, "T", "E")


def start_stop(n, seed):
    """Constant hazard exp(x), where x changes to another draw at a random time; (frame of rows, subjects)."""
    rng = np.random.default_rng(seed)
    before, later, change, ends = rng.normal(size=n), rng.normal(size=n), rng.uniform(0.1, 1, n), rng.uniform(0.5, 3, n)
    need = rng.exponential(size=n)
    early = need < change * np.exp(before)
    died = np.where(early, need / np.exp(before), change + (need - change * np.exp(before)) / np.exp(later))
    time, event = np.minimum(died, ends), died <= ends
    first = pd.DataFrame({"id": range(n), "entry": 0.0, "time": np.minimum(time, change), "x": before})
    first["event"] = event & (time <= change)
    second = pd.DataFrame({"id": range(n), "entry": change, "time": time, "x": later, "event": event})
    return pd.concat([first, second[time > change]], ignore_index=True)


@pytest.mark.parametrize("cls", [SODENCox, SODENPH])
def test_features_that_change_in_time_are_those_of_lifelines(cls):
    """CoxTimeVaryingFitter on the same rows, over the bulk of x, since PH's network is not straight in between."""
    from lifelines import CoxTimeVaryingFitter

    rows = start_stop(1500, 0)
    peer = CoxTimeVaryingFitter().fit(rows, "event", "entry", "time", id_col="id")
    model = cls(n_models=1, hidden=16, lr=1e-2, weight_decay=0, max_epochs=30)
    model.fit(rows, "time", "event", entry="entry", id="id")
    high, low = model.predict_hazard(pd.DataFrame({"x": [1.0, -1.0]}), [1.0])[:, 0]
    slope = np.log(high / low) / 2
    assert slope == pytest.approx(peer.params_["x"], abs=2 * peer.standard_errors_["x"] + 0.02)
    assert model.baseline_hazard([0.5, 1.0]).mean() == pytest.approx(np.exp(rows["x"].mean()), rel=0.2)


def test_rows_of_a_subject_stay_together_and_are_checked():
    subject = np.repeat(np.arange(50), 4)
    train, valid = held_out_rows(EVENT, 0.2, 0, 1, subject)
    assert not set(subject[train]) & set(subject[valid])
    assert len(train) + len(valid) == 200
    features, time, event = X[:4], np.array([1.0, 2.0, 1.0, 3.0]), np.array([0, 1, 0, 1])
    entry = np.array([0.0, 1.0, 0.0, 1.0])
    with pytest.raises(ValueError, match=r"SODEN takes one row per subject.* Use SODENPH or SODENCox"):
        SODEN(**SMALL).fit(features, time, event, entry=entry, id=[0, 0, 1, 1])
    for bad, match in (
        ((time, event, np.zeros(4)), "id 0 has intervals that overlap"),
        ((time, np.ones(4), entry), "id 0 has rows after its event"),
    ):
        with pytest.raises(ValueError, match=match):
            SODENCox(**SMALL).fit(features, *bad[:2], entry=bad[2], id=[0, 0, 1, 1])
    with pytest.raises(ValueError, match=r"id must have one value per row, shape \(4,\); got shape \(2,\)"):
        SODENCox(**SMALL).fit(features, time, event, entry=entry, id=[0, 1])


def test_members_in_processes_are_the_same():
    options = {**SMALL, "n_models": 2, "hazard": Gompertz, "time_scale": "linear"}
    one, two = (SODEN(**options, n_jobs=n).fit(X, TIME, EVENT) for n in (1, 2))
    np.testing.assert_array_equal(one.predict_survival(X, [100.0]), two.predict_survival(X, [100.0]))
    assert [type(model.net) for model in two.models_] == [Gompertz, Gompertz]
    here = type("Here", (Gompertz,), {"__module__": "__main__"})
    with pytest.raises(ValueError, match="must be in a module of its own"):
        SODEN(**{**SMALL, "n_models": 2}, n_jobs=2, hazard=here).fit(X, TIME, EVENT)


def test_what_was_not_learnt_is_said(tmp_path):
    frame = FRAME[["age", "b"]].assign(same=1.0)
    with pytest.warns(UserWarning, match="constant columns of X, from which nothing can be learnt: 'same'; drop them"):
        model = SODEN(**SMALL).fit(frame, TIME, EVENT)
    model.save(tmp_path / "model.pt")
    for one in (model, SODEN.load(tmp_path / "model.pt")):
        with pytest.warns(UserWarning, match="the first is column 'same', which was 1 in all training rows"):
            one.predict_survival(frame.head(3).assign(same=2.0), [10.0])
        with pytest.warns(UserWarning, match=rf"'age', which was {X[:, 0].min():g} to {X[:, 0].max():g} there"):
            one.predict_survival(frame.head(3).assign(age=500.0), [10.0])
    with pytest.warns(UserWarning, match=r"times beyond horizon_ = 1\d+.*extrapolated") as caught:
        model.predict_survival(frame, [10.0, 1e5])
    assert caught[0].filename == __file__
    with warnings.catch_warnings(record=True) as once:  # Python's default: a sentence once per place
        warnings.simplefilter("default")
        for t in (1e5, 2e5, 3e5):
            model.predict_hazard(frame, [t])
    assert len(once) == 1


def test_judging_needs_no_event_where_it_is_defined():
    model = SODEN(**SMALL).fit(X, TIME, EVENT)
    Lambda = model.predict_cumulative_hazard(X[:1], TIME[:1])[0, 0]
    assert model.log_likelihood(X[:1], TIME[:1], [0], entry=[0.0]) == pytest.approx(-Lambda, rel=1e-4)
    assert np.isfinite(model.log_likelihood(X, TIME, np.zeros(200)))
    for rows, event in ((slice(1), [1]), (slice(200), np.zeros(200))):
        with pytest.raises(ValueError, match="no two subjects have a known order"):
            model.score(X[rows], TIME[rows], event)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (
            lambda: SODEN(**SMALL).fit(FRAME.astype(object).where(FRAME != 0, pd.NA), TIME, EVENT),
            ValueError,
            "NaN or inf",
        ),
        (lambda: SODEN(**SMALL).fit(X, TIME, pd.array([pd.NA, *EVENT[1:]])), ValueError, "1 are missing or infinite"),
        (
            lambda: SODEN(**SMALL).fit(X, TIME, EVENT, seq=[np.ones((i % 2 + 1, 1)) for i in range(200)]),
            ValueError,
            "as many steps for each subject.* fill up the shorter series",
        ),
    ],
)
def test_remedies_fit_the_mistake(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_partial_dependence_is_scikit_learns():
    """Of the mean risk, by scikit-learn; the figure's lines are mean curves."""
    from sklearn.inspection import partial_dependence

    model = SODEN(**SMALL).fit(X, TIME, EVENT)
    theirs = partial_dependence(model, X, [0], grid_resolution=3)
    changed = X.copy()
    changed[:, 0] = theirs["grid_values"][0][1]
    assert theirs["average"][0, 1] == pytest.approx(model.predict(changed).mean(), rel=1e-9)
    frame = FRAME[["age", "b", "c"]]
    named = SODEN(**SMALL).fit(frame, TIME, EVENT)
    lines = named.plot_partial_effects(frame, "age", [40.0, 60.0], [365.0]).get_lines()
    with pytest.raises(ValueError, match=r"X has no column 'weight'; pass a number below 3 or one of \['age'"):
        named.plot_partial_effects(frame, "weight", [1.0])
    assert lines[1].get_label() == "age = 60.0"
    changed[:, 0] = 60.0
    assert lines[1].get_ydata() == pytest.approx(model.predict_survival(changed, [365.0]).mean(axis=0))


def test_without_numba_one_thread_trains_and_a_sentence_says_why(monkeypatch):
    import torch

    monkeypatch.setattr(machine, "available", lambda: False)
    before = torch.get_num_threads()
    with (
        pytest.warns(UserWarning, match="without numba fits take several times as long: install it, or soden"),
        machine.prepared(torch.device("cpu")),
    ):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


def test_compiling_is_said_and_warm_up_leaves_nothing_to_it(monkeypatch, capsys, tmp_path):
    import torch

    from soden import kernels

    monkeypatch.setattr(kernels, "_CACHE", str(tmp_path / "none"))
    with machine.prepared(torch.device("cpu")):
        pass
    assert (
        capsys.readouterr().err == "soden compiles its inner loops, once on this machine: half a minute of one core\n"
    )
    assert backends.available()
    soden.warm_up()


def test_ctrl_c_within_compiled_code_is_a_keyboard_interrupt(monkeypatch):
    """numba gives it back as a SystemError that it caused."""

    def interrupted(*args, **kwargs):
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    model = SODEN(**SMALL).fit(X, TIME, EVENT)
    monkeypatch.setattr("soden.curves.curves", interrupted)
    monkeypatch.setattr("soden.models.Soden.fit", interrupted)
    for call in (lambda: model.predict(X), lambda: SODEN(**SMALL).fit(X, TIME, EVENT)):
        with pytest.raises(KeyboardInterrupt):
            call()
