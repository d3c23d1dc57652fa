"""What the estimator takes, what it refuses and with which words, and how it lives with scikit-learn and without."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import ROOT
from test_estimator import CLASSES, EVENT, SMALL, TIME, TIMES, X

from soden import SODEN, SODENCox

TINY = {**SMALL, "max_epochs": 2}

pytestmark = pytest.mark.filterwarnings("ignore:times beyond horizon_:UserWarning")


def structured(order=("event", "time"), kinds=None):
    kinds = kinds or {"event": bool, "time": float}
    y = np.empty(200, dtype=[(name, kinds[name]) for name in order])
    y["event"], y["time"] = EVENT, TIME
    return y


@pytest.fixture(scope="module")
def plain():
    return SODEN(**TINY).fit(X, TIME, EVENT)


@pytest.mark.parametrize(
    "fit",
    [
        lambda m: m.fit(X, structured()),
        lambda m: m.fit(X, structured(("time", "event"))),
        lambda m: m.fit(X, structured(kinds={"event": int, "time": float})),
        lambda m: m.fit(X, pd.DataFrame({"died": EVENT, "days": TIME})),
        lambda m: m.fit(X, time=TIME, event=EVENT),
        lambda m: m.fit(X.tolist(), list(TIME), EVENT.astype(int).tolist()),
        lambda m: m.fit(X, TIME, pd.array(EVENT, dtype="boolean")),
        lambda m: m.fit(X, pd.Series(TIME, index=range(7, 207)), pd.Series(EVENT.astype(float))),
    ],
    ids=["surv", "reversed", "integer event", "data frame", "keywords", "lists", "nullable", "series"],
)
def test_every_form_of_the_outcome_gives_the_same_fit(fit, plain):
    model = fit(SODEN(**TINY))
    np.testing.assert_array_equal(model.predict_survival(X, TIMES), plain.predict_survival(X, TIMES))


MASK = np.arange(200) == 3
STEPS = np.zeros((200, 0, 2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.fit(np.ma.masked_array(X, X > 60), TIME, EVENT), "X is a masked array with .* masked values"),
        (lambda m: m.fit(X, np.ma.masked_array(TIME, MASK), EVENT), "y is a masked array with 1 masked"),
        (lambda m: m.fit(X, TIME, np.ma.masked_array(EVENT, MASK)), "event is a masked array"),
        (lambda m: m.fit(X * [1, 1e300, 1], TIME, EVENT), "column 1 of the features goes from .* another unit"),
        (lambda m: m.fit(X * [1, 1, 1e-300], TIME, EVENT), "column 2 of the features"),
        (lambda m: m.fit(X, TIME, EVENT, seq=STEPS), r"and none of them 0; got \(200, 0, 2\)"),
        (lambda m: m.set_params(standardise="no").fit(X, TIME, EVENT), "standardise must be True or False; got 'no'"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_what_would_be_used_otherwise_than_meant_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(SODEN(**TINY))


def test_scikit_survival_outcomes(plain):
    from sksurv.util import Surv

    y = Surv.from_arrays(EVENT, TIME, name_event="death", name_time="futime")
    model = SODEN(**TINY).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    assert model.score(X, y) == plain.score(X, TIME, EVENT)


def test_times_alone_are_all_events_and_say_so():
    with pytest.warns(
        UserWarning, match=r"no events were given, so all 200 times count as observed events; pass event"
    ):
        alone = SODEN(**TINY).fit(X, TIME)
    said = SODEN(**TINY).fit(X, TIME, np.ones(200))
    np.testing.assert_array_equal(alone.predict(X), said.predict(X))


def test_data_frames_of_mixed_numbers(plain):
    frame = pd.DataFrame(X, columns=["age", "b", "c"])
    frame["flag"], frame["count"] = frame.age > 50, pd.array([1, 2] * 100, dtype="Int64")
    model = SODEN(**TINY).fit(frame, TIME, EVENT)
    assert list(model.feature_names_in_) == ["age", "b", "c", "flag", "count"]
    assert model.predict_survival(frame.iloc[:3], TIMES).shape == (3, 6)
    with pytest.warns(
        UserWarning, match="X does not have valid feature names, but SODEN was fitted with feature names"
    ):
        model.predict(frame.astype(float).to_numpy())
    with pytest.warns(UserWarning, match="X has feature names, but SODEN was fitted without"):
        plain.predict(frame[["age", "b", "c"]])
    assert not hasattr(model.fit(X, TIME, EVENT), "feature_names_in_")


def bad(array, value, at=(3, 1)):
    copy = np.array(array, dtype=float)
    copy[at[: copy.ndim]] = value
    return copy


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "match"),
    [
        ((bad(X, np.nan), TIME, EVENT), {}, ValueError, "X holds 1 values that are NaN or infinite.* column 1; impute"),
        ((X[:, 0], TIME, EVENT), {}, ValueError, r"Expected 2D array, got 1D array.*Reshape your data"),
        ((X[:, :, None], TIME, EVENT), {}, ValueError, r"got 3D array .*series go into seq="),
        ((X[:0], TIME[:0], EVENT[:0]), {}, ValueError, r"0 sample\(s\)"),
        ((X[:1], TIME[:1], EVENT[:1]), {}, ValueError, "n_samples=1: at least two subjects"),
        (
            (X, TIME[:-1], EVENT),
            {},
            ValueError,
            r"time must have one value per row of X, shape \(200,\); got shape \(199,\)",
        ),
        ((X, np.c_[EVENT, TIME]), {}, ValueError, "Pass times and events apart"),
        ((X, TIME, np.arange(200) == 0), {}, ValueError, "one event cannot be both trained and validated"),
        ((X, TIME.astype(str).astype(object) + "d", EVENT), {}, ValueError, "time is not numeric"),
        ((X, TIME, pd.array([True, None] * 100, dtype="boolean")), {}, ValueError, "event must be binary"),
        ((X, structured(), EVENT), {}, ValueError, "events came twice"),
        ((X, TIME, EVENT), {"time": TIME}, ValueError, "times came twice"),
        ((X,), {}, ValueError, "the target y is None: pass the observed times and events"),
        (
            (X, structured(kinds={"event": bool, "time": bool})),
            {},
            ValueError,
            "y needs two columns, the event .* and the time.* got event: bool, time: bool",
        ),
        ((X, TIME, EVENT), {"time_val": TIME}, ValueError, "validation data need X_val"),
        (
            (X, TIME, EVENT),
            {"X_val": X[:, :2], "time_val": TIME},
            ValueError,
            "X has 2 features, but SODEN is expecting 3",
        ),
        ((X, TIME, EVENT), {"X_val": X}, ValueError, "the target y is None"),
        (
            (X, TIME, EVENT),
            {"seq": np.zeros((200, 3, 1)), "X_val": X, "time_val": TIME, "event_val": EVENT},
            ValueError,
            "seq has 1 series per subject, seq_val 0; pass the same",
        ),
    ],
)
def test_fit_refuses(args, kwargs, error, match):
    with pytest.raises(error, match=match):
        SODEN(**TINY).fit(*args, **kwargs)


def test_fit_refuses_what_is_not_numeric():
    frame = pd.DataFrame({"age": X[:, 0], "sex": ["male", "female"] * 100})
    with pytest.raises(ValueError, match=r"column 'sex' of X is not numeric.*'male'.*pandas\.get_dummies"):
        SODEN(**TINY).fit(frame, TIME, EVENT)
    dates = np.full((200, 1), np.datetime64("2020-01-01"))
    with pytest.raises(TypeError, match="turn them into numbers, such as days since a date"):
        SODEN(**TINY).fit(dates, TIME, EVENT)
    frame["sex"] = pd.array([1, None] * 100, dtype="Int64")
    with pytest.raises(ValueError, match="X holds 100 values that are NaN or infinite, the first in column 'sex'"):
        SODEN(**TINY).fit(frame, TIME, EVENT)
    frame["sex"] = pd.Timestamp("2020-01-01")
    with pytest.raises(TypeError, match=r"column 'sex' of X is not numeric.*Turn dates into numbers, such as days"):
        SODEN(**TINY).fit(frame, TIME, EVENT)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"hidden": 0}, "hidden must be a whole number of at least 1; got 0"),
        ({"layers": 1.5}, "layers must be a whole number"),
        ({"lr": 0}, "lr must be a positive number"),
        ({"weight_decay": -1}, "weight_decay must be a number of at least 0"),
        ({"validation_split": 1.0}, "validation_split must be at least 0 and below 1"),
        ({"random_state": "a"}, "random_state must be a whole number of at least 0, or None"),
        ({"solver": "euler"}, "solver must be one of fast, adjoint, direct; got 'euler'"),
        ({"n_models": 0}, "n_models must be a whole number of at least 1; got 0"),
        ({"batch_size": "large"}, "batch_size must be a whole number of at least 1, or \"auto\"; got 'large'"),
        ({"verbose": 3}, r"verbose must be 0 \(silent\), 1 \(a bar\) or 2 \(a line per epoch\); got 3"),
    ],
)
def test_fit_refuses_parameters(params, match):
    with pytest.raises(ValueError, match=match):
        SODEN(**{**TINY, **params}).fit(X, TIME, EVENT)


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is there")
def test_a_missing_gpu_is_named():
    with pytest.raises(ValueError, match="device='cuda', but torch sees no GPU"):
        SODEN(**TINY, device="cuda").fit(X, TIME, EVENT)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda m: m.predict_survival(X[:, :2], TIMES), "X has 2 features, but SODEN is expecting 3 features"),
        (lambda m: m.predict_survival(bad(X, np.inf), TIMES), "X holds 1 values that are NaN or infinite"),
        (lambda m: m.predict_survival(X, [-1.0]), "times must be finite and not negative"),
        (lambda m: m.predict_survival(X, [[1.0]]), r"times must be one-dimensional; got shape \(1, 1\)"),
        (lambda m: m.predict_hazard(X, [np.nan]), "times must be finite"),
        (lambda m: m.predict_survival(X, TIMES, seq=np.zeros((200, 2, 1))), "fitted with no series.* been left out"),
        (lambda m: m.predict_quantile(X, 1.0), "q must lie between 0 and 1"),
        (lambda m: m.predict_median(X, horizon=0), "horizon must be positive"),
        (lambda m: m.score(X, np.full(200, 5.0), np.ones(200)), "no two subjects have a known order"),
        (lambda m: m.set_params(width=3), "Invalid parameter 'width' for SODEN; valid are: hidden, layers"),
    ],
)
def test_predictions_refuse(plain, call, match):
    with pytest.raises(ValueError, match=match):
        call(plain)


def test_series_are_checked():
    model = SODEN(**TINY).fit(X, TIME, EVENT, seq=np.random.default_rng(0).normal(size=(200, 3, 2)))
    with pytest.raises(
        ValueError, match=r"fitted with 2 series per subject, so seq must have shape \(n, steps, 2\); got none"
    ):
        model.predict(X)
    with pytest.raises(ValueError, match="SODENCox is linear in static features and takes no series"):
        SODENCox(**TINY).fit(X, TIME, EVENT, seq=np.zeros((200, 3, 2)))


@pytest.mark.parametrize("cls", CLASSES)
def test_nothing_works_before_fit(cls, tmp_path):
    from sklearn.exceptions import NotFittedError

    for call in (
        lambda m: m.predict_survival(X, TIMES),
        lambda m: m.predict_median(X),
        lambda m: m.score(X, TIME, EVENT),
        lambda m: m.log_likelihood(X, TIME, EVENT),
        lambda m: m.save(tmp_path / "x.pt"),
    ):
        with pytest.raises(NotFittedError, match=rf"This {cls.__name__} is not fitted yet: call fit\(X, time, event\)"):
            call(cls())


def test_repr_shows_what_was_changed():
    assert repr(SODEN()) == "SODEN()"
    assert repr(SODENCox(lr=0.1, device="cpu")) == "SODENCox(lr=0.1, device='cpu')"


# scikit-learn ------------------------------------------------------------------------------------------------------


# Other array libraries: that check skips itself unless SCIPY_ARRAY_API is set, and SODEN takes numpy arrays. Weights as
# repeated rows: true of the loss and its gradient (test_library_weights.py), not of a fit in random batches with rows
# held out at random; scikit-learn excuses its own estimators of that kind as well.
SKIPPED = ("array_api", "sample_weight_equivalence")


def sklearn_checks():
    """Every check of scikit-learn's suite but SKIPPED, for every class; none is expected to fail."""
    import warnings

    from sklearn.utils.estimator_checks import estimator_checks_generator

    with warnings.catch_warnings():  # it remarks that BaseEstimator is not inherited: soden does without scikit-learn
        warnings.filterwarnings("ignore", message=".*does not inherit from")
        pairs = [pair for cls in CLASSES for pair in estimator_checks_generator(cls(**TINY))]
    return [(estimator, check) for estimator, check in pairs if not any(skip in name_of(check) for skip in SKIPPED)]


