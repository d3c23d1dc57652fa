"""Which jobs a run has, and what each of them depends on: from the configuration and the text of the code alone."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks import code, registry
from benchmarks.config import Config
from benchmarks.study import cost

GPU_FOR_SERIES = "gpu_for_series"
MIMIC = ("mimic", "mimic_seq")  # data sets that are built from the raw tables of MIMIC-III

# The keys of the configuration that each step of the workflow reads; the name of a section stands for all its keys.
TRAINS = ("seed", "training", "width_rounding", "configurations", "device", "known", "known_numerics")
COMPUTES = ("numerics", "threads")
COHORT = ("min_age", "death_time", "row_counts", "censor_without_dod_hosp")
USES: Mapping[str, tuple[str, ...]] = {
    "data": ("seed", "data.folder", "data.cache", "data.offline", "data.simulated_n"),
    "splits": ("seed", "split_source"),
    "tune": (*TRAINS, *COMPUTES, "keep_failed"),
    "evaluate": (*TRAINS, *COMPUTES),
    "gather": ("evaluation.convention", "compare_with"),
    "simulate": ("seed", "simulation.n", "simulation.max_epochs", *COMPUTES),
    "mimic synthesise": ("seed", "data.mimic.synthetic_patients"),
    "mimic cohort": tuple(f"data.mimic.options.{name}" for name in COHORT),
    "mimic events": ("data.mimic.options.row_counts",),
    "mimic features": ("data.mimic.options",),
}


@dataclass(frozen=True, order=True)
class Chunk:
    """Some consecutive trials of one model on one data set: the work of one tuning job."""

    dataset: str
    model: str
    index: int
    trials: tuple[tuple[int, int], ...]  # (split, trial), splits from 1, trials from 0

    @property
    def name(self) -> str:
        """The name of the chunk, as in the names of its files."""
        return f"{self.index:04d}"


def models_for(config: Config, dataset: str) -> list[str]:
    """The models that run on a data set."""
    return [m for m in config.models if m not in config.skip.get(dataset, ())]


def n_splits(config: Config, dataset: str) -> int:
    """The number of splits of a data set: as configured, or else the paper's."""
    from benchmarks import data

    return int(config.splits.get(dataset, data.module(dataset).N_SPLITS))


def n_trials(config: Config, model: str) -> int:
    """Per split; a model without search is fitted once."""
    return config.trials if registry.is_searched(model) else 1


