"""scikit-survival's and scikit-learn's tools used on SODEN, as on their own estimators."""

import numpy as np
import pytest
from test_estimator import CLASSES, EVENT, SMALL, TIME, X
from test_estimator_inputs import structured

from soden import SODEN

Y = structured()
TIMES = np.linspace(60, 900, 15)


@pytest.fixture(scope="module", params=CLASSES, ids=lambda cls: cls.__name__)
def fitted(request):
    return request.param(**SMALL).fit(X, Y)


def test_step_functions_step_through_the_curves(fitted):
    from sksurv.functions import StepFunction

    functions = fitted.predict_survival_function(X[:4])
    values = fitted.predict_survival_function(X[:4], return_array=True)
    assert all(isinstance(f, StepFunction) for f in functions)
    np.testing.assert_array_equal(fitted.unique_times_, np.unique(TIME))
    np.testing.assert_array_equal(values, fitted.predict_survival(X[:4], fitted.unique_times_))
    np.testing.assert_array_equal(functions[2](fitted.unique_times_), values[2])
    assert functions[0].domain == (0, TIME.max())
    hazards = fitted.predict_cumulative_hazard_function(X[:4])
    np.testing.assert_allclose(np.exp(-hazards[1](TIMES)), functions[1](TIMES))
    np.testing.assert_array_equal(
        fitted.predict_cumulative_hazard_function(X[:4], return_array=True),
        fitted.predict_cumulative_hazard(X[:4], fitted.unique_times_),
    )


def test_many_times_are_thinned():
    rng = np.random.default_rng(0)
    time = rng.exponential(size=3000)
    model = SODEN(**{**SMALL, "max_epochs": 1}).fit(rng.normal(size=(3000, 1)), time, np.ones(3000))
    assert len(model.unique_times_) == 1000
    assert model.unique_times_[[0, -1]].tolist() == [time.min(), time.max()]


@pytest.mark.parametrize("scorer", ["ipcw", "brier", "auc"])
def test_scikit_survivals_scorers(scorer):
    """A scorer's `score` is its own function of SODEN's predictions; the Brier score of the smooth curves is near."""
    from sksurv import metrics

    wrap = {
        "ipcw": lambda m: metrics.as_concordance_index_ipcw_scorer(m, tau=900),
        "brier": lambda m: metrics.as_integrated_brier_score_scorer(m, times=TIMES),
        "auc": lambda m: metrics.as_cumulative_dynamic_auc_scorer(m, times=TIMES),
    }[scorer]
    model = wrap(SODEN(**SMALL)).fit(X, Y)
    soden = model.estimator_
    expected = {
        "ipcw": lambda: metrics.concordance_index_ipcw(Y, Y, soden.predict(X), tau=900)[0],
        "auc": lambda: metrics.cumulative_dynamic_auc(Y, Y, soden.predict(X), TIMES)[1],
        "brier": lambda: -metrics.integrated_brier_score(Y, Y, soden.predict_survival(X, TIMES), TIMES),
    }[scorer]()
    # A step function is late by less than the gap to the last of 200 training times.
    assert model.score(X, Y) == pytest.approx(expected, abs=2e-3 if scorer == "brier" else 1e-12)


def test_a_search_by_the_brier_score():
    from sklearn.model_selection import GridSearchCV
    from sksurv.metrics import as_integrated_brier_score_scorer

    grid = {"estimator__max_epochs": [1, 12]}
    # scikit-survival estimates censoring on the training part, which must reach as far as the test part does.
    folds = [
        (np.setdiff1d(np.arange(200), part), part) for part in (np.sort(np.argsort(TIME)[i:-5:3]) for i in range(3))
    ]
    scored = as_integrated_brier_score_scorer(SODEN(**SMALL), TIMES)
    search = GridSearchCV(scored, grid, cv=folds, error_score="raise").fit(X, Y)
    assert search.best_params_ == {"estimator__max_epochs": 12}
    assert -0.25 < search.best_score_ < 0


