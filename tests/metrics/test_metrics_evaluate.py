"""The evaluator: one question to the model, every metric found by its folder, clear errors, nothing hidden."""

import importlib

import numpy as np
import pytest
from support.metrics_cases import cohort

from benchmarks.metrics.base import LEVELS, Metric, Outcome, Prediction, discover, metrics
from benchmarks.metrics.evaluate import evaluate, evaluate_all

TIME, EVENT, RATE, SHAPE = cohort(150, seed=11)


def curves(times):
    return np.exp(-((RATE[:, None] * times) ** SHAPE[:, None]))


def test_the_model_is_asked_once_for_sorted_distinct_times_and_every_event_time_itself():
    asked = []
    evaluate(TIME, EVENT, lambda t: asked.append(t) or curves(t))
    (times,) = asked
    assert (np.diff(times) > 0).all()
    assert np.isin(TIME, times).all()


@pytest.mark.parametrize("convention", ["published", "text"])
def test_every_metric_reports_once_per_level(convention):
    scores = evaluate(TIME, EVENT, curves, np.ones(150), convention)
    expected = {(m.name, level) for m in metrics().values() for level in (LEVELS if m.truncated else [""])}
    assert {(s.metric, s.g_tau) for s in scores} == expected
    assert len(scores) == len(expected)
    assert np.isfinite([s.value for s in scores]).all()


def test_the_metrics_are_found():
    assert set(metrics()) >= {"ctd", "ibs", "ibll", "nll", "antolini", "uno", "dcal", "dcal_p"}


@pytest.mark.parametrize("name", discover())
def test_every_measure_keeps_the_contract(name):
    measure = discover()[name]
    assert measure.name == name
    assert measure.label
    times = measure.times(Outcome(TIME, EVENT))
    assert ((times >= 0) & (times <= TIME.max())).all()
    if isinstance(measure, Metric):
        assert isinstance(measure.higher_is_better, bool)
        assert isinstance(measure.truncated, bool)
        for outcome in (Outcome(TIME, EVENT), Outcome([1.0, 2.0], [0, 0])):  # the second without events: nan is right
            at = np.unique(np.concatenate([m.times(outcome) for m in discover().values()]))
            survival = curves(at)[: len(outcome.time)]
            prediction = Prediction(outcome, at, survival, np.ones(len(survival)))
            values = [measure.compute(prediction, level) for level in (LEVELS if measure.truncated else [""])]
            assert all(isinstance(value, float) and not np.isinf(value) for value in values)


def test_a_metric_is_added_with_one_file(tmp_path, monkeypatch):
    (tmp_path / "share_alive.py").write_text(
        "import numpy as np\n"
        "from benchmarks.metrics.base import Metric\n"
        "class ShareAlive(Metric):\n"
        "    name, label, higher_is_better, truncated = 'share_alive', 'Alive at 1', True, False\n"
        "    def times(self, outcome): return np.array([1.0])\n"
        "    def compute(self, prediction, level): return float(prediction.at(np.array([1.0])).mean())\n"
    )
    folder = importlib.import_module("benchmarks.metrics")
    monkeypatch.setattr(folder, "__path__", [*folder.__path__, str(tmp_path)])
    discover.cache_clear()
    try:
        scores = {s.metric: s.value for s in evaluate(TIME, EVENT, curves)}
    finally:
        discover.cache_clear()
    assert scores["share_alive"] == pytest.approx(curves(np.array([1.0])).mean())


def test_two_metrics_of_one_name_are_refused(tmp_path, monkeypatch):
    (tmp_path / "again.py").write_text(
        "from benchmarks.metrics.ibs import IntegratedBrierScore as I\nclass J(I): pass\n"
    )
    folder = importlib.import_module("benchmarks.metrics")
    monkeypatch.setattr(folder, "__path__", [*folder.__path__, str(tmp_path)])
    discover.cache_clear()
    try:
        with pytest.raises(ValueError, match="two metrics are called 'ibs'; give one another name"):
            discover()
    finally:
        discover.cache_clear()


