"""What every model promises, asked of every model there is; a new model is held to it by adding its file."""

import math
import random
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from baselines import space
from benchmarks import registry
from benchmarks.metrics.evaluate import evaluate
from soden.training import NeuralModel
from soden.types import FitOptions, FitReport, FloatArray, SurvivalData, SurvivalModel

NAMES = registry.names()
PAPER = {"soden", "soden_ph", "soden_cox", "cox", "deepsurv", "cox_time", "deephit", "nnet_survival"}
SEARCHED = [name for name in NAMES if registry.is_searched(name)]
NEURAL = [name for name in NAMES if issubclass(registry.model(name), NeuralModel)]
SEQUENTIAL = [name for name in NAMES if registry.model(name).takes_seq]
TIMES = np.array([0.7, 0.0, 5.0, 1e-9, 0.2, 0.2, 100.0, 2.0, 1.0])  # in no order, with ties, past all data
# A sensible point of the search space; whatever else a model searches is drawn.
USUAL = {"layers": 1, "width": 16, "gru_width": 4, "lr": 1e-2, "weight_decay": 1e-6, "batch_size": 32, "intervals": 10}
USUAL |= {"momentum": 0.0, "dropout": 0.1, "batch_norm": True, "alpha": 0.5, "sigma": 0.25}
USUAL |= {"monotone_layers": 2, "monotone_width": 16, "min_samples_leaf": 10, "learning_rate": 0.1, "max_depth": 2}
FEATURELESS = ("kaplan_meier",)  # the floor itself


def hyper(name: str, **changes: Any) -> dict[str, Any]:
    resolved = space.resolve(registry.model(name).space, {"batch_size": (32,), "intervals": (10,)})
    drawn = space.draw(resolved, lambda key: np.random.default_rng(0))
    return {key: {**USUAL, **changes}.get(key, value) for key, value in drawn.items()}


def simulate(n: int, seed: int, steps: int = 0) -> SurvivalData:
    """Exponential times with a strong effect of the first feature, or of the mean of the series if there is one."""
    rng = np.random.default_rng(seed)
    x, seq = rng.normal(size=(n, 3)), rng.normal(size=(n, steps, 2)) if steps else None
    effect = 1.5 * x[:, 0] if seq is None else 3 * seq[:, :, 0].mean(axis=1)
    latent, censoring = rng.exponential(np.exp(-effect)), rng.uniform(0.2, 4, n)
    return SurvivalData(np.minimum(latent, censoring) + 1e-3, latent <= censoring, x, seq)


@cache
def fitted(name: str, steps: int = 0, again: int = 0) -> tuple[SurvivalModel, FitReport]:
    model = registry.model(name)(hyper(name), FitOptions(max_epochs=25))
    times = 3 if steps else 1  # what is in a series takes more subjects to see
    return model, model.fit(simulate(300 * times, 1, steps), simulate(100 * times, 2, steps), seed=7)


def curves(model: SurvivalModel, data: SurvivalData, times: FloatArray = TIMES) -> FloatArray:
    """The survival curves at `times`, once they were seen to be survival curves."""
    S = model.predict_survival(data, times)
    assert S.shape == (len(data), len(times))
    assert np.isfinite(S).all()
    assert (S >= 0).all()
    assert (S <= 1).all()
    assert (S[:, times == 0] == 1).all()
    assert (np.diff(S[:, np.argsort(times, kind="stable")], axis=1) <= 0).all()
    return S


def survives(name: str, train: SurvivalData, valid: SurvivalData, **changes: Any) -> FitReport:
    """No crash, no NaN in a curve; or it says that it diverged, and why."""
    model = registry.model(name)(hyper(name, **changes), FitOptions(max_epochs=4))
    report = model.fit(train, valid, seed=3)
    if report.status == "diverged":
        assert report.message
    else:
        curves(model, valid)
    return report


def test_every_file_can_be_read_and_every_class_with_a_name_has_a_label() -> None:
    assert registry.faults() == []


def test_the_eight_models_of_the_paper_are_found() -> None:
    assert set(NAMES) >= PAPER
    labels = [m.label for m in registry.models().values()]
    assert len(set(labels)) == len(labels)


def test_models_without_comparable_losses_are_selected_by_concordance() -> None:
    """Likelihoods of different grids cannot be compared, and a forest has none."""
    by_ctd = {name for name, cls in registry.models().items() if cls.select_by == "ctd"}
    assert by_ctd >= {"deephit", "nnet_survival", "mtlr", "random_forest"}
    assert by_ctd & PAPER == {"deephit", "nnet_survival"}


def test_what_is_read_from_the_source_is_what_the_classes_say() -> None:
    for name, cls in registry.models().items():
        assert (cls.name, registry.is_searched(name), registry.selected_by(name)) == (
            name,
            bool(cls.space),
            cls.select_by,
        )
        assert cls.select_by in ("loss", "ctd") or callable(getattr(cls, cls.select_by)), name


