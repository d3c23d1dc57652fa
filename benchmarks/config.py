"""The configuration of a run: every key with its type, default, rules and description.

`resolve` merges config/paper.yaml, a tier's overlay and the caller's values, and checks them; `Config.of_run` reads
what a run was made with. `.ci/write_config.py` writes the JSON schema and the table of keys in config/README.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

from benchmarks import ROOT, registry
from benchmarks.config_checks import ConfigError, as_declared, built, problems, read_yaml, schema_of
from benchmarks.data.mimic3.options import MimicOptions
from benchmarks.data.settings import key
from benchmarks.results import KEPT

BASE = "paper"  # what every other tier, and every overlay, lies on
# A name of one folder, in results/ and in figures/: whatever a job makes anew there, Snakemake deletes first.
RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
MOST_TRIALS = 1_000_000  # of one run; far more than any study, and few enough to list
MODELS = ("cox", "deepsurv", "cox_time", "nnet_survival", "deephit", "soden", "soden_ph", "soden_cox")
NAME = {"wanted": "a name such as soden_ph"}


@dataclass(frozen=True)
class Training:
    """How every network is trained."""

    max_epochs: int = key(100, "at most so many passes over the training part", minimum=1)
    patience: int = key(10, "epochs without a better validation loss after which training stops", minimum=1)
    clip: float = key(100.0, "largest norm of a gradient; in the authors' code, not in the paper", exclusiveMinimum=0)
    use_momentum: bool = key(
        False, "give RMSProp the momentum that the paper searches and the authors' code never passes on"
    )
    nll: Literal["published", "text", "authors"] = key(
        "published",
        "likelihood that stops and selects; the authors' mean of chunks' means, the plain mean, or the former with the "
        "floors of the authors' code",
    )
    time_limit: float | None = key(None, "seconds of wall clock per trial; null: none", exclusiveMinimum=0)


@dataclass(frozen=True)
class Evaluation:
    """How the test parts are scored."""

    convention: Literal["auto", "published", "text"] = key(
        "auto",
        "metrics as the published numbers were made, or as the paper's formulas read; auto: published for the paper's "
        "data sets, text for others, as each one's file says",
    )


@dataclass(frozen=True)
class Mimic:
    """The raw tables of MIMIC-III and the choices of the cohort."""

    raw: str = key("", "folder with MIMIC-III v1.4; empty: MIMIC_III. Results then hold credentialed data")
    synthetic_patients: int = key(
        0, "above 0, that many invented patients are used where raw is empty", minimum=0, maximum=1_000_000
    )
    options: MimicOptions = key(
        MimicOptions, "choices of the cohort; benchmarks/data/mimic3/options.py says why each has its default"
    )


@dataclass(frozen=True)
class Data:
    """Where data come from."""

    folder: str = key("", "one folder, looked in first; empty: those of SODEN_DATA, which may name several")
    cache: str = key("", "where what was fetched is kept; empty: SODEN_CACHE, else the user's cache folder")
    offline: bool = key(False, "open no connection")
    simulated_n: int = key(10_000, "subjects of the data set simulated", minimum=10, maximum=10_000_000)
    mimic: Mimic = key(Mimic, "the raw tables of MIMIC-III and the choices of the cohort")


@dataclass(frozen=True)
class Simulation:
    """The study of Section 4, crossing survival curves."""

    n: int = key(10_000, "subjects per repetition", minimum=10, maximum=10_000_000)
    repetitions: int = key(10, "samples that are drawn and fitted; 0: none", minimum=0, maximum=1_000)
    max_epochs: int = key(100, "at most so many epochs per fit", minimum=1)


@dataclass(frozen=True)
class Resources:
    """What a tuning job asks a cluster for; an attempt that was killed asks for more."""

    mem_mb: int = key(2000, "memory in MB", minimum=100)
    runtime: int = key(240, "minutes", minimum=1)
    gpu: int = key(0, "GPUs", minimum=0)


@dataclass(frozen=True)
class Config:
    """A whole configuration; every default is the paper's protocol, as in config/paper.yaml."""

    tier: str = key("paper", "the file of config/ that is read on top of paper.yaml")
    run: str = key("", "name of the folder in results/ and in figures/; empty: the name of the tier")
    seed: int = key(
        2022,
        "root of every random number; trials, splits and fits each get their own by a hash of their key",
        minimum=0,
    )
    datasets: tuple[str, ...] = key(
        ("support", "metabric", "mimic", "mimic_seq"),
        "names of files in benchmarks/data; one that cannot be had is left out with a message",
        items=NAME,
    )
    models: tuple[str, ...] = key(
        MODELS,
        "names of classes in baselines; the one that all others are tested against (compare_with) must be among them",
        items=NAME,
    )
    compare_with: str = key("soden", "the model that every other is tested against", wanted=NAME["wanted"])
    skip: dict[str, tuple[str, ...]] = key(
        {"mimic_seq": ("cox", "soden_cox", "kaplan_meier", "random_forest", "gradient_boosting")},
        "data set: models that do not apply to it",
    )
    fallback: dict[str, str] = key({}, "data set: the stand-in that is used where it cannot be had", items=NAME)
    splits: dict[str, int] = key(
        {},
        "data set: number of splits, where it is not the one of its file (the paper's 10 or 5)",
        items={"minimum": 1, "maximum": 1000},
    )
    split_source: Literal["auto", "drawn", "released"] = key(
        "auto",
        "whose splits of support and metabric; the authors' (released), exact 3:1:1 from the seed (drawn), or auto",
    )
    trials: int = key(100, "random-search trials per model and split", minimum=1, maximum=100_000)
    configurations: Literal["per_split", "shared"] = key(
        "per_split",
        "per_split: every split draws its own list of configurations (the paper's text); shared: one list for all "
        "splits (the authors' code)",
    )
    chunk_seconds: float = key(
        300.0, "so many seconds a job is expected to take; how trials are cut into jobs changes no result", minimum=1
    )
    chunk: int = key(0, "trials per job; 0: as many as take chunk_seconds", minimum=0)
    width_rounding: Literal["truncate", "nearest"] = key(
        "truncate", "how a drawn width becomes whole; truncate is the authors' code, nearest the paper's text"
    )
    training: Training = key(Training, "how every network is trained")
    evaluation: Evaluation = key(Evaluation, "how the test parts are scored")
    data: Data = key(Data, "where data come from")
    simulation: Simulation = key(Simulation, "the study of Section 4, crossing survival curves")
    numerics: Literal["portable", "native"] = key(
        "portable", "whose bits rows have; the same on every x86-64 processor, or whatever is fastest on this one"
    )
    known: str = key("", "folder of a run whose rows are taken over where their identity is the same")
    known_numerics: Literal["same", "any"] = key(
        "same", "whether known rows of other numerics are taken, too; their chosen trials are then judged by the spread"
    )
    keep_failed: bool = key(False, "go on with trials that raised an error")
    device: str = key(
        "auto",
        "where networks are trained; auto: on the CPU, but on a GPU for data with series if there is one (a run notes "
        "what it found, cpu or gpu_for_series, and keeps to it)",
        pattern="^(auto|cpu|gpu_for_series|cuda(:[0-9]+)?)$",
        wanted="auto, cpu, gpu_for_series, cuda or cuda:1",
    )
    threads: int = key(1, "per job; two jobs of one thread beat one job of two", minimum=1, maximum=256)
    resources: Resources = key(
        Resources, "what a tuning job asks a cluster for; an attempt that was killed asks for more"
    )

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Self:
        """From maps as in YAML or JSON; a key that is missing has its default, and ConfigError names what is wrong."""
        plain = merge(cls().plain(), plain)
        schema = schema_of(Config)
        declared = as_declared(plain, schema)
        if wrong := list(problems("", declared, schema)):
            raise ConfigError("the configuration cannot be run:\n" + "\n".join(f"  {line}" for line in wrong))
        return built(cls, declared)

    @classmethod
    def of_run(cls, folder: Path) -> Self:
        """What a run was made with, from its config.json; a key that is newer than the run has its default."""
        from benchmarks.results.files import read_json

        try:
            return cls.of(read_json(folder / "config.json"))
        except ConfigError as error:
            raise ConfigError(f"{folder / 'config.json'}: {error}") from None

    def plain(self) -> dict[str, Any]:
        """Maps, lists and numbers, as they stand in YAML and in config.json."""
        return dict(as_declared(asdict(self), schema_of(Config)))

    def hashed(self) -> list[Any]:
        """The values whose hash is the `settings` of a stored trial.

        These are the keys that version 1.0.0 had. One that is added later must be hashed only where it is not the
        default, or no stored trial could be reused.
        """
        later = {} if self.configurations == "per_split" else {"configurations": self.configurations}
        return [asdict(self.training), self.width_rounding, *([later] if later else [])]


