"""Run some trials of a finished run again and show that they give the same rows, bit for bit."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks import data, numerics
from benchmarks.data.splits import make_split
from benchmarks.results.files import read_csv, read_json
from benchmarks.results.folder import split_sources
from benchmarks.seeds import rng_for
from benchmarks.study import prepare, rows
from benchmarks.study.rows import Row
from benchmarks.study.tune import Settings, Tuner, pin_threads

NEEDED = ("seed", "training", "width_rounding", "device", "threads", "data", "split_source")  # of a run's config.json


class Again:
    """Runs a finished run's trials again: data and splits rebuilt from its config, once each."""

    def __init__(self, folder: Path, work: Path, any_numerics: bool = False) -> None:
        self.folder, self.work = folder, work
        self.config: Mapping[str, Any] = read_json(folder / "config.json", NEEDED)
        self.sources = split_sources(read_csv(folder / "datasets.csv"), self.config)
        self._datasets: dict[str, data.Dataset] = {}
        if not any_numerics:
            _check_numerics(folder, self.config)
        pin_threads(self.config["threads"])

    def row(self, row: Mapping[str, Any]) -> Row:
        """The row of the same key, computed now."""
        return self.tuner(row["dataset"], row["model"], row["split"]).run("again", [(row["split"], row["trial"])])[0]

    def tuner(self, name: str, model: str, split: int) -> Tuner:
        """What runs this model's trials of one split."""
        splits = self.work / "splits" / name
        if not (path := splits / f"{split}.npz").exists():
            make_split(self.dataset(name), self.sources[name], split, seed=self.config["seed"]).save(path)
        c = self.config
        settings = Settings(c["seed"], c["training"], c["width_rounding"], c["device"])
        return Tuner(self.work / "trials" / name / model, self.dataset(name), splits, model, settings)

    def dataset(self, name: str) -> data.Dataset:
        """The run's own file if it kept one (MIMIC is not built twice), else from its source."""
        if name not in self._datasets:
            kept = self.folder / "data" / f"{name}.npz"
            if kept.is_file():
                self._datasets[name] = data.Dataset.load(kept)
            else:
                self._datasets[name] = data.load(name, prepare.data_settings(prepare.settings_of(self.config)))
        return self._datasets[name]

    @cache  # noqa: B019
    def missing(self, name: str) -> str:
        """Why the trials of a data set cannot be run here; empty if they can."""
        try:
            self.dataset(name)
        except data.DataUnavailable as error:
            return str(error).splitlines()[0]
        return ""


def _check_numerics(folder: Path, config: Mapping[str, Any]) -> None:
    wanted = config.get("numerics", "native")  # runs before there was a choice
    if wanted != numerics.mode():
        raise ValueError(
            f"{folder.name} was computed with numerics: {wanted}, this process computes {numerics.mode()} ones; "
            f"set {numerics.VARIABLE}={wanted} and call again"
        )
    if note := numerics.note():
        print(note)


def pick(trials: pd.DataFrame, n: int, seed: int) -> list[Row]:
    """n different rows, each as likely as any other."""
    chosen = rng_for(seed, "audit").permutation(len(trials))[:n]
    return list(rows.plain_rows(trials.iloc[sorted(chosen)]))


def named(trials: pd.DataFrame, text: str) -> Row:
    """The row of DATASET/MODEL/SPLIT/TRIAL."""
    parts = text.split("/")
    if len(parts) != 4 or not all(part.isdigit() for part in parts[2:]):
        raise ValueError(f"--trial wants DATASET/MODEL/SPLIT/TRIAL, e.g. support/soden/1/0; got {text!r}")
    wanted = dict(zip(("dataset", "model", "split", "trial"), (*parts[:2], int(parts[2]), int(parts[3])), strict=True))
    found = trials
    for name, value in wanted.items():
        known = list(dict.fromkeys(found[name]))
        found = found[found[name] == value]
        if found.empty:
            raise ValueError(f"the run has no trial with {name} {value!r}; choose among {', '.join(map(str, known))}")
    return next(rows.plain_rows(found.iloc[:1]))
