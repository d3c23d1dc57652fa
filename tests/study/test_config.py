"""Configuration: overlays merge as documented, and whatever is wrong is named with its key and the choices."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

from benchmarks import data, registry
from benchmarks.data.mimic3.options import MimicOptions
from benchmarks.study import plan
from benchmarks.study.config import ConfigError, merge, read, resolve, tiers, with_tier

MODELS = ["cox", "deepsurv", "cox_time", "nnet_survival", "deephit", "soden", "soden_ph", "soden_cox"]
BEYOND = ["kaplan_meier", "random_forest", "gradient_boosting", "mtlr", "pc_hazard", "sumo_net"]


@pytest.mark.parametrize("tier", tiers())
def test_every_tier_is_valid(tier: str) -> None:
    config = resolve({"tier": tier})
    assert config["run"] == ("beyond_again" if tier == "beyond" else tier)  # results/beyond is ours
    assert [name for name in config["models"] if name not in BEYOND] == MODELS
    assert set(config["models"]) == {*MODELS, *(BEYOND if tier == "beyond" else ())}


def test_quick_is_the_default() -> None:
    assert resolve()["tier"] == "quick"


def test_maps_merge_and_lists_are_replaced() -> None:
    base = {"training": {"clip": 1.0, "patience": 10}, "models": ["cox", "soden"]}
    merged = merge(base, {"training": {"patience": 3}, "models": ["soden"]})
    assert merged == {"training": {"clip": 1.0, "patience": 3}, "models": ["soden"]}


@pytest.mark.parametrize(
    ("overlay", "message"),
    [
        ({"trails": 3}, r"\(top level\): unknown key 'trails'; choose among .*trials"),
        ({"training": {"max_epoch": 3}}, r"training: unknown key 'max_epoch'; choose among .*max_epochs"),
        ({"models": ["soden", "sodn"]}, r"models: unknown name 'sodn'; choose among .*soden_cox"),
        ({"models": ["cox"]}, "models: must include soden"),
        ({"datasets": ["suport"]}, r"datasets: unknown name 'suport'; choose among .*support"),
        ({"splits": {"support": 0}}, "splits.support: got 0; wanted a whole number of at least 1"),
        ({"trials": 0}, "trials: got 0; wanted a whole number of at least 1"),
        ({"trials": "many"}, "trials: got 'many'; wanted a whole number of at least 1"),
        ({"split_source": "theirs"}, r"split_source: got 'theirs'; choose among auto, drawn, released"),
        ({"training": {"clip": -1}}, "training.clip: got -1; wanted a number above 0"),
        ({"device": "gpu"}, "device: got 'gpu'; wanted auto, cpu, cuda or cuda:1"),
        ({"tier": "full"}, r"tier: got 'full'; choose among beyond, paper, quick, small"),
        ({"skip": {"mimic": ["coxx"]}}, r"skip.mimic: unknown name 'coxx'"),
        ({"training": {"time_limit": "no"}}, "training.time_limit: got 'no'; wanted a number above 0 or null"),
        ({"training": {"clip": "1e2"}}, "wanted a number above 0; YAML reads 1e2 as a text: write 100.0"),
        ({"training": {"clip": float("nan")}}, "training.clip: got nan; wanted a finite number"),
        ({"run": 2024}, "run: got 2024; wanted a text; put it in quotes"),
        ({"models": "soden"}, r"models: got 'soden'; wanted a list such as \[a, b\]"),
        ({"models": ["soden", "soden"]}, r"models: got \['soden', 'soden'\]; wanted each name once"),
        ({"models": []}, "models: got an empty list; wanted at least one name"),
        ({"splits": None}, "splits: got None; wanted a map of keys"),
        (
            {"data": {"mimic": {"options": {"max_age": 3}}}},
            "data.mimic.options: unknown key 'max_age'; choose among admission_type",
        ),
        (
            {"data": {"mimic": {"options": {"min_age": "x"}}}},
            "data.mimic.options.min_age: got 'x'; wanted a number above 0",
        ),
    ],
)
def test_what_is_wrong_is_named(overlay: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        resolve(overlay)


def test_all_problems_are_listed_at_once() -> None:
    with pytest.raises(ConfigError) as error:
        resolve({"trials": 0, "chunk": 0})
    assert "trials:" in str(error.value)
    assert "chunk:" in str(error.value)


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("tier: small\nrun: mine\ntrials: 3\n")
    assert resolve(read(path))["trials"] == 3
    path.write_text("a: [1")
    with pytest.raises(ConfigError, match="is not valid YAML"):
        read(path)
    path.write_text("- 1")
    with pytest.raises(ConfigError, match="must hold a map of keys such as `trials: 5`, got list"):
        read(path)
    with pytest.raises(ConfigError, match="no configuration file"):
        read(tmp_path / "nothing.yaml")


@pytest.mark.parametrize("name", ["..", ".", "../x", "a/b", "/tmp/x", "a\n", "a b", "-n", "_a", "ä", "a.b", "a\0"])
def test_a_run_is_the_name_of_one_folder(name: str) -> None:
    with pytest.raises(ConfigError, match=r"run: got .*; wanted letters, digits, - and _, a letter or digit first"):
        resolve({"run": name})


@pytest.mark.parametrize("name", ["published", "reference", "Reference", "beyond"])
def test_no_run_writes_what_belongs_to_the_project(name: str) -> None:
    with pytest.raises(ConfigError, match=f"run: got '{name}'; results/{name.lower()} belongs to the project"):
        resolve({"run": name})


def test_an_empty_name_is_the_tiers_and_good_ones_stay() -> None:
    assert resolve({"run": ""})["run"] == "quick"
    assert resolve({"run": None, "tier": "small"})["run"] == "small"
    for name in ("a", "2024-05", "my_Run-3"):
        assert resolve({"run": name})["run"] == name


def test_a_new_file_in_config_is_a_tier(tmp_path: Path) -> None:
    for part in ("config", "workflow/schemas"):
        shutil.copytree(ROOT / part, tmp_path / part)
    mine = tmp_path / "config" / "mine.yaml"
    mine.write_text("trials: 3\n")
    assert tiers(tmp_path) == ["beyond", "mine", "paper", "quick", "small"]
    config = resolve({"tier": "mine"}, tmp_path)
    assert (config["tier"], config["run"], config["trials"]) == ("mine", "mine", 3)
    mine.write_text("tier: small\n")
    with pytest.raises(ConfigError, match=r"mine.yaml says tier: small, and its name mine; leave `tier` out of it"):
        resolve({"tier": "mine"}, tmp_path)


def test_the_tier_of_a_file_counts_unless_another_is_named() -> None:
    assert with_tier({}, None) == {"tier": "quick"}
    assert with_tier({"tier": "small", "trials": 1}, None) == {"tier": "small", "trials": 1}
    assert with_tier({"tier": "small"}, "small") == {"tier": "small"}
    assert with_tier({}, "paper") == {"tier": "paper"}
    with pytest.raises(ConfigError, match="got 'paper' on the command line and 'small' in the configuration file"):
        with_tier({"tier": "small"}, "paper")


def test_the_paper_has_20500_trials_and_25_cox_fits() -> None:
    config = resolve({"tier": "paper"})
    jobs = plan.plan(config)
    searched = sum(len(c.trials) for c in jobs if c.model != "cox")
    # 10 splits x 7 models x 2 sets + 5 x 7 (MIMIC) + 5 x 6 (MIMIC-SEQ, no SODEN-Cox), 100 trials each.
    assert searched == 100 * (10 * 7 * 2 + 5 * 7 + 5 * 6) == 20_500
    assert sum(len(c.trials) for c in jobs if c.model == "cox") == 25
    assert not any(c.dataset == "mimic_seq" and c.model in ("cox", "soden_cox") for c in jobs)


@pytest.mark.parametrize("chunk", [1, 3, 7, 10, 1000])
def test_chunks_hold_every_trial_once(chunk: int) -> None:
    config = resolve({"tier": "small", "chunk": chunk})
    found = [pair for c in plan.chunks(config, "support", "soden") for pair in c.trials]
    assert found == [(s, t) for s in range(1, 11) for t in range(10)]


def test_search_is_known_without_importing_a_model() -> None:
    for name, model in registry.models().items():
        assert registry.is_searched(name) == bool(model.space), name
    with pytest.raises(ValueError, match="unknown model 'x'; choose among cox, "):
        registry.model("x")


def test_models_without_series_are_skipped_on_series() -> None:
    config = resolve({"tier": "paper"})
    without = {name for name in (*MODELS, *BEYOND) if not registry.model(name).takes_seq}
    assert set(config["skip"]["mimic_seq"]) == without


def test_every_data_set_has_search_ranges() -> None:
    for name in data.names():
        assert set(data.module(name).SEARCH) >= {"batch_size", "intervals"}


def described(schema: dict[str, Any], config: dict[str, Any]) -> int:
    """How many keys there are; each must say what it is, and that its default is the paper's."""
    keys = schema.get("properties", {})
    for name, key in keys.items():
        assert len(key["description"]) > 3, name
        assert key["default"] == config[name], name
    choices = {"options": vars(MimicOptions())}  # of the cohort: none chosen means the defaults of their class
    return len(keys) + sum(described(key, choices.get(name, config[name])) for name, key in keys.items())


def test_every_key_is_described_and_has_the_papers_value_as_default() -> None:
    schema, config = read(ROOT / "workflow" / "schemas" / "config.schema.yaml"), read(ROOT / "config" / "paper.yaml")
    assert described(schema, config) > 60
    assert set(schema["required"]) == set(schema["properties"]) == set(config)
