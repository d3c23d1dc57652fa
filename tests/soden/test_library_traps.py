"""Mistakes people make with outcomes, devices and files, and the words they meet."""

import datetime
import pickle
import traceback

import numpy as np
import pandas as pd
import pytest
import torch
from test_estimator import EVENT, SMALL, TIME, TIMES, X
from test_estimator_inputs import TINY, bad

from soden import SODEN, SODENPH

pytestmark = pytest.mark.filterwarnings("ignore:times beyond horizon_:UserWarning")

CODES = EVENT * (1 + np.arange(200) % 2)  # 0, 1, 2
DAYS = np.datetime64("2020-01-01") + TIME.astype("m8[D]")


@pytest.mark.parametrize(
    ("outcome", "error", "match"),
    [
        (
            (TIME, CODES),
            ValueError,
            r"binary.* found 0, 1, 2\. Several kinds of events are competing risks and need one model per cause: fit "
            "each with event == code and the others censored",
        ),
        ((TIME, 1 + EVENT), ValueError, r"found 1, 2\. If 2 is the event, as R's survival has it, pass event == 2"),
        ((TIME, EVENT - 0.5), ValueError, r"found -0\.5, 0\.5$"),
        ((TIME, np.arange(200.0)), ValueError, r"found 0, 1, 2, 3, 4, 5, \.\.\.$"),
        (
            (TIME, np.where(EVENT, "dead", "alive")),
            ValueError,
            r"binary.* found 'alive', 'dead'\. Compare them with the",
        ),
        ((TIME, bad(1.0 * EVENT, np.nan)), ValueError, "binary.*; 1 are missing or infinite.* drop them, or, if they"),
        ((EVENT, TIME), ValueError, r"time holds nothing but 0 and 1, .* they came swapped; fit\(X, time, event\)"),
        (
            (bad(TIME, np.nan), EVENT),
            ValueError,
            "time holds 1 missing or infinite values. A time cannot be imputed: drop these subjects, or, if they were "
            "still under observation, pass the last time they were seen with event 0",
        ),
        (
            (DAYS, EVENT),
            TypeError,
            r"time holds dates: datetime64\[D\]; pass durations as numbers, such as \(end - start\)",
        ),
        (([datetime.date(2020, 1, 2)] * 200, EVENT), TypeError, "time holds dates: object; pass durations as numbers"),
        (([None, *[datetime.date(2020, 1, 2)] * 199], EVENT), TypeError, "time holds dates: object"),
        ((pd.Series(DAYS), EVENT), TypeError, "time holds dates"),
        (
            (pd.to_timedelta(TIME, "D"), EVENT),
            TypeError,
            r"time holds durations of type timedelta64\[ns\]; pass durations",
        ),
        ((pd.DataFrame({"a": TIME, "b": TIME}),), ValueError, "y needs .* got a: float64, b: float64. Or pass"),
        (
            (pd.DataFrame({"censored": ~EVENT, "t": TIME}),),
            ValueError,
            "the event is its opposite: pass time and event = ~",
        ),
    ],
)
def test_outcomes_are_refused_with_advice(outcome, error, match):
    with pytest.raises(error, match=match):
        SODEN(**TINY).fit(X, *outcome)


def test_dates_are_refused_wherever_times_are_asked_for():
    """Numpy would count their ticks: 2020 is day 18,262."""
    model = SODEN(**TINY).fit(X, TIME, EVENT)
    for call in (
        lambda: SODEN(**TINY).fit(X, TIME, EVENT, entry=DAYS),
        lambda: model.predict_survival(X, DAYS[:2]),
        lambda: model.plot_survival(X[:1], DAYS),
    ):
        with pytest.raises(TypeError, match=r"(entry|times) holds dates: datetime64\[D\]; pass durations as numbers"):
            call()
    with pytest.raises(ValueError, match=r"times is not numeric: .* Pass durations as numbers, such as days"):
        model.predict_hazard(X, ["soon"])


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"duration": np.ceil(TIME).astype(int), "status": EVENT.astype(int)}),
        pd.DataFrame({"fustat": EVENT.astype(int), "futime": np.ceil(TIME)}),
        pd.DataFrame({"a": np.ceil(TIME).astype(int), "b": EVENT.astype(float)}),
        pd.DataFrame({"Death": EVENT, "days": np.ceil(TIME)}),
    ],
)
def test_frames_of_plain_numbers_are_understood(frame):
    """The same fit as with times and events apart."""
    apart = SODEN(**TINY).fit(X, np.ceil(TIME), EVENT)
    np.testing.assert_array_equal(SODEN(**TINY).fit(X, frame).predict(X), apart.predict(X))


