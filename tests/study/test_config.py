"""Configuration: overlays merge as documented, and whatever is wrong is named with its key and the choices."""

import importlib.util
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from conftest import ROOT

from benchmarks import registry
from benchmarks.config import Config, Mimic, Training, merge, read, resolve, tiers, with_tier
from benchmarks.config_checks import ConfigError
from benchmarks.data.mimic3.options import MimicOptions
from benchmarks.study import plan

MODELS = ["cox", "deepsurv", "cox_time", "nnet_survival", "deephit", "soden", "soden_ph", "soden_cox"]
BEYOND = ["kaplan_meier", "random_forest", "gradient_boosting", "mtlr", "pc_hazard", "sumo_net"]
# YAML | pieces of the answer. The first block breaks the schema, the second only what a schema cannot say.
AGAINST_THE_SCHEMA = """
{trails: 3} | (top level): unknown key 'trails' | choose among chunk, chunk_seconds, compare_with, configurations
{training: {max_epoch: 3}} | training: unknown key 'max_epoch' | choose among clip, max_epochs
{data: {mimic: {rows: x}}} | data.mimic: unknown key 'rows' | choose among options, raw
{data: {mimic: {options: {max_age: 3}}}} | data.mimic.options: unknown key 'max_age' | choose among admission_type
{data: {mimic: {options: {min_age: x}}}} | data.mimic.options.min_age: got 'x' | wanted a number from 0 to 120
{data: {mimic: {options: {seq_start: x}}}} | data.mimic.options.seq_start: got 'x' | choose among first_record, intime
{trials: many} | trials: got 'many' | wanted a whole number from 1 to 100,000
{trials: 0} | trials: got 0 | wanted a whole number from 1
{trials: 2.5} | trials: got 2.5 | wanted a whole number
{trials: yes} | trials: got True | wanted a whole number
{trials: null} | trials: got None | wanted a whole number
{trials: 1000000000} | trials: got 1000000000 | wanted a whole number from 1 to 100,000
{splits: {support: 1000000}} | splits.support: got 1000000 | wanted a whole number from 1 to 1,000
{splits: {support: 0}} | splits.support: got 0 | wanted a whole number from 1
{splits: null} | splits: got None | wanted a map of keys
{seed: -1} | seed: got -1 | wanted a whole number of at least 0
{training: {clip: -1}} | training.clip: got -1 | wanted a number above 0
{training: {use_momentum: 1}} | training.use_momentum: got 1 | wanted true or false
{training: {time_limit: none}} | training.time_limit: got 'none' | wanted a number above 0 or null
{training: {nll: paper}} | training.nll: got 'paper' | choose among published, text
{training: 3} | training: got 3 | wanted a map of keys
{models: soden} | models: got 'soden' | wanted a list such as [a, b]
{models: []} | models: got an empty list | wanted at least one name
{models: [soden, 3]} | models.1: got 3 | wanted a name such as soden_ph
{models: [soden, soden]} | models: got ['soden', 'soden'] | wanted each name once
{device: gpu} | device: got 'gpu' | wanted auto, cpu, gpu_for_series, cuda or cuda:1
{data: {folder: [a, b]}} | data.folder: got ['a', 'b'] | wanted a text
{keep_failed: maybe} | keep_failed: got 'maybe' | wanted true or false
{run: 2024} | run: got 2024 | wanted a text | put it in quotes
"""
BEYOND_THE_SCHEMA = """
{training: {clip: .inf}} | training.clip: got inf | wanted a finite number
{trials: 50000} | trials: got 50000 | wanted at most 1,000,000 in one run
{models: [cox]} | models: must include soden, which | or name one of them under compare_with
{models: [cox], compare_with: deephit} | models: must include deephit
{models: [soden, sodn]} | models: unknown name 'sodn' | choose among cox, | soden_cox
{datasets: [../support]} | datasets: unknown name '../support' | choose among aids
{splits: {suport: 2}} | splits: unknown name 'suport' | choose among aids
{skip: {mimic: [coxx]}} | skip.mimic: unknown name 'coxx' | choose among cox
{fallback: {support: flchian}} | fallback: unknown name 'flchian' | choose among aids
{tier: full} | tier: got 'full' | choose among beyond, paper, quick, replication, small
"""


def mistakes(table: str) -> list[Any]:
    return [pytest.param(row[0], row[1:], id=row[0]) for row in (x.split(" | ") for x in table.strip().splitlines())]


