"""Labels, order and directions: asked of the classes, with the name itself for what this checkout does not have."""

import pytest

from benchmarks import data, registry
from benchmarks.metrics.base import LEVELS, metrics
from benchmarks.results import names
from benchmarks.results.tidy import TRUNCATIONS


def test_the_papers_names_as_it_prints_them() -> None:
    """Typed off the paper's tables."""
    models = ["Cox", "DeepSurv", "Cox-Time", "Nnet-Survival", "DeepHit", "SODEN", "SODEN-PH", "SODEN-Cox"]
    assert list(names.MODELS.values()) == models
    assert list(names.DATASETS.values())[:4] == ["MIMIC-SEQ", "MIMIC", "SUPPORT", "METABRIC"]
    assert list(TRUNCATIONS) == list(LEVELS) == ["1e-8", "0.2", "0.4"]


def test_everything_found_has_the_label_of_its_class() -> None:
    assert {name: names.model_label(name) for name in registry.names()} == {
        name: model.label for name, model in registry.models().items()
    }
    assert {name: names.dataset_label(name) for name in data.names()} == {
        name: data.module(name).LABEL for name in data.names()
    }


def test_what_is_not_in_this_checkout_goes_by_its_name() -> None:
    assert (names.model_label("gone"), names.dataset_label("gone"), names.metric_label("gone")) == ("gone",) * 3
    assert names.is_searched("gone")
    assert names.selected_by("gone") == "loss"
    with pytest.raises(ValueError, match=r"unknown metric 'gone'; choose among .*ctd"):
        names.higher_is_better("gone")


def test_metrics_in_plain_text_and_their_directions() -> None:
    assert names.metric_label("ctd") == "Cᵗᵈ"
    assert names.metric_label("dcal") == "D-calibration"
    assert {name for name in ("ctd", "ibll", "ibs", "nll") if names.higher_is_better(name)} == {"ctd", "ibll"}
    assert all("$" not in names.metric_label(name) for name in metrics())


def test_metrics_as_figures_print_them() -> None:
    """With their truncation, if they have one."""
    shown = [names.metric_at_tau(name) for name in ("ctd", "ibll", "ibs", "nll")]
    assert shown == [r"$C^{td}_\tau$", r"IBLL$_\tau$", r"IBS$_\tau$", "NLL"]


def test_a_model_without_search_and_one_chosen_by_concordance() -> None:
    assert not names.is_searched("cox")
    assert names.is_searched("soden")
    assert (names.selected_by("soden"), names.selected_by("deephit")) == ("loss", "ctd")


def test_other_models_stand_between_the_baselines_and_soden() -> None:
    mixed = ["soden_ph", "zeta", "soden", "cox", "alpha"]
    assert names.model_order(mixed) == ["cox", "alpha", "zeta", "soden", "soden_ph"]