@pytest.mark.filterwarnings("ignore:One or more of the test scores:UserWarning")
def test_a_search_that_hands_no_events_to_score_is_told_so():
    """GridSearchCV hands `event` to fit and not to score: an error, or a warning and no score."""
    from sklearn.model_selection import GridSearchCV, cross_val_score

    lost = r"hands `event` to fit but not to score[\s\S]* Surv\.from_arrays\(event, time\)"
    with pytest.raises(ValueError, match=lost):
        cross_val_score(SODEN(**SMALL), X, TIME, params={"event": EVENT}, cv=2, error_score="raise")
    search = GridSearchCV(SODEN(**SMALL), {"lr": [1e-3]}, cv=2)
    with pytest.warns(UserWarning, match=lost):
        search.fit(X, TIME, event=EVENT)
    assert np.isnan(search.best_score_)


def test_events_apart_serve_a_scorer_that_knows_them():
    from sklearn.model_selection import KFold, cross_val_score

    event_at = dict(zip(TIME, EVENT, strict=True))

    def scorer(model, X, time):
        return model.score(X, time, [event_at[t] for t in time])

    found = cross_val_score(SODEN(**SMALL), X, TIME, params={"event": EVENT}, scoring=scorer, cv=KFold(2))
    np.testing.assert_array_equal(found, cross_val_score(SODEN(**SMALL), X, Y, cv=KFold(2)))


def test_events_apart_are_routed_where_routing_is_on():
    import sklearn
    from sklearn.model_selection import GridSearchCV

    grid = {"lr": [1e-3, 1e-2]}
    together = GridSearchCV(SODEN(**SMALL), grid, cv=2, error_score="raise").fit(X, Y)
    with sklearn.config_context(enable_metadata_routing=True):
        apart = GridSearchCV(SODEN(**SMALL), grid, cv=2, error_score="raise").fit(X, TIME, event=EVENT)
    np.testing.assert_array_equal(apart.cv_results_["mean_test_score"], together.cv_results_["mean_test_score"])


def test_weights_and_entries_are_routed():
    import sklearn
    from sklearn.model_selection import cross_validate

    with sklearn.config_context(enable_metadata_routing=True):
        params = {"event": EVENT, "entry": TIME / 2, "sample_weight": np.ones(200)}
        found = cross_validate(SODEN(**SMALL), X, TIME, params=params, cv=2, error_score="raise", return_estimator=True)
    model = found["estimator"][1]
    # The second test part of an unshuffled split is the second half.
    assert found["test_score"][1] == model.score(X[100:], TIME[100:], EVENT[100:], entry=TIME[100:] / 2)
    assert model.n_samples_ == 100


def test_cross_val_score_is_the_score_of_each_part():
    from sklearn.model_selection import KFold, cross_val_score

    folds = KFold(3)
    found = cross_val_score(SODEN(**SMALL), X, Y, cv=folds, error_score="raise")
    by_hand = [SODEN(**SMALL).fit(X[a], Y[a]).score(X[b], Y[b]) for a, b in folds.split(X)]
    assert found.tolist() == by_hand


# shap colours its maps by methods that matplotlib is about to rename.
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning:shap")
def test_survshap_explains_a_curve():
    """Shapley's efficiency: at each time the contributions sum to S of this person minus the mean S of the background.

    The hazard of simulate() hangs on the first feature alone.
    """
    import pandas as pd
    from survshap import PredictSurvSHAP, SurvivalModelExplainer

    frame = pd.DataFrame(X, columns=["age", "noise", "scale"])
    model = SODEN(**{**SMALL, "max_epochs": 30}).fit(frame, Y)
    old = frame.nlargest(1, "age")
    explained = PredictSurvSHAP(random_state=0)
    explained.fit(SurvivalModelExplainer(model, frame[:50], Y[:50]), old)
    parts = explained.result.set_index("variable_name").filter(like="t = ")
    S = model.predict_survival(pd.concat([old, frame[:50]]), explained.timestamps)
    # survshap solves a weighted regression for them, with a ridge of its own.
    np.testing.assert_allclose(parts.sum(), S[0] - S[1:].mean(axis=0), atol=1e-6)
    assert parts.abs().mean(axis=1).idxmax() == "age"


def test_permutation_importance_finds_the_feature_that_counts():
    from sklearn.inspection import permutation_importance

    model = SODEN(**{**SMALL, "max_epochs": 30}).fit(X, Y)
    found = permutation_importance(model, X, Y, n_repeats=3, random_state=0)
    assert np.argmax(found.importances_mean) == 0  # simulate(): the hazard hangs on the first