def name_of(value):
    function = getattr(value, "func", None)
    return type(value).__name__ if function is None else getattr(function, "func", function).__name__


@pytest.mark.filterwarnings("ignore:no events were given:UserWarning")  # scikit-learn's checks have times alone
@pytest.mark.parametrize(("estimator", "check"), sklearn_checks(), ids=name_of)
def test_scikit_learns_checks(estimator, check):
    from unittest import SkipTest

    try:
        check(estimator)
    except SkipTest as reason:
        pytest.skip(str(reason))


@pytest.mark.filterwarnings("ignore:X (has|does not have):UserWarning", "ignore:no events were given:UserWarning")
@pytest.mark.parametrize("cls", CLASSES)
def test_scikit_learns_check_of_column_names(cls):
    from sklearn.utils.estimator_checks import check_dataframe_column_names_consistency

    check_dataframe_column_names_consistency(cls.__name__, cls(**TINY))


def test_pipeline_and_search():
    from sklearn.base import clone
    from sklearn.impute import SimpleImputer
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import make_pipeline

    y = structured()
    pipeline = make_pipeline(SimpleImputer(), SODENCox(**TINY))
    search = GridSearchCV(pipeline, {"sodencox__lr": [1e-5, 1e-1]}, cv=3, error_score="raise").fit(bad(X, np.nan), y)
    scores = search.cv_results_["mean_test_score"]
    assert search.best_params_["sodencox__lr"] == (1e-5, 1e-1)[int(np.argmax(scores))]
    assert search.score(X, y) == search.best_estimator_[-1].score(X, y)
    assert search.predict(X).shape == (200,)
    copy = clone(search.best_estimator_[-1])
    assert copy.get_params() == search.best_estimator_[-1].get_params()
    assert not hasattr(copy, "model_")
    assert cross_val_score(SODEN(**TINY), X, y, cv=2, error_score="raise").shape == (2,)


def test_works_where_only_torch_and_numpy_are_installed():
    code = """
import sys
for name in ("sklearn", "pandas", "scipy", "sksurv", "torchdiffeq", "matplotlib", "tqdm"):
    sys.modules[name] = None  # import fails
import numpy as np
import baselines.space
assert "torch" not in sys.modules  # planning a study imports search spaces only
from soden import SODEN
rng = np.random.default_rng(0)
X, time = rng.normal(size=(40, 2)), rng.exponential(size=40)
try:
    SODEN().predict(X)
except ValueError as error:
    print(error)
print(SODEN(max_epochs=1, verbose=1).fit(X, time, np.ones(40)).predict_survival(X, [1.0, 2.0]).shape)
"""
    run = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    assert "not fitted yet" in run.stdout
    assert "(40, 2)" in run.stdout


def test_the_package_names_its_estimators():
    import soden

    assert {"SODEN", "SODENPH", "SODENCox", "FitDiverged"} <= set(dir(soden))
    with pytest.raises(AttributeError, match="has no attribute 'Soden'"):
        soden.Soden  # noqa: B018
