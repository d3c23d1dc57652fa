"""The estimator's predictions, scores and conveniences; what it refuses is in test_estimator_inputs.py."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import ROOT

import soden
from soden import SODEN, SODENPH, FitDiverged, SODENCox
from soden.inputs import held_out_rows

CLASSES = (SODEN, SODENPH, SODENCox)
SMALL = {"hidden": 8, "layers": 1, "max_epochs": 5, "lr": 1e-2, "weight_decay": 1e-6, "n_models": 1}
TIMES = np.array([0.0, 30.0, 200.0, 365.0, 1000.0, 20000.0])  # days; the last is beyond all training times

pytestmark = pytest.mark.filterwarnings("ignore:times beyond horizon_:UserWarning")


def simulate(n, seed=0):
    """Days to an event with the constant hazard exp(0.7 x0) / 365, censored uniformly."""
    rng = np.random.default_rng(seed)
    X = rng.normal([50.0, 0.0, 3.0], [10.0, 1.0, 0.1], (n, 3))
    event_time = 365 * rng.exponential(np.exp(-0.07 * (X[:, 0] - 50)))
    censored = rng.uniform(100, 2000, n)
    return X, np.minimum(event_time, censored), event_time <= censored


X, TIME, EVENT = simulate(200)


@pytest.fixture(scope="module", params=CLASSES, ids=lambda cls: cls.__name__)
def fitted(request):
    return request.param(**SMALL).fit(X, TIME, EVENT)


def test_curves_are_survival_curves(fitted):
    S = fitted.predict_survival(X, TIMES)
    assert S.shape == (200, 6)
    np.testing.assert_array_equal(S[:, 0], 1)
    assert ((S >= 0) & (S <= 1)).all()
    assert (np.diff(S, axis=1) <= 0).all()
    np.testing.assert_array_equal(np.exp(-fitted.predict_cumulative_hazard(X, TIMES)), S)


def test_hazard_is_the_derivative_of_the_cumulative_hazard(fitted):
    """Central differences over half a day; the mesh's interpolation is good to about 1e-4 between its nodes."""
    t, half = np.array([40.0, 365.0, 900.0]), 0.25
    slope = (fitted.predict_cumulative_hazard(X, t + half) - fitted.predict_cumulative_hazard(X, t - half)) / (2 * half)
    np.testing.assert_allclose(fitted.predict_hazard(X, t), slope, rtol=2e-3)


def test_blocks_change_nothing(fitted, monkeypatch):
    def predictions():
        some = X[:6], TIME[:6], EVENT[:6]
        return fitted.predict_hazard(some[0], TIMES), fitted.predict_median(some[0]), fitted.score(*some)

    expected = predictions()
    monkeypatch.setattr("soden.concordance.CELLS", 14)  # blocks of one or two rows
    for found, wanted in zip(predictions(), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10)


@pytest.mark.parametrize("cls", CLASSES)
def test_recovers_known_survival_curves(cls):
    """Closed form: S = exp(-t exp(0.07 (x0 - 50)) / 365)."""
    X, time, event = simulate(3000, seed=1)
    new = np.array([[40.0, 0.0, 3.0], [50.0, 0.0, 3.0], [60.0, 0.0, 3.0]])
    t = np.array([50.0, 150.0, 365.0, 700.0])
    model = cls(hidden=16, batch_size=128, lr=5e-3, max_epochs=20, n_models=1).fit(X, time, event)
    truth = np.exp(-t * np.exp(0.07 * (new[:, :1] - 50)) / 365)
    assert np.abs(model.predict_survival(new, t) - truth).mean() < 0.03
    median = 365 * np.log(2) * np.exp(-0.07 * (new[:, 0] - 50))
    np.testing.assert_allclose(model.predict_median(new), median, rtol=0.25)


@pytest.mark.parametrize("cls", CLASSES)
def test_unit_of_time_does_not_matter(cls):
    days, years = (cls(**SMALL).fit(X, TIME / unit, EVENT) for unit in (1.0, 365.25))
    t = TIMES / 365.25
    np.testing.assert_allclose(years.predict_survival(X, t), days.predict_survival(X, TIMES), rtol=1e-6, atol=1e-300)
    np.testing.assert_allclose(years.predict_hazard(X, t), 365.25 * days.predict_hazard(X, TIMES), rtol=1e-6)
    np.testing.assert_allclose(365.25 * years.predict_median(X), days.predict_median(X), rtol=1e-6)
    per_event = np.log(365.25) * EVENT.mean()
    assert years.log_likelihood(X, TIME / 365.25, EVENT) == pytest.approx(
        days.log_likelihood(X, TIME, EVENT) + per_event
    )


def test_scale_of_the_features_does_not_matter_unless_told():
    plain, large = SODEN(**SMALL).fit(X, TIME, EVENT), SODEN(**SMALL).fit(1e6 * X, TIME, EVENT)
    np.testing.assert_allclose(
        large.predict_survival(1e6 * X, TIMES[:5]), plain.predict_survival(X, TIMES[:5]), rtol=1e-5
    )
    raw = SODEN(**SMALL, standardise=False).fit(X, TIME, EVENT)
    np.testing.assert_array_equal(raw.scaling_.x_mean, 0)
    assert not np.allclose(raw.predict_survival(X, TIMES), plain.predict_survival(X, TIMES))