def tiers(root: Path = ROOT) -> list[str]:
    """The files of config/: adding one makes a tier."""
    return sorted(path.stem for path in (root / "config").glob("*.yaml"))


def resolve(overrides: Mapping[str, Any] | None = None, root: Path = ROOT) -> Config:
    """The whole configuration of a run; `overrides` may name the tier (default paper) and change any key."""
    overrides = dict(overrides or {})
    tier = overrides.pop("tier", BASE)
    if tier not in (known := tiers(root)):
        raise ConfigError(f"tier: got {tier!r}; choose among {', '.join(known)}; a new file in config/ makes a tier")
    plain = read(root / "config" / f"{BASE}.yaml")
    if tier != BASE:
        plain = merge(plain, _overlay(root / "config" / f"{tier}.yaml"))
    plain = merge(plain, overrides) | {"tier": tier}
    plain["run"] = plain["run"] or tier
    if plain["known"]:
        plain["known"] = str(root / str(plain["known"]))  # an absolute one stays as it is
    config = Config.of(plain)
    if wrong := [*_run_problems(config.run), *_name_problems(config)] or [*_size_problems(config)]:
        raise ConfigError("the configuration cannot be run:\n" + "\n".join(f"  {line}" for line in wrong))
    return config


def _overlay(path: Path) -> dict[str, Any]:
    """A tier's file, which need not say its name and must not say another."""
    overlay = read(path)
    if overlay.get("tier", path.stem) != path.stem:
        raise ConfigError(
            f"{path} says tier: {overlay['tier']}, and its name {path.stem}; leave `tier` out of it, or rename the file"
        )
    return overlay


