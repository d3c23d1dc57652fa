"""What single differences between text and numbers do: Cox on the authors' 20 splits, one thing changed at a time.

`python tests/test_deviations_cox.py` writes benchmarks/report/deviations_cox.csv again; the test measures and compares.
"""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from baselines.cox import Cox
from benchmarks.data import Dataset
from benchmarks.metrics import base, integrated
from benchmarks.metrics.censoring import fit_censoring
from benchmarks.metrics.evaluate import evaluate
from benchmarks.report import deviations
from benchmarks.study.verify import DATASETS, METRICS, SPLITS, released_parts

FILE = Path(deviations.__file__).with_name("deviations_cox.csv")
CHANGES = ("none", "100 grid points", "G as a step function")


def scored(change: str, models: dict[tuple[str, int], Cox]) -> pd.DataFrame:
    rows = []
    with pytest.MonkeyPatch.context() as patch:
        if change == "100 grid points":
            patch.setitem(integrated.GRID_POINTS, "published", 100)
        elif change == "G as a step function":
            patch.setattr(
                base, "fit_censoring", lambda time, event, interpolate: fit_censoring(time, event, interpolate=False)
            )
        for (dataset, split), model in models.items():
            test = released_parts(dataset, split)[2]
            found = evaluate(test.time, test.event, lambda t, m=model, d=test: m.predict_survival(d, t))
            rows += [(dataset, split, s.metric, s.g_tau, s.value) for s in found if s.metric in METRICS]
    frame = pd.DataFrame(rows, columns=["dataset", "split", "metric", "g_tau", change])
    return frame.groupby(["dataset", "metric", "g_tau"])[change].mean().to_frame()


def measure() -> pd.DataFrame:
    """Mean and largest |change| over truncations of the means over splits, which are what the tables print."""
    models = {}
    for dataset in DATASETS:
        for split in SPLITS:
            train, valid, _ = released_parts(dataset, split)
            models[dataset, split] = Cox()
            models[dataset, split].fit(train, valid)
    wide = pd.concat([scored(change, models) for change in CHANGES], axis=1)
    out = []
    for change in CHANGES[1:]:
        gap = (wide[change] - wide["none"]).abs().groupby(["dataset", "metric"], sort=False)
        out += [(change, *key, round(part.mean(), 5), round(part.max(), 5)) for key, part in gap]
    frame = pd.DataFrame(out, columns=["change", "dataset", "metric", "mean", "largest"])
    return frame[frame["largest"] > 0].reset_index(drop=True)


@pytest.mark.slow
def test_the_single_effects_are_as_the_report_says(load_public: Callable[[str], Dataset]) -> None:
    for name in DATASETS:
        load_public(name)
    pd.testing.assert_frame_equal(measure(), pd.read_csv(FILE), atol=1.5e-5)


if __name__ == "__main__":
    measure().to_csv(FILE, index=False)