def test_quantiles_invert_the_curves(fitted):
    q = np.array([0.1, 0.25, 0.5])
    t = fitted.predict_quantile(X, q)
    assert t.shape == (200, 3)
    assert (np.diff(t, axis=1) > 0).all()
    for i in (0, 90, 199):
        np.testing.assert_allclose(fitted.predict_survival(X[i : i + 1], t[i])[0], 1 - q, atol=1e-5)
    np.testing.assert_array_equal(fitted.predict_median(X), t[:, 2])


def test_a_median_beyond_the_horizon_is_infinite(fitted):
    S = fitted.predict_survival(X, [100.0])[:, 0]
    np.testing.assert_array_equal(np.isinf(fitted.predict_median(X, horizon=100.0)), S > 0.5)
    assert np.isinf(fitted.predict_quantile(X, 0.999, horizon=1.0)).all()
    assert np.isfinite(fitted.predict_median(X, horizon=1e5)).all()


def test_log_likelihood_is_equation_4(fitted):
    Lambda, lam = (f(X[:50], TIME[:50]).diagonal() for f in (fitted.predict_cumulative_hazard, fitted.predict_hazard))
    expected = (EVENT[:50] * np.log(lam) - Lambda).mean()
    assert fitted.log_likelihood(X[:50], TIME[:50], EVENT[:50]) == pytest.approx(expected, rel=1e-3)


def test_score_is_antolinis_concordance(fitted):
    """Against the definition, pair by pair; rounded times make ties in time, repeated rows ties in prediction."""
    X60, time, event = np.repeat(X[:30], 2, axis=0), np.ceil(TIME[:60] / 100), EVENT[:60]
    S = fitted.predict_survival(X60, time)
    right, pairs = 0.0, 0
    for i in np.flatnonzero(event):
        for j in range(60):
            if time[j] > time[i] or (time[j] == time[i] and not event[j]):
                pairs += 1
                equal = X60[i, 0] == X60[j, 0]
                right += 0.5 if equal else float(S[i, i] < S[j, i])
    assert fitted.score(X60, time, event) == pytest.approx(right / pairs, abs=1e-12)


@pytest.mark.parametrize("cls", [SODENPH, SODENCox])
def test_score_is_harrells_c_where_curves_do_not_cross(cls):
    from sksurv.metrics import concordance_index_censored

    model = cls(**SMALL).fit(X, TIME, EVENT)
    expected = concordance_index_censored(EVENT, TIME, model.predict(X))[0]
    assert model.score(X, TIME, EVENT) == pytest.approx(expected, abs=1e-12)


def test_same_seed_same_fit_and_no_global_randomness():
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()  # noqa: NPY002
    a, b, c = (SODEN(**SMALL, random_state=s).fit(X, TIME, EVENT).predict(X) for s in (3, 3, 4))
    fresh = [SODEN(**SMALL, random_state=None).fit(X, TIME, EVENT).predict(X) for _ in range(2)]
    np.testing.assert_array_equal(a, b)
    assert not np.allclose(a, c)
    assert not np.allclose(*fresh)
    assert torch.equal(torch.get_rng_state(), torch_state)
    np.testing.assert_array_equal(np.random.get_state()[1], numpy_state[1])  # noqa: NPY002


def test_series_are_read():
    """The hazard hangs on a series alone: with it subjects are ordered, without it they cannot be."""
    rng = np.random.default_rng(0)
    seq = rng.normal(100, 10, (400, 5, 2)) + 30 * rng.normal(size=(400, 1, 1))
    time = rng.exponential(np.exp(-(seq.mean((1, 2)) - 100) / 20))
    noise = rng.normal(size=(400, 1))
    all_seen = np.ones(400)
    model = SODEN(hidden=8, lr=1e-2, max_epochs=12).fit(noise, time, all_seen, seq=seq)
    assert model.score(noise, time, all_seen, seq=seq) > 0.75
    assert 0.4 < SODEN(**SMALL).fit(noise, time, all_seen).score(noise, time, all_seen) < 0.6
    assert model.predict_survival(noise, [1.0, 2.0], seq=seq).shape == (400, 2)
    assert model.predict_median(noise, seq=seq).shape == (400,)


def test_validation_data_decide_when_to_stop():
    X_val, time_val, event_val = simulate(100, seed=5)
    model = SODEN(**SMALL, time_scale="linear").fit(X, TIME, EVENT, X_val=X_val, time_val=time_val, event_val=event_val)
    # The loss that training watched is the likelihood of these data in the model's unit of time.
    shift = event_val.mean() * np.log(model.scaling_.clock.knots[1])
    assert -model.reports_[0].valid_loss == pytest.approx(
        model.log_likelihood(X_val, time_val, event_val) + shift, abs=1e-3
    )
    assert model.scaling_.clock.knots[1] == pytest.approx(TIME.mean())  # all rows of X train