def with_tier(overlay: Mapping[str, Any], tier: str | None) -> dict[str, Any]:
    """An overlay with the tier it lies on: the one named on the command line, its own, the default."""
    named = overlay.get("tier")
    if tier is not None and named not in (None, tier):
        raise ConfigError(
            f"tier: got {tier!r} on the command line and {named!r} in the configuration file; leave one of them out"
        )
    return dict(overlay) | {"tier": tier or named or BASE}


def merge(base: Mapping[str, Any], overlay: Mapping[str, Any]) -> dict[str, Any]:
    """Maps are merged key by key, everything else is replaced (as Snakemake does)."""
    merged = dict(base)
    for name, value in overlay.items():
        old = merged.get(name)
        merged[name] = merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def read(path: Path) -> dict[str, Any]:
    """A YAML file that must hold a map; a path that leads nowhere is answered with the names of the tiers."""
    if not path.exists():
        names = ", ".join(tiers())
        raise ConfigError(
            f"no configuration file {path}; give the path of a YAML file, or the name of a tier ({names})"
        )
    return read_yaml(path)


def _run_problems(name: str) -> Iterator[str]:
    """Outputs lie in results/<run> and figures/<run> only because a run's name cannot lead out of them."""
    if not RUN_NAME.fullmatch(name):
        yield (
            f"run: got {name!r}; wanted letters, digits, - and _, a letter or digit first: it is the name of a folder "
            "in results/ and in figures/, not a path (`--directory` of `python -m benchmarks run` says where they are)"
        )
    elif name.lower() in KEPT:  # some file systems do not tell cases apart
        yield f"run: got {name!r}; results/{name.lower()} belongs to the project, no run writes there; choose another"


def _name_problems(config: Config) -> Iterator[str]:
    from benchmarks import data

    models, datasets = registry.names(), data.names()
    faults = "".join(f"; {fault}" for fault in (*registry.faults(), *data.registry.faults()))
    for where, names, choices in (
        ("models", config.models, models),
        ("datasets", config.datasets, datasets),
        ("splits", config.splits, datasets),
        ("skip", config.skip, datasets),
        ("fallback", [*config.fallback, *config.fallback.values()], datasets),
        *((f"skip.{d}", names, models) for d, names in config.skip.items()),
    ):
        for name in names:
            if name not in choices:
                yield f"{where}: unknown name {name!r}; choose among {', '.join(choices)}{faults}"
    if config.compare_with not in config.models:
        yield (
            f"models: must include {config.compare_with}, which every other model is tested against; or name one of "
            "them under compare_with"
        )


def _size_problems(config: Config) -> Iterator[str]:
    """A plan that is too large to list would fill memory before the first trial."""
    total = sum(max(config.splits.get(d, 10), 1) for d in config.datasets) * config.trials * len(config.models)
    if total > MOST_TRIALS:
        yield (
            f"trials: got {config.trials}, about {total:,} for {len(config.models)} models on all splits of "
            f"{len(config.datasets)} data sets; wanted at most {MOST_TRIALS:,} in one run"
        )
