"""Configuration: overlays merge as documented, and whatever is wrong is named with its key and the choices."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks import data, registry
from benchmarks.results.names import BEYOND
from benchmarks.study import plan
from benchmarks.study.config import ROOT, TIERS, ConfigError, from_file, merge, read, resolve

MODELS = ["cox", "deepsurv", "cox_time", "nnet_survival", "deephit", "soden", "soden_ph", "soden_cox"]


@pytest.mark.parametrize("tier", TIERS)
def test_every_tier_is_valid(tier: str) -> None:
    config = resolve({"tier": tier})
    assert config["run"] == tier
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
        ({"splits": {"support": 0}}, r"splits.support: 0 is less than the minimum of 1"),
        ({"trials": 0}, r"trials: 0 is less than the minimum of 1"),
        ({"trials": "many"}, r"trials: 'many' is not of type 'integer'"),
        ({"split_source": "theirs"}, r"split_source: got 'theirs'; choose among auto, drawn, released"),
        ({"training": {"clip": -1}}, r"training.clip: -1 is less than or equal to the minimum of 0"),
        ({"device": "gpu"}, r"device: 'gpu' does not match"),
        ({"tier": "full"}, r"tier: got 'full'; choose among quick, small, beyond, paper"),
        ({"skip": {"mimic": ["coxx"]}}, r"skip.mimic: unknown name 'coxx'"),
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
    assert from_file(path)["trials"] == 3
    path.write_text("a: [1")
    with pytest.raises(ConfigError, match="is not valid YAML"):
        from_file(path)
    path.write_text("- 1")
    with pytest.raises(ConfigError, match="must hold a map of keys, got list"):
        from_file(path)
    with pytest.raises(ConfigError, match="no configuration file"):
        from_file(tmp_path / "nothing.yaml")


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
    without = {name for name in config["models"] if not registry.model(name).takes_seq}
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
    return len(keys) + sum(described(key, config[name]) for name, key in keys.items())


def test_every_key_is_described_and_has_the_papers_value_as_default() -> None:
    schema, config = read(ROOT / "workflow" / "schemas" / "config.schema.yaml"), read(ROOT / "config" / "paper.yaml")
    assert described(schema, config) > 40
    assert set(schema["required"]) == set(schema["properties"]) == set(config)