def test_held_out_rows_keep_the_share_of_events():
    train, valid = held_out_rows(EVENT, 0.25, seed=1)
    assert sorted([*train, *valid]) == list(range(200))
    assert EVENT[valid].sum() == np.ceil(0.25 * EVENT.sum())
    assert (~EVENT[valid]).sum() == np.ceil(0.25 * (~EVENT).sum())
    assert len(held_out_rows(EVENT, 0, seed=1)[0]) == len(held_out_rows(EVENT, 0, seed=1)[1]) == 200
    model = SODEN(**SMALL, validation_split=0, time_scale="linear").fit(X, TIME, EVENT)
    assert model.scaling_.clock.knots[1] == pytest.approx(TIME.mean())


@pytest.mark.parametrize("cls", CLASSES)
def test_save_and_load(cls, tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["age", "b", "c"])
    model = cls(**{**SMALL, "lr": np.float64(1e-2)}).fit(frame, TIME, EVENT)
    model.save(tmp_path / "model.pt")
    assert torch.load(tmp_path / "model.pt", weights_only=True)["version"] == soden.__version__
    again = cls.load(tmp_path / "model.pt", device="cpu")
    np.testing.assert_array_equal(again.predict_survival(frame, TIMES), model.predict_survival(frame, TIMES))
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(again.predict_median(frame), model.predict_median(frame))
    assert again.get_params() == model.get_params()
    assert again.reports_ == model.reports_
    assert list(again.feature_names_in_) == ["age", "b", "c"]


def test_load_refuses_other_files(tmp_path):
    SODENPH(**SMALL).fit(X, TIME, EVENT).save(tmp_path / "ph.pt")
    with pytest.raises(ValueError, match=r"holds SODENPH; SODEN\.load cannot read it"):
        SODEN.load(tmp_path / "ph.pt")
    torch.save([1, 2], tmp_path / "list.pt")
    with pytest.raises(ValueError, match="holds no saved estimator"):
        SODEN.load(tmp_path / "list.pt")


def test_a_fit_that_diverges_at_once_raises():
    with pytest.raises(FitDiverged, match=r"diverged in its first epoch: .*Lower lr \(it is 1e\+12\)"):
        SODEN(**{**SMALL, "lr": 1e12}).fit(X, TIME, EVENT)


def test_a_fit_that_diverges_later_warns_and_keeps_the_best_state(monkeypatch):
    from soden.models import OdeModel

    honest, calls = OdeModel.valid_loss, []

    def breaks(self, valid):
        calls.append(honest(self, valid))
        return calls[-1] if len(calls) < 3 else float("nan")

    monkeypatch.setattr(OdeModel, "valid_loss", breaks)
    with pytest.warns(RuntimeWarning, match=r"diverged in epoch 3.* of epoch \d, is kept\. Lower lr"):
        model = SODEN(**SMALL).fit(X, TIME, EVENT)
    assert model.reports_[0].valid_loss == min(calls[:2])
    assert np.isfinite(model.predict_survival(X, TIMES)).all()


def test_progress_goes_to_stderr(capsys, monkeypatch):
    """A bar where somebody looks, lines without carriage returns in a log."""
    SODEN(**SMALL, verbose=1).fit(X, TIME, EVENT)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("epoch 5/5  loss ")
    assert err.count("\n") == 1
    SODEN(**{**SMALL, "n_models": 2}, verbose=2).fit(X, TIME, EVENT)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "model 1 of 2"
    assert [line[:9] for line in lines[1:6]] == [f"epoch {k}/5" for k in range(1, 6)]
    assert ", validation " in lines[11]
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    SODEN(**SMALL, verbose=1).fit(X, TIME, EVENT)
    assert "\r[####################] epoch 5/5  loss " in capsys.readouterr().err
    monkeypatch.undo()
    SODEN(**SMALL).fit(X, TIME, EVENT)
    assert capsys.readouterr() == ("", "")


def test_the_paper_solver_starts_from_the_same_loss():
    """Same weights, one batch: the first epoch's training loss is the solver's alone, to the paper's rtol."""
    pytest.importorskip("torchdiffeq")
    once = {**SMALL, "max_epochs": 1}
    fast, adjoint = (SODEN(**once, solver=s).fit(X[:80], TIME[:80], EVENT[:80]) for s in ("fast", "adjoint"))
    assert fast.history_["train"] == pytest.approx(adjoint.history_["train"], rel=1e-3)


def test_quickstart_runs_and_draws(tmp_path: Path, monkeypatch, capsys):
    import runpy

    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setattr("sys.argv", ["quickstart.py", "--rows", "300", "--out", str(tmp_path / "plot.png")])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "2 column.* far outside of the training rows', .* 'kappa'")  # heavy tails
        runpy.run_path(str(ROOT / "examples" / "quickstart.py"), run_name="__main__")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert "concordance" in capsys.readouterr().out