@pytest.mark.parametrize(("text", "pieces"), mistakes(AGAINST_THE_SCHEMA) + mistakes(BEYOND_THE_SCHEMA))
def test_what_is_wrong_is_named(text: str, pieces: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        resolve(yaml.safe_load(text))
    assert [piece for piece in pieces if piece not in str(error.value)] == []


@pytest.mark.parametrize(("text", "pieces"), mistakes(AGAINST_THE_SCHEMA))
def test_the_schema_in_the_repository_refuses_the_same(text: str, pieces: list[str]) -> None:
    schema = yaml.safe_load((ROOT / "workflow" / "schemas" / "config.schema.yaml").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    assert not list(validator.iter_errors(Config().plain()))
    assert list(validator.iter_errors(merge(Config().plain(), yaml.safe_load(text))))


@pytest.mark.parametrize("tier", tiers())
def test_every_tier_is_valid(tier: str) -> None:
    config = resolve({"tier": tier})
    assert config.run == ("beyond_again" if tier == "beyond" else tier)  # results/beyond is ours
    assert [name for name in config.models if name not in BEYOND] == MODELS
    assert set(config.models) == {*MODELS, *(BEYOND if tier == "beyond" else ())}


def test_the_defaults_are_those_of_the_paper_and_its_file_names_every_key() -> None:
    file = read(ROOT / "config" / "paper.yaml")
    assert file == Config().plain() | {"data": Config().plain()["data"] | {"mimic": file["data"]["mimic"]}}
    assert resolve({"tier": "paper"}) == replace(Config(), run="paper")
    assert resolve() == resolve({"tier": "paper"})


def test_maps_merge_and_lists_are_replaced() -> None:
    base = {"training": {"clip": 1.0, "patience": 10}, "models": ["cox", "soden"]}
    merged = merge(base, {"training": {"patience": 3}, "models": ["soden"]})
    assert merged == {"training": {"clip": 1.0, "patience": 3}, "models": ["soden"]}


def test_all_problems_are_listed_at_once() -> None:
    with pytest.raises(ConfigError, match=r"(?s)chunk: got -1.*trials: got 0|trials: got 0.*chunk: got -1"):
        resolve({"trials": 0, "chunk": -1})


def test_values_come_as_their_key_is_declared() -> None:
    """Snakemake makes texts of nested values on the command line; to YAML 1e2 is a text and 100 a whole number."""
    training = {"max_epochs": "2", "use_momentum": "true", "clip": "1e2", "time_limit": "null"}
    config = resolve({"training": training, "splits": {"support": "3"}, "known": None})
    assert config.training == Training(max_epochs=2, use_momentum=True, clip=100.0, time_limit=None)
    assert (config.splits["support"], config.known) == (3, "")
    assert isinstance(resolve({"training": {"clip": 100}}).training.clip, float)
    options = {"min_age": 18, "age_over_89": 91.4}
    expected = MimicOptions(min_age=18.0, age_over_89="91.4")
    assert resolve({"data": {"mimic": {"options": options}}}).data.mimic == Mimic("", 0, expected)


def test_a_run_reads_back_what_it_was_made_with(tmp_path: Path) -> None:
    config = resolve({"tier": "small", "run": "mine", "training": {"time_limit": 3}})
    (tmp_path / "config.json").write_text(json.dumps(config.plain()))
    assert Config.of_run(tmp_path) == config
    (tmp_path / "config.json").write_text('{"trials": "many"}')
    with pytest.raises(ConfigError, match=r"config.json.*\n.*trials: got 'many'; wanted a whole number"):
        Config.of_run(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1", "is not valid YAML"),
        ("- 1", "must hold a map of keys such as `trials: 5`, got list"),
        ("", "must hold a map of keys such as `trials: 5`, got nothing"),
        ("trials: 1\ntrials: 2", r"(?s)key 'trials' stands there twice; leave one of them out.*line 2"),
        ("training: {clip: 1, clip: 2}", "key 'clip' stands there twice"),
        ("a: &x [1]\nb: *x", r"alias \*x; write the value out"),
        ("[" * 5000, "is nested too deeply|is not valid YAML"),
        ("#" * 1_000_001, "has 1,000,001 bytes; wanted a YAML file with a map of keys"),
    ],
    ids=["torn", "list", "empty", "twice", "twice inside", "alias", "deep", "long"],
)
def test_files_that_are_no_configuration(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
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
    assert resolve({"run": ""}).run == "paper"
    assert resolve({"run": None, "tier": "small"}).run == "small"
    for name in ("a", "2024-05", "my_Run-3"):
        assert resolve({"run": name}).run == name


def test_a_new_file_in_config_is_a_tier(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "config", tmp_path / "config")
    mine = tmp_path / "config" / "mine.yaml"
    mine.write_text("trials: 3\n")
    assert tiers(tmp_path) == ["beyond", "mine", "paper", "quick", "replication", "small"]
    config = resolve({"tier": "mine"}, tmp_path)
    assert (config.tier, config.run, config.trials) == ("mine", "mine", 3)
    mine.write_text("tier: small\n")
    with pytest.raises(ConfigError, match=r"mine.yaml says tier: small, and its name mine; leave `tier` out of it"):
        resolve({"tier": "mine"}, tmp_path)


def test_the_tier_of_a_file_counts_unless_another_is_named() -> None:
    assert with_tier({}, None) == {"tier": "paper"}
    assert with_tier({"tier": "small", "trials": 1}, None) == {"tier": "small", "trials": 1}
    assert with_tier({"tier": "small"}, "small") == {"tier": "small"}
    assert with_tier({}, "quick") == {"tier": "quick"}
    with pytest.raises(ConfigError, match="got 'paper' on the command line and 'small' in the configuration file"):
        with_tier({"tier": "small"}, "paper")


@pytest.mark.parametrize("chunk", [1, 3, 7, 10, 1000])
def test_chunks_hold_every_trial_once(chunk: int) -> None:
    config = resolve({"tier": "small", "chunk": chunk})
    found = [pair for c in plan.chunks(config, "support", "soden") for pair in c.trials]
    assert found == [(s, t) for s in range(1, 11) for t in range(10)]


def test_models_without_series_are_skipped_on_series() -> None:
    config = resolve({"tier": "paper"})
    without = {name for name in (*MODELS, *BEYOND) if not registry.model(name).takes_seq}
    assert set(config.skip["mimic_seq"]) == without


def test_the_schema_and_the_table_of_keys_are_written_from_the_dataclasses() -> None:
    spec = importlib.util.spec_from_file_location("write_config", ROOT / ".ci" / "write_config.py")
    assert spec is not None
    assert spec.loader is not None
    writer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(writer)
    assert writer.SCHEMA.read_text() == writer.schema_text()
    assert writer.README.read_text() == writer.readme_text()
    assert writer.readme_text().count("\n| `") > 60