def test_nll_is_left_out_without_a_likelihood_and_chunked_as_published_with_one():
    assert "nll" not in {s.metric for s in evaluate(TIME, EVENT, curves)}
    n = 1500
    time, event, rate, shape = cohort(n, seed=12)
    terms = np.arange(n, dtype=float)

    def nll(convention):
        scores = evaluate(time, event, lambda t: np.exp(-((rate[:, None] * t) ** shape[:, None])), terms, convention)
        return next(s.value for s in scores if s.metric == "nll")

    ordered = terms[np.argsort(time)]
    assert nll("text") == pytest.approx(terms.mean())
    assert nll("published") == pytest.approx((ordered[:1024].mean() + ordered[1024:].mean()) / 2)


def test_nll_without_terms_says_so():
    prediction = Prediction(Outcome(TIME, EVENT), np.empty(0), np.empty((150, 0)))
    with pytest.raises(ValueError, match="no continuous-time likelihood"):
        metrics()["nll"].compute(prediction, "")


def test_single_precision_and_read_only_predictions_give_the_same_scores():
    whole = evaluate(TIME, EVENT, curves)

    def single(times):
        survival = curves(times).astype(np.float32)
        survival.flags.writeable = False
        return survival

    for a, b in zip(whole, evaluate(TIME, EVENT, single), strict=True):
        assert a.value == pytest.approx(b.value, abs=1e-6), a


def test_curves_come_from_the_same_question():
    result = evaluate_all(TIME, EVENT, curves)
    assert {r.horizon for r in result.curves["calibration"]} <= set(TIME[EVENT])
    assert result.scores == evaluate(TIME, EVENT, curves)


@pytest.mark.parametrize("convention", ["published", "text"])
@pytest.mark.parametrize("event", [[0, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [1, 1, 1, 1]])
def test_tiny_and_one_sided_outcomes_give_a_number_or_nan_but_no_warning(convention, event):
    time = np.array([1.0, 2.0, 2.0, 5.0])
    scores = evaluate(time, np.array(event), lambda t: np.exp(-np.outer([0.1, 0.2, 0.3, 0.4], t)), None, convention)
    assert not any(np.isinf(s.value) for s in scores)
    if not any(event):
        assert all(np.isnan(s.value) for s in scores if s.metric in ("ctd", "antolini", "uno"))


def test_survival_of_the_wrong_shape_is_refused():
    with pytest.raises(
        ValueError, match=r"one row per subject and one column per time, shape \(150, \d+\); got \(150, 3\)"
    ):
        evaluate(TIME, EVENT, lambda t: np.ones((150, 3)))


@pytest.mark.parametrize("bad", [np.nan, 1.1, -0.01])
def test_survival_that_is_no_probability_is_refused(bad):
    def predict(times):
        survival = curves(times)
        survival[3, 4] = bad
        return survival

    with pytest.raises(ValueError, match=r"must lie in \[0, 1\]; got values from .* report it as failed"):
        evaluate(TIME, EVENT, predict)


def test_rounding_just_outside_the_unit_interval_is_clipped():
    outcome = Outcome(np.array([1.0, 2.0]), np.array([True, True]))
    prediction = Prediction(outcome, np.array([1.0]), np.array([[1 + 1e-7], [-1e-7]]))
    assert prediction.survival.tolist() == [[1.0], [0.0]]


def test_nll_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match=r"nll must have one value per subject, shape \(150,\); got \(2,\)"):
        evaluate(TIME, EVENT, curves, np.ones(2))


@pytest.mark.parametrize(
    ("time", "event", "message"),
    [
        ([1.0, 2.0], [1], r"got shapes \(2,\) and \(1,\)"),
        ([], [], r"got shapes \(0,\) and \(0,\)"),
        ([1.0, np.nan], [1, 0], "time must be finite and not negative"),
        ([1.0, -2.0], [1, 0], "time must be finite and not negative"),
        ([1.0, 2.0], [1, 2], "event must be binary"),
    ],
)
def test_bad_outcomes_are_refused(time, event, message):
    with pytest.raises(ValueError, match=message):
        Outcome(np.array(time), np.array(event))


def test_an_unknown_convention_is_refused():
    with pytest.raises(ValueError, match="convention must be one of published, text; got 'paper'"):
        evaluate(TIME, EVENT, curves, convention="paper")


def test_a_time_that_was_not_announced_is_refused():
    prediction = Prediction(Outcome(TIME, EVENT), np.array([1.0]), np.ones((150, 1)))
    with pytest.raises(KeyError, match="`times` method did not announce"):
        prediction.at(np.array([2.0]))