def chunks(config: Config, dataset: str, model: str) -> list[Chunk]:
    """Cut all (split, trial) pairs into pieces that take about `chunk_seconds`, or of `chunk` trials if that is set.

    A piece may span splits. How trials are cut changes no result, and those finished in other pieces are found again.
    """
    pairs = [(s, t) for s in range(1, n_splits(config, dataset) + 1) for t in range(n_trials(config, model))]
    size = config.chunk or cost.trials_in(config.chunk_seconds, config, dataset, model)
    return [Chunk(dataset, model, i // size, tuple(pairs[i : i + size])) for i in range(0, len(pairs), size)]


def device_of(config: Config, dataset: str) -> str:
    """Where networks are trained on a data set: "cpu", "cuda" or one such as "cuda:1".

    `auto` means the CPU, but for subjects with series a GPU if there is one: only wide recurrent networks gain from it.
    """
    from benchmarks import data

    if config.device not in ("auto", GPU_FOR_SERIES):
        return config.device
    if not data.has_series(dataset):
        return "cpu"
    return "cuda" if config.device == GPU_FOR_SERIES or _gpu_here() else "cpu"


def settled(config: Config, run: Path) -> Config:
    """The configuration with the device of the whole run in place of `auto`: as it was begun, else as found here.

    On a cluster of many kinds of nodes each job would choose for itself otherwise, and rows of two kinds come out.
    """
    from benchmarks import data

    if config.device != "auto":
        return config
    if (run / "config.json").is_file() and (begun := Config.of_run(run).device) in ("cpu", GPU_FOR_SERIES):
        return replace(config, device=begun)
    series = [name for name in config.datasets if data.has_series(name)]
    with_gpu = any(name not in MIMIC or raw_tables(config, run) for name in series) and _gpu_here()
    return replace(config, device=GPU_FOR_SERIES if with_gpu else "cpu")


def variable(run: str) -> str:
    """The environment variable in which the workflow passes the configuration of a run to its steps."""
    return f"SODEN_CONFIG_{re.sub('[^A-Za-z0-9]', '_', run)}"


def _gpu_here() -> bool:
    import torch

    return bool(torch.cuda.is_available())


def chunk_of(config: Config, dataset: str, model: str, name: str) -> Chunk:
    """The chunk of this name."""
    planned = {chunk.name: chunk for chunk in chunks(config, dataset, model)}
    if name not in planned:
        raise ValueError(f"{dataset}/{model} has no chunk {name!r}; there are 0000 to {len(planned) - 1:04d}")
    return planned[name]


def plan(config: Config, datasets: list[str] | None = None) -> list[Chunk]:
    """All tuning jobs, for the given (available) data sets."""
    names = config.datasets if datasets is None else datasets
    return [c for d in names for m in models_for(config, d) for c in chunks(config, d, m)]


def raw_tables(config: Config, run: Path) -> Path | None:
    """Folder of MIMIC's raw tables: the configured one, invented ones in the run's folder, $MIMIC_III; else None."""
    section = config.data.mimic
    if section.raw:
        return Path(section.raw)
    if section.synthetic_patients:
        return run / "mimic3" / "raw"
    return Path(os.environ["MIMIC_III"]) if os.environ.get("MIMIC_III") else None


def without_raw_tables(config: Config) -> Config:
    """The same with the folder of credentialed tables in $MIMIC_III, and no longer in what is stored and shown."""
    section = config.data.mimic
    if not section.raw:
        return config
    os.environ["MIMIC_III"] = section.raw
    here = replace(section, raw="", synthetic_patients=0)  # which raw would have come before
    return replace(config, data=replace(config.data, mimic=here))


def uses(config: Config, step: str, key: str = "") -> list[str]:
    """What the outputs of a step depend on besides its inputs, each as "name=value".

    `key` says which job of the step: support for data and splits, support/soden for evaluate, support/soden/0003 for
    tune, the stage for mimic. A job is done again when one of these texts changes.
    """
    name = f"mimic {key.split('/')[0]}" if step == "mimic" else step
    keys = USES[name]
    chosen = {k: v for k, v in _flat(config.plain()) if any(k == one or k.startswith(f"{one}.") for one in keys)}
    return [f"{k}={v}" for k, v in (chosen | _besides(config, name, key.split("/"))).items()]


def digest(config: Config, step: str, key: str = "") -> str:
    """A short hash of `uses`."""
    return hashlib.sha256("\n".join(uses(config, step, key)).encode()).hexdigest()[:12]


def _flat(plain: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in plain.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield above + name, value


def _besides(config: Config, step: str, key: list[str]) -> dict[str, Any]:
    """What a step depends on besides keys of the configuration: its own trials, folders of the environment, code."""
    from benchmarks import data
    from benchmarks.data.settings import data_folders

    if step == "data":
        folders = os.pathsep.join(map(str, data_folders(config.data.folder)))
        return {"folders": folders, "code": code.of_dataset(key[0])}
    if step == "splits":
        return {"n": n_splits(config, key[0])}
    if step == "tune":
        pairs = ",".join(f"{split}:{trial}" for split, trial in chunk_of(config, *key).trials)
        return {
            "device": device_of(config, key[0]),
            "trials": pairs,
            "code": code.of_model(key[1], data.has_series(key[0])),
        }
    if step == "evaluate":
        return {"device": device_of(config, key[0]), "code": code.of_metrics()}
    if step == "gather":
        names = dict.fromkeys([*config.datasets, *config.fallback.values()])
        planned = [f"{d}/{m}:{n_splits(config, d)}" for d in names for m in models_for(config, d)]
        return {"planned": ",".join(planned), "code": code.of_report("gather")}
    if step == "simulate":
        return {"code": code.of_simulation()}
    raw = {"raw": raw_tables(config, Path("run"))} if step in ("mimic cohort", "mimic events") else {}
    return {**raw, "code": code.of_dataset("mimic")}
