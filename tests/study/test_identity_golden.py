"""What the stored trials depend on, recomputed today: a change that no longer reuses them is seen here first."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from conftest import ROOT

from baselines.space import draw
from benchmarks import data
from benchmarks.config import Config
from benchmarks.data.splits import make_split
from benchmarks.results import KEPT_RUNS
from benchmarks.results.folder import split_sources
from benchmarks.seeds import rng_for
from benchmarks.study.search import Search
from benchmarks.study.store import Store, space_of
from benchmarks.study.trial import Key, fit_seed, hyper_parameters

KEPT = [ROOT / "results" / name for name in KEPT_RUNS]
KEPT += sorted(path.parent for path in (ROOT / "results" / "replications").glob("*/trials.parquet"))


def store_of(folder: Path) -> Store:
    return Store(folder, replace(Config.of_run(folder), device="cpu"))


def test_the_reference_has_the_settings_it_was_made_with() -> None:
    store = store_of(ROOT / "results" / "reference")
    assert store.parts_without_split("metabric", "soden").settings == "036d2f083267"


@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.name)
def test_settings_and_spaces_of_stored_trials_are_recomputed_alike(folder: Path) -> None:
    trials, store = pd.read_parquet(folder / "trials.parquet"), store_of(folder)
    for (dataset, model), rows in trials.groupby(["dataset", "model"]):
        parts = store.parts_without_split(str(dataset), str(model))
        for name in ("root_seed", "settings", "space"):
            assert set(rows[name]) == {getattr(parts, name)}, (dataset, model, name)


@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.name)
@pytest.mark.parametrize("name", ["support", "metabric"])
def test_data_and_splits_of_stored_trials_are_recomputed_alike(
    folder: Path, name: str, load_public: Callable[[str], data.Dataset]
) -> None:
    dataset = load_public(name)
    trials = pd.read_parquet(folder / "trials.parquet").query("dataset == @name")
    config = json.loads((folder / "config.json").read_text())
    noted = folder / "datasets.csv"  # a replication in progress has none yet
    source = split_sources(pd.read_csv(noted), config["split_source"])[name] if noted.is_file() else "released"
    assert set(trials["data"]) <= {dataset.sha256()}
    for split, rows in trials.groupby("split"):
        made = make_split(dataset, source, int(split), seed=config["seed"])
        assert set(rows["split_rows"]) == {made.sha256()[:12]}


@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.name)
def test_seeds_and_hyper_parameters_of_stored_trials_follow_from_the_root_seed(folder: Path) -> None:
    """All of them, without training: dropped, added or edited trials would be seen."""
    trials = pd.read_parquet(folder / "trials.parquet")
    config = Config.of_run(folder)
    for dataset, model, split, trial, seed, hyper in trials[
        ["dataset", "model", "split", "trial", "seed", "hyper"]
    ].itertuples(index=False):
        key = Key(dataset, model, split, trial)
        drawn = Key(dataset, model, 0, trial) if config.configurations == "shared" else key
        assert seed == fit_seed(config.seed, key)
        assert json.loads(hyper) == hyper_parameters(
            config.seed, drawn, space_of(dataset, model), config.width_rounding
        ), key


def test_a_key_added_later_is_hashed_only_where_it_is_not_the_default() -> None:
    both = [Store(Path(), Config.of({"seed": 1, "configurations": how})) for how in ("per_split", "shared")]
    one, other = (store.parts_without_split("metabric", "soden") for store in both)
    assert one.changed(other) == ["the settings"]


def test_a_shared_list_gives_every_split_the_same_configurations_and_its_own_seeds(tmp_path: Path) -> None:
    dataset = data.load("simulated", data.DataSettings(simulated_n=200))
    dataset.save(tmp_path / "data" / "simulated.npz")
    for split in (1, 2):
        make_split(dataset, "drawn", split, seed=0).save(tmp_path / "splits" / "simulated" / f"{split}.npz")
    config = Config.of({"seed": 3, "training": {"max_epochs": 1}, "device": "cpu", "configurations": "shared"})
    trials = Search(Store(tmp_path, config), "simulated", "deepsurv").run("0000", [(1, 0), (2, 0), (1, 1)])
    assert trials[0].hyper == trials[1].hyper != trials[2].hyper
    assert trials[0].seed == fit_seed(3, Key("simulated", "deepsurv", 1, 0)) != trials[1].seed
    space = space_of("simulated", "deepsurv")
    named = draw(space, lambda name: rng_for(3, "draw", "simulated", "deepsurv", 0, 0, name), "truncate")
    assert trials[0].hyper == named
