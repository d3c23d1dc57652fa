"""Figures hold the numbers they claim to hold; what they look like is in the documentation."""

import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from test_estimator import EVENT, SMALL, TIME, X

from soden import SODEN
from soden.plot import COLOURS, kaplan_meier

mpl.use("Agg")


@pytest.fixture(scope="module")
def fitted():
    return SODEN(**{**SMALL, "n_models": 3}).fit(X, TIME, EVENT)


@pytest.fixture(autouse=True)
def closed():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.mark.parametrize("kind", ["survival", "hazard"])
def test_lines_are_the_predictions_and_bands_their_range(fitted, kind):
    predict = getattr(fitted, f"predict_{kind}")
    ax = getattr(fitted, f"plot_{kind}")(X[:2], labels=["old", "young"])
    lines = ax.get_lines()
    t = lines[0].get_xdata()
    assert (t[0], t[-1]) == (0, TIME.max())
    for i, line in enumerate(lines):
        np.testing.assert_array_equal(line.get_ydata(), predict(X[:2], t)[i])
    band = ax.collections[1].get_paths()[0].vertices
    each = predict(X[1:2], t, members=True)
    assert band[:, 1].max() == pytest.approx(each.max())
    assert band[:, 1].min() == pytest.approx(each.min())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["old", "young"]


def test_axes_times_and_names_can_be_given():
    import matplotlib.pyplot as plt

    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=[f"p{i}" for i in range(200)])
    alone = SODEN(**SMALL).fit(frame, TIME, EVENT)
    _, ax = plt.subplots()
    assert alone.plot_survival(frame[:1], [300.0, 10.0], ax=ax) is ax
    alone.plot_survival(frame[1:2], [10.0, 300.0], ax=ax)
    assert [line.get_color() for line in ax.get_lines()] == list(COLOURS[:2])
    assert [line.get_label() for line in ax.get_lines()] == ["p0", "p1"]
    assert not ax.collections  # one model has no band
    np.testing.assert_array_equal(ax.get_lines()[0].get_xdata(), [10.0, 300.0])


def test_calibration_points_are_group_means_against_kaplan_meier(fitted):
    from sksurv.nonparametric import kaplan_meier_estimator

    ax = fitted.plot_calibration(X, TIME, EVENT, at=365.0, groups=4)
    points = [line for line in ax.get_lines() if line.get_marker() == "o"]
    S = fitted.predict_survival(X, [365.0])[:, 0]
    for point, rank in zip(points, np.array_split(np.argsort(S, kind="stable"), 4), strict=True):
        when, value = kaplan_meier_estimator(EVENT[rank], TIME[rank])
        assert point.get_xdata()[0] == pytest.approx(S[rank].mean())
        assert point.get_ydata()[0] == pytest.approx(value[when <= 365.0][-1])


def test_kaplan_meier_is_that_of_lifelines():
    from lifelines import KaplanMeierFitter

    entry = TIME * (np.arange(200) % 2) / 3
    for at in (100.0, 400.0):
        peer = KaplanMeierFitter().fit(TIME, EVENT, entry=entry, timeline=[0.0, at])
        low, high = peer.confidence_interval_.loc[at]
        found = kaplan_meier(TIME, EVENT, entry, at)
        assert found == pytest.approx((peer.survival_function_.loc[at].item(), low, high), abs=1e-6)
    assert kaplan_meier(TIME, EVENT, 0 * TIME, TIME.min() / 2) == (1.0, 1.0, 1.0)
    assert kaplan_meier(TIME, np.ones(200, bool), 0 * TIME, TIME.max()) == (0.0, 0.0, 0.0)
    at_once = np.where(np.arange(200) < 20, 0.0, TIME)  # a tenth dies on the day it comes
    assert kaplan_meier(at_once, np.ones(200, bool), 0 * TIME, TIME.min() / 2)[0] == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda m: m.plot_survival(X[:8]), "8 curves cannot be told apart; pass at most 7 rows of X"),
        (lambda m: m.plot_hazard(X[:2], labels=["a"]), "labels must name each row of X, 2 of them; got 1"),
        (lambda m: m.plot_calibration(X, TIME, EVENT, at=1e9), r"at=1e\+09 lies outside of the observed times, 0 to"),
        (
            lambda m: m.plot_calibration(X, TIME, EVENT, groups=0),
            "groups must be between 1 and the number of subjects, 200",
        ),
    ],
)
def test_plots_refuse(fitted, call, match):
    with pytest.raises(ValueError, match=match):
        call(fitted)


def test_plots_say_that_they_need_matplotlib(fitted, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"plots need matplotlib; install it, or soden\[plot\]"):
        fitted.plot_survival(X[:1])
