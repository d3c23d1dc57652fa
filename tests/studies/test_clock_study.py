"""The study of the clock: files build data frames alone, corrected standard errors, and the table that is kept."""

import io
import pickle

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT

from benchmarks.studies import clock
from benchmarks.studies.__main__ import main

KEPT = ROOT / "benchmarks" / "studies" / "survset"


def test_what_is_no_data_frame_is_refused(tmp_path):
    frame = pd.DataFrame({"pid": [1, 2], "time": [1.0, 2.0], "fac_a": pd.Categorical(["x", "y"])})
    assert clock.FramesOnly(io.BytesIO(pickle.dumps(frame))).load().equals(frame)
    with pytest.raises(pickle.UnpicklingError, match=r"names builtins\.eval, which is no part of a data frame"):
        clock.FramesOnly(io.BytesIO(pickle.dumps(eval))).load()
    (tmp_path / "other.whl").write_bytes(b"not it")
    assert main(["clock", "--stage", "confirm", "--wheel", str(tmp_path / "other.whl"), "--out", "rows.csv"]) == 1


def test_standard_errors_are_nadeau_and_bengios():
    rng = np.random.default_rng(0)
    gaps = rng.normal(0.01, 0.01, 5)
    rows = [
        {"set": "a", "split": i, "variant": variant, "n": 100, "c": 0.6 + gain * gaps[i], "ibs": 0.2}
        | {f"{kind}{share:.0%}": 0.1 for kind in ("F", "KM") for share in clock.SHARES}
        for i in range(5)
        for variant, gain in (("Cox", 0), ("SODEN()", 1), ("linear time", 0))
    ]
    rows = pd.DataFrame(rows)
    rows["ibs"] += rng.normal(0, 1e-3, len(rows))
    line = clock.summary(rows).iloc[0]
    assert line["C: SODEN - Cox"] == pytest.approx(gaps.mean(), abs=1e-4)
    assert line["C: s.e."] == pytest.approx(np.sqrt(gaps.var(ddof=1) * (1 / 5 + 0.3 / 0.7)), abs=1e-4)
    assert line["incidence 10%"] == 1


def test_the_kept_table_is_that_of_the_kept_rows():
    again = clock.summary(pd.read_csv(KEPT / "rows.csv"))
    pd.testing.assert_frame_equal(pd.read_csv(KEPT / "confirmed.csv"), again, check_dtype=False)
