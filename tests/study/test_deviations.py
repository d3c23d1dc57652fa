"""Effects of single deviations: their own formulas equal the metrics', and what the report says comes out again."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from benchmarks.data import Dataset
from benchmarks.metrics.base import LEVELS
from benchmarks.metrics.evaluate import evaluate
from benchmarks.results.deviations import FILE
from benchmarks.study import deviations
from benchmarks.study.deviations import CHANGES, Reading, integrated
from soden.types import FloatArray, SurvivalData


def part() -> tuple[SurvivalData, Callable[[FloatArray], FloatArray]]:
    """The last two subjects are censored, so that G ends at 0 before the last time."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 1))
    latent, censored = rng.exponential(np.exp(-x[:, 0])), rng.uniform(0.2, 3, 80)
    time, event = np.minimum(latent, censored) + 0.01, latent <= censored
    order = np.argsort(time)
    event[order[-2:]] = False
    return SurvivalData(time, event, x), lambda t: np.exp(-np.exp(0.7 * x) * t)


def test_without_a_change_they_are_the_metrics() -> None:
    test, survival = part()
    wanted = {(s.metric, s.g_tau): s.value for s in evaluate(test.time, test.event, survival)}
    for level in LEVELS:
        ibs, ibll = integrated(test, survival, level, Reading())
        assert ibs == pytest.approx(wanted["ibs", level], rel=1e-12)
        assert ibll == pytest.approx(wanted["ibll", level], rel=1e-12)


def test_each_change_changes_what_it_should() -> None:
    test, survival = part()
    plain = {level: integrated(test, survival, level, Reading()) for level in LEVELS}
    for change, how in CHANGES.items():
        for level in LEVELS:
            same = integrated(test, survival, level, how) == plain[level]
            assert same == (change == "stretched grid" and level != "1e-8"), (change, level)
    # Curves that do not depend on time cannot be stretched.
    flat = lambda t: np.full((80, len(t)), 0.4)  # noqa: E731
    stretched = integrated(test, flat, "1e-8", Reading(stretched=True))
    assert stretched == integrated(test, flat, "1e-8", Reading())


@pytest.mark.slow
def test_the_kept_effects_come_out_again(load_public: Callable[[str], Dataset]) -> None:
    load_public("metabric")
    rows = [row for split in range(1, 11) for row in deviations.scores("metabric", "cox", split)]
    again = deviations.effects(pd.DataFrame(rows))
    kept = pd.read_csv(FILE).query("dataset == 'metabric' and model == 'cox'").reset_index(drop=True)
    pd.testing.assert_frame_equal(again, kept, atol=1.5e-5)
