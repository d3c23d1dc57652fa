"""SurvivalData refuses bad data at the door, with a text that says what came, what was wanted and what to do."""

import numpy as np
import pytest

from soden.types import SurvivalData, concatenate

GOOD = {"time": [1.0, 2.0, 0.5], "event": [1, 0, 1], "x": np.zeros((3, 2))}
BAD = [
    ({"time": [1.0, np.nan, 0.5]}, r"time holds 1 missing or infinite values; impute or drop them first"),
    ({"time": [1.0, np.inf, 0.5]}, r"time holds 1 missing or infinite"),
    (
        {"time": [1.0, -2.0, 0.5]},
        r"time must not be negative, and above 0 for at least one subject; 1 subjects have time < 0 \(smallest -2\)",
    ),
    ({"time": [0.0, 0.0, 0.0]}, r"above 0 for at least one subject; 0 subjects have time < 0 \(smallest 0\)"),
    ({"time": [[1.0], [2.0], [3.0]]}, r"time must be one-dimensional, one value per subject; got shape \(3, 1\)"),
    ({"time": [1.0], "event": [1], "x": [[0.0]]}, r"survival data need at least two subjects; got 1"),
    ({"time": [], "event": [], "x": np.zeros((0, 2))}, r"at least two subjects; got 0"),
    ({"event": [1, 0]}, r"event must have one value per subject, shape \(3,\); got shape \(2,\)"),
    ({"event": [1, 0, 2]}, r"event must be binary: 1 or True where the event was observed, 0 or False where censored"),
    ({"event": [1, 0, np.nan]}, r"event must be binary"),
    ({"event": ["yes", "no", "yes"]}, r"event must be binary"),
    ({"event": [0, 0, 0]}, r"no events: every subject is censored, so there is nothing to learn the hazard from"),
    ({"x": np.zeros((2, 2))}, r"x must be a matrix with one row per subject, shape \(3, p\); got shape \(2, 2\)"),
    ({"x": np.zeros(3)}, r"x must be a matrix.*got shape \(3,\)"),
    ({"x": [[0.0, np.nan], [np.nan, 0.0], [0.0, 0.0]]}, r"x holds 2 missing.*imputes with the training mean"),
    ({"seq": np.zeros((3, 4))}, r"seq must have shape \(3, steps, channels\); got shape \(3, 4\)"),
    ({"seq": np.zeros((2, 4, 5))}, r"seq must have shape \(3, steps, channels\); got shape \(2, 4, 5\)"),
    ({"seq": np.full((3, 4, 5), np.inf)}, r"seq holds 60 missing or infinite values"),
]


@pytest.mark.parametrize(("change", "text"), BAD)
def test_bad_data_are_refused(change: dict[str, object], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        SurvivalData(**GOOD | change)


def test_types_are_settled_once() -> None:
    data = SurvivalData(**GOOD, seq=np.ones((3, 2, 1), dtype=int))
    assert (data.time.dtype, data.event.dtype, data.x.dtype, data.seq.dtype) == (
        np.float64,
        bool,
        np.float32,
        np.float32,
    )
    assert len(data) == 3
    assert data.event.tolist() == [True, False, True]


def test_take_keeps_the_given_order_and_a_part_may_lack_events() -> None:
    part = SurvivalData(**GOOD, seq=np.arange(6).reshape(3, 2, 1)).take(np.array([1]))
    assert part.time.tolist() == [2.0]
    assert not part.event.any()
    assert part.seq.ravel().tolist() == [2, 3]


def test_concatenate_stacks() -> None:
    data = SurvivalData(**GOOD)
    both = concatenate(data, data)
    assert both.time.tolist() == [1.0, 2.0, 0.5] * 2
    assert both.x.shape == (6, 2)
    assert both.seq is None