@pytest.mark.parametrize("name", NAMES)
def test_curves_are_survival_curves(name: str) -> None:
    model, report = fitted(name)
    assert report.status == "ok"
    S = curves(model, simulate(50, 3))
    np.testing.assert_array_equal(S[:, 4], S[:, 5])  # the same time twice
    one = model.predict_survival(simulate(50, 3), TIMES[:1])
    # Whatever else is asked for with it, up to the relative tolerance of an ODE solver (the paper's is 1e-4).
    np.testing.assert_allclose(one[:, 0], S[:, 0], rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_bytes(name: str) -> None:
    (first, a), (second, b) = fitted(name), fitted(name, again=1)
    assert first is not second
    assert a.valid_loss == b.valid_loss or math.isnan(a.valid_loss)
    test = simulate(50, 3)
    assert first.predict_survival(test, TIMES).tobytes() == second.predict_survival(test, TIMES).tobytes()


@pytest.mark.parametrize("name", NEURAL)
def test_another_seed_gives_another_model(name: str) -> None:
    model = registry.model(name)(hyper(name), FitOptions(max_epochs=25))
    model.fit(simulate(300, 1), simulate(100, 2), seed=8)
    test = simulate(50, 3)
    assert (model.predict_survival(test, TIMES[:1]) != fitted(name)[0].predict_survival(test, TIMES[:1])).any()


@pytest.mark.parametrize("name", NAMES)
def test_save_and_load_is_a_round_trip(name: str, tmp_path: Path) -> None:
    model, _ = fitted(name)
    model.save(tmp_path / "model.pt")
    again = registry.model(name).load(tmp_path / "model.pt")
    test = simulate(50, 3)
    assert model.predict_survival(test, TIMES).tobytes() == again.predict_survival(test, TIMES).tobytes()


@pytest.mark.parametrize("name", SEARCHED)
def test_a_state_of_another_model_is_refused(name: str) -> None:
    other = next(n for n in SEARCHED if n != name)
    with pytest.raises(ValueError, match=f"saved by '{other}'.* not '{name}'"):
        registry.model(name).from_state(fitted(other)[0].state())


@pytest.mark.parametrize("name", SEQUENTIAL)
def test_series_are_used(name: str) -> None:
    model, report = fitted(name, steps=5)
    assert report.status == "ok"
    test = simulate(50, 3, steps=5)
    S = curves(model, test)
    assert test.seq is not None
    moved = SurvivalData(test.time, test.event, test.x, test.seq + 1)
    assert (model.predict_survival(moved, TIMES)[:, 0] != S[:, 0]).any()


def kaplan_meier(train: SurvivalData, times: FloatArray) -> FloatArray:
    """The curve that ignores x, by scikit-survival."""
    from sksurv.nonparametric import kaplan_meier_estimator

    at, value = kaplan_meier_estimator(train.event, train.time)
    return np.concatenate([[1.0], value])[np.searchsorted(at, times, side="right")]


WITH_FEATURES = [*((name, 0) for name in NAMES if name not in FEATURELESS), *((name, 5) for name in SEQUENTIAL)]


@pytest.mark.parametrize(("name", "steps"), WITH_FEATURES)
def test_better_than_kaplan_meier_on_data_with_signal(name: str, steps: int) -> None:
    model, report = fitted(name, steps)
    test = simulate(300, 4, steps)

    def ibs(predict: Any) -> float:
        scores = evaluate(test.time, test.event, predict)
        return next(s.value for s in scores if (s.metric, s.g_tau) == ("ibs", "0.2"))

    marginal = ibs(lambda t: np.tile(kaplan_meier(simulate(300, 1, steps), t), (len(test), 1)))
    assert ibs(lambda t: model.predict_survival(test, t)) < 0.95 * marginal, report


@pytest.mark.parametrize("name", NAMES)
def test_a_constant_feature_and_tied_times(name: str) -> None:
    parts = simulate(80, 1), simulate(40, 2)
    tied = [SurvivalData(np.ceil(part.time), part.event, part.x) for part in parts]
    assert len(np.unique(tied[0].time)) <= 5
    assert survives(name, *tied).status == "ok"
    for part in parts:
        part.x[:, 1] = 0
    assert survives(name, *parts).status == "ok"


@pytest.mark.parametrize("name", SEARCHED)
def test_batches_without_events_batches_too_large_and_hopeless_steps(name: str) -> None:
    """Six events among eighty in batches of four: most batches, and most of fifty intervals, have none."""
    data = simulate(80, 1)
    few = SurvivalData(data.time, np.arange(80) % 14 == 0, data.x)
    assert survives(name, few, simulate(40, 2), batch_size=4, intervals=50).status == "ok"
    assert survives(name, simulate(20, 1), simulate(20, 2), batch_size=512).status == "ok"
    with np.errstate(all="raise", under="ignore"):  # a survival of 1e-400 is 0
        survives(name, data, simulate(40, 2), lr=1e20, batch_norm=False)  # curves, or divergence with its reason


@pytest.mark.parametrize("name", NAMES)
def test_test_subjects_far_from_the_training_data(name: str) -> None:
    far = simulate(10, 5)
    curves(fitted(name)[0], SurvivalData(far.time, far.event, far.x * 1e3))


@pytest.mark.parametrize("name", NAMES)
def test_likelihoods_and_hazards_are_finite_or_said_not_to_exist(name: str) -> None:
    model, _ = fitted(name)
    terms = model.nll(simulate(20, 3))
    assert terms is None or (terms.shape == (20,) and np.isfinite(terms).all())
    try:
        hazard = model.predict_hazard(simulate(20, 3), TIMES)
    except TypeError as error:
        assert f"{type(model).__name__} has no hazard function" in str(error)  # noqa: PT017
        return
    assert hazard.shape == (20, len(TIMES))
    assert np.isfinite(hazard).all()
    assert (hazard >= 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_fit_leaves_no_trace_in_global_random_states(name: str) -> None:
    def states() -> tuple[bytes, list[int], object]:
        return torch.get_rng_state().numpy().tobytes(), np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002

    before = states()
    survives(name, simulate(40, 1), simulate(20, 2))
    assert states() == before