def test_scores_do_not_take_the_censored_for_events():
    model = SODEN(**TINY).fit(X, TIME, EVENT)
    for judge in (model.score, model.log_likelihood):
        with pytest.raises(
            ValueError, match=r"times without events, but the model was fitted to censored times.* Pass event"
        ):
            judge(X, TIME)
    everyone = SODEN(**TINY).fit(X, TIME, np.ones(200))
    assert everyone.score(X, TIME) == everyone.score(X, TIME, np.ones(200))


@pytest.mark.parametrize(
    ("device", "match"),
    [
        ("gpu", r"device must be 'auto', 'cpu', 'cuda' .*; got 'gpu'\. torch's name for a GPU is 'cuda'"),
        ("mps", "Apple's GPUs have no float64, which predictions are made in; use device='cpu'"),
        ("GPU", "torch's name for a GPU is 'cuda'"),
        ("tpu:1", "got 'tpu:1'"),
    ],
)
def test_devices_are_named(device, match, tmp_path):
    with pytest.raises(ValueError, match=match):
        SODEN(**TINY, device=device).fit(X, TIME, EVENT)
    SODEN(**TINY).fit(X, TIME, EVENT).save(tmp_path / "model.pt")
    with pytest.raises(ValueError, match=match):
        SODEN.load(tmp_path / "model.pt", device=device)


class Evil:
    """Its pickle would run a command."""

    def __reduce__(self):
        import os

        return os.system, ("exit 1",)


def test_files_that_are_no_models_are_refused_in_our_words(tmp_path):
    path = tmp_path / "model.pt"
    SODENPH(**TINY).fit(X, TIME, EVENT).save(path)
    whole = path.read_bytes()
    torch.save({"estimator": "SODENPH", "format": Evil()}, tmp_path / "evil.pt")
    contents = {"cut.pt": whole[: len(whole) // 2], "text.pt": b"hello", "empty.pt": b"", "evil.pt": None}
    contents |= {"pickle.pt": pickle.dumps({"estimator": "SODENPH"}, protocol=4)}  # torch warns of such
    for name, content in contents.items():
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(
            ValueError, match=rf"{name} is not a file that SODENPH\.save wrote, or it is damaged or cut off"
        ) as caught:
            SODENPH.load(tmp_path / name)
        assert "Nothing in it was run" in str(caught.value)
        assert "weights_only" not in "".join(traceback.format_exception(caught.value))  # torch's advice
    state = torch.load(path, weights_only=True)
    for name, other in {"less": {"params": None}, "more": {"params": state["params"] | {"charm": 1}}}.items():
        torch.save(state | other | {"version": "9.9"}, tmp_path / name)
        with pytest.raises(
            ValueError, match=rf"{name} was saved by soden 9\.9 and cannot be read by this, 2\..*fit again"
        ):
            SODENPH.load(tmp_path / name)
    torch.save({"estimator": "SODENPH", "format": 99}, path)
    with pytest.raises(ValueError, match="was saved in format 99, this soden reads 1 to 2"):
        SODENPH.load(path)
    with pytest.raises(FileNotFoundError):
        SODENPH.load(tmp_path / "absent.pt")


def test_ensembles_are_saved_whole(tmp_path):
    model = SODEN(**{**SMALL, "n_models": 2}).fit(X, TIME, EVENT)
    model.save(tmp_path / "model.pt")
    again = SODEN.load(tmp_path / "model.pt")
    np.testing.assert_array_equal(
        again.predict_survival(X, TIMES, members=True), model.predict_survival(X, TIMES, members=True)
    )
    np.testing.assert_array_equal(again.unique_times_, model.unique_times_)
    assert again.summary() == model.summary()
    assert again.set_params(warm_start=True, max_epochs=1).fit(X, TIME, EVENT).n_samples_ == 200


def test_step_functions_need_scikit_survival(monkeypatch):
    import sys

    model = SODEN(**TINY).fit(X, TIME, EVENT)
    monkeypatch.setitem(sys.modules, "sksurv.functions", None)
    with pytest.raises(
        ImportError, match="step functions are scikit-survival's: install it, or ask for return_array=True"
    ):
        model.predict_survival_function(X)
    assert model.predict_survival_function(X, return_array=True).shape == (200, 200)
