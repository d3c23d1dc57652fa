"""Weights under administrative censoring: who is left out, who carries a score; scikit-survival as the oracle."""

import numpy as np
import pytest
from lifelines.datasets import load_rossi
from sksurv.metrics import brier_score, concordance_index_ipcw
from sksurv.util import Surv
from support.metrics_cases import needed_times

from benchmarks.metrics.base import CONVENTIONS, LEVELS, Outcome, Prediction, metrics
from benchmarks.metrics.integrated import grid, score_over_time
from benchmarks.metrics.kernels import brier_block
from benchmarks.metrics.weights import NOTABLE, weights


def rossi(split: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A fifth of the 432 men, all of those not arrested censored at week 52; a risk that is never tied."""
    table = load_rossi().sample(86, random_state=split)
    risk = 0.3 * table["prio"] - 0.05 * table["age"] + 1e-4 * np.arange(86)
    return table["week"].to_numpy(float), table["arrest"].to_numpy() == 1, risk.to_numpy()


def weights_of(time, event, convention):
    return {(w.metric, w.g_tau): w for w in weights(Outcome(time, event, convention))}


def predicted(time, event, risk, convention):
    """Exponential curves."""
    outcome = Outcome(time, event, convention)
    times = needed_times(outcome)
    return Prediction(outcome, times, np.exp(-np.exp(risk[:, None] - 4) * times / 52))


def test_one_event_at_the_end_of_the_study_carries_the_published_concordance():
    # 66 men at risk in week 52, of whom 65 are censored there: G(52) = 1/66, so that event has the weight 66^2.
    time = np.concatenate([np.arange(1.0, 21.0), np.full(66, 52.0)])
    event = np.concatenate([np.ones(21, dtype=bool), np.zeros(65, dtype=bool)])
    pairs = np.append(85 - np.arange(20), 65)
    share = pairs[-1] * 66**2 / (pairs[:-1].sum() + pairs[-1] * 66**2) - pairs[-1] / pairs.sum()
    assert weights_of(time, event, "published")["ctd", "1e-8"].gained == pytest.approx(share, rel=1e-9)
    assert share > 0.9
    assert weights_of(time, event, "text")["ctd", "1e-8"].gained == pytest.approx(0, abs=1e-12)


def test_the_published_brier_score_leaves_out_all_who_are_censored_at_the_end():
    time = np.concatenate([np.arange(1.0, 22.0), np.full(65, 52.0)])
    event = np.arange(86) < 21
    published, text = (weights_of(time, event, convention) for convention in CONVENTIONS)
    for metric in ("ibs", "ibll"):
        assert published[metric, "1e-8"].left_out == 65 / 86
        assert published[metric, "1e-8"].is_notable
        assert text[metric, "1e-8"].left_out == 0
        assert not text[metric, "1e-8"].is_notable


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_without_censoring_everybody_has_the_same_share(convention):
    for found in weights_of(np.arange(1.0, 101.0), np.ones(100, dtype=bool), convention).values():
        assert found.left_out == 0
        assert found.gained == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("level", list(LEVELS))
def test_weights_are_those_of_the_score(convention, level):
    # A score is linear in its weights: predictions that score 1 for one subject alone give that subject's share of IBS.
    rng = np.random.default_rng(4)
    time, event = rng.integers(1, 12, 40).astype(float), rng.random(40) < 0.6
    outcome = Outcome(time, event, convention)
    times = needed_times(outcome)
    alive = (time[:, None] > times).astype(float)
    score = [
        metrics()["ibs"].compute(Prediction(outcome, times, np.abs(alive - (np.arange(40) == i)[:, None])), level)
        for i in range(40)
    ]
    points, G, smallest = grid(outcome, level), outcome.G_y, 1e-8 if convention == "published" else 0
    # Without weights a subject counts at each time before its own, and after it if its event was seen.
    plain = np.array([(points <= t).sum() if not seen else len(points) for t, seen in zip(time, event, strict=True)])
    plain = np.where(smallest < G, plain, (points <= time[:, None]).sum(axis=1) * (convention == "text"))
    found = weights_of(time, event, convention)["ibs", level].gained
    assert found == pytest.approx(np.max(score / np.sum(score) - plain / plain.sum()), abs=1e-3)


@pytest.mark.parametrize("split", range(4))
def test_where_conventions_coincide_scores_equal_those_of_scikit_survival(split):
    time, event, risk = rossi(split)
    prediction, y = predicted(time, event, risk, "text"), Surv.from_arrays(event, time)
    own = concordance_index_ipcw(y, y, risk, tau=52.0)[0]
    assert metrics()["ctd"].compute(prediction, "1e-8") == pytest.approx(own, abs=1e-6)
    times = np.arange(time.min(), 52.0)
    curves = np.exp(-np.exp(risk[:, None] - 4) * times / 52)
    ours = score_over_time(Prediction(Outcome(time, event, "text"), times, curves), times, brier_block)
    np.testing.assert_allclose(ours, brier_score(y, y, curves, times)[1], atol=1e-6)
    whole = metrics()["ibs"].compute(prediction, "1e-8")
    if not (event & (time == 52)).any():  # then G falls to 0 at once, and the published convention drops all of week 52
        lost = weights_of(time, event, "published")["ibs", "1e-8"].left_out
        assert lost == np.mean(time == 52) > NOTABLE
        assert abs(metrics()["ibs"].compute(predicted(time, event, risk, "published"), "1e-8") - whole) > 0.1
