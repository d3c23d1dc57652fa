"""Run one chunk of random-search trials and write their rows; resumes where an earlier attempt stopped."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from baselines.contract import Competitor, TrialOptions
from baselines.space import Rounding, resolve
from benchmarks import code, data, numerics, registry
from benchmarks.data.files import replacing
from benchmarks.data.preprocess import prepared
from benchmarks.data.splits import Split
from benchmarks.study import journal, rows
from benchmarks.study.rows import Row
from benchmarks.study.trial import Key, better, fit_seed, hyper_parameters, run_trial
from soden.training import resolve_device
from soden.types import SurvivalData


def device_type(name: str) -> str:
    """What kind of device this is ("cpu", "cuda"); one that is not here is an error, before any trial."""
    import torch

    device = resolve_device(name)
    found = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device.type == "cuda" and (device.index or 0) >= found:
        raise ValueError(
            f"device: {name} was asked for, but torch finds {found or 'no'} GPU{'s' if found > 1 else ''} here; "
            "use `device: auto`, which takes one if there is one, or `device: cpu`"
        )
    return device.type


@dataclass(frozen=True)
class Settings:
    """What all trials of a run share."""

    seed: int
    training: Mapping[str, Any] = field(default_factory=dict)
    rounding: Rounding = "truncate"
    device: str = "auto"
    known: Path | None = None  # folder of a run whose rows may be taken over
    any_numerics: bool = False  # known rows of other numerics, too: their chosen trials are judged by the spread
    kind: str = ""  # of numerics, for those who only compare rows; empty: what this process computes


def space_of(dataset: str, model: str) -> Mapping[str, Any]:
    """What a model draws on a data set."""
    return resolve(registry.model(model).space, data.module(dataset).SEARCH)


def parts_of_any(dataset: str, model: str, settings: Settings, series: bool) -> Row:
    """What a model's rows depend on besides their trial's number, the data and the split."""
    return {
        "root_seed": settings.seed,
        "dataset": dataset,
        "model": model,
        "settings": rows.short_hash([dict(settings.training), settings.rounding]),
        # repr: a changed search range is a changed draw.
        "space": rows.short_hash({k: repr(v) for k, v in space_of(dataset, model).items()}),
        "code": code.of_model(model, series=series),
        "numerics": settings.kind or numerics.kind(),
        "device": device_type(settings.device),
    }


class Tuner:
    """The trials of one (data set, model): where their rows and states are, and what they depend on."""

    def __init__(self, folder: Path, dataset: data.Dataset, splits: Path, model: str, settings: Settings) -> None:
        self.folder, self.dataset, self.splits, self.model = folder, dataset, splits, model
        self.settings = settings
        self.model_class = registry.model(model)
        self.options = TrialOptions(device=settings.device, **settings.training)
        if dataset.seq is not None and not self.model_class.takes_seq:
            raise ValueError(
                f"{model} cannot use the series of {dataset.name}; put it under skip.{dataset.name} in the config"
            )
        self._shared: Row = parts_of_any(dataset.name, model, settings, dataset.seq is not None)
        self._shared["data"] = dataset.sha256()
        self.code = self._shared["code"]
        self._parts: tuple[int, SurvivalData, SurvivalData] | None = None

    def run(self, chunk: str, pairs: list[tuple[int, int]]) -> list[Row]:
        """The rows of these (split, trial) pairs, running only those nobody has; keeps each split's best state."""
        writer = journal.Journal(self.folder / f"{chunk}.jsonl")
        self._say_what_counts()
        own = self.finished()
        taken = {key: row for key, row in self.known(pairs).items() if key not in own}
        writer.append(*taken.values())
        own |= taken
        found: list[Row] = []
        best: dict[int, Row] = {}
        told = False
        for split, trial in pairs:
            row = own.get((split, trial))
            if row is None:
                row = self._run(split, trial, best.get(split))
                writer.append(row)
            if row["status"] == "failed" and not told:
                told = True
                print(f"split {split} trial {trial} failed:\n{row['traceback']}", flush=True)
            found.append(row)
            if better(row, best.get(split)):
                if split in best:
                    self.state_path(best[split]).unlink(missing_ok=True)
                best[split] = row
        return found

    def finished(self) -> dict[tuple[int, int], Row]:
        """The journals' rows that can be used again."""
        return self._usable(journal.read_folder(self.folder), self.folder.parents[2], self.settings.any_numerics)

    def _say_what_counts(self) -> None:
        """Write down which identities the rows of each split may have now, for those who only count rows."""
        codes = self._codes(self.folder.parents[2])
        kinds = [self._shared["numerics"], *(numerics.MODES if self.settings.any_numerics else ())]
        others = [{"code": known, "numerics": kind} for known in codes for kind in dict.fromkeys(kinds)]
        splits = sorted(int(path.stem) for path in self.splits.glob("*.npz"))
        counts = {s: [rows.identity(self.parts(s) | other) for other in others] for s in splits}
        with replacing(self.folder / rows.CURRENT) as part:
            part.write_text(json.dumps(counts))

    def known(self, pairs: list[tuple[int, int]]) -> dict[tuple[int, int], Row]:
        """The rows of another run that can be used here, marked with its name."""
        folder = self.settings.known
        if folder is None:
            return {}
        wanted = set(pairs)
        theirs = [
            r for r in rows.known_rows(folder, self.dataset.name, self.model) if (r["split"], r["trial"]) in wanted
        ]
        found = self._usable(theirs, folder, self.settings.any_numerics)
        return {key: row | {"taken_from": folder.name} for key, row in found.items()}

    def _usable(self, candidates: Any, folder: Path, any_numerics: bool = False) -> dict[tuple[int, int], Row]:
        codes = self._codes(folder)
        identities: dict[tuple[int, str], set[str]] = {}
        usable = {}
        for row in candidates:
            if row["status"] == "failed" or not (self.splits / f"{row['split']}.npz").exists():
                continue
            key = (row["split"], str(row["numerics"]) if any_numerics else "")
            if key not in identities:
                parts = self.parts(row["split"]) | ({"numerics": key[1]} if key[1] else {})
                identities[key] = {rows.identity(parts | {"code": known}) for known in codes}
            if row["identity"] in identities[key]:
                usable[row["split"], row["trial"]] = row
        return usable

    def _codes(self, folder: Path) -> list[str]:
        """This code and all that was proven equal to it, in the rows' own run or in the one whose rows are known."""
        places = [folder, *([self.settings.known] if self.settings.known else [])]
        return list(dict.fromkeys(c for place in places for c in rows.equal_codes(place, self.model, self.code)))

    def _run(self, split: int, trial: int, best: Row | None) -> Row:
        row, model = self._trial(split, trial)
        if model is not None and better(row, best):
            # The state first, the journal line after: a line in the journal promises that its state is there.
            self._save(model, self.state_path(row))
        return row

    def _trial(self, split: int, trial: int) -> tuple[Row, Competitor | None]:
        key = Key(self.dataset.name, self.model, split, trial)
        space = space_of(self.dataset.name, self.model)
        hyper = hyper_parameters(self.settings.seed, key, space, self.settings.rounding)
        seed = fit_seed(self.settings.seed, key)
        row, model = run_trial(self.model_class, key, seed, hyper, *self._train_and_valid(split), self.options)
        parts = self.parts(split)
        return row | parts | {"identity": rows.identity(parts)}, model

    def _save(self, model: Competitor, path: Path) -> None:
        with replacing(path) as part:
            model.save(part)

    def parts(self, split: int) -> Row:
        """What rows of this split depend on besides their trial's number."""
        # The split's rows, not its file: Pythons zip differently.
        return self._shared | {"split_rows": Split.load(self.splits / f"{split}.npz").sha256()[:12]}

    def identity(self, split: int) -> str:
        """The identity of a row made now."""
        return rows.identity(self.parts(split))

    def state_path(self, row: Row) -> Path:
        """Where a trial's fitted model is kept while it is the best of its chunk."""
        return self.folder / "states" / f"{row['split']}-{row['trial']}-{row['identity']}.pt"

    def state(self, row: Row) -> tuple[Path, str]:
        """The fitted model of a row; if there is none it is fitted again, and `rows.judge` says what came out.

        The second is empty where the state was there.
        """
        path = self.state_path(row)
        if path.exists():
            return path, ""
        again, model = self._trial(row["split"], row["trial"])
        if model is None:
            raise RuntimeError(
                f"{self.model} on {self.dataset.name}, split {row['split']}, trial {row['trial']} was fitted once but "
                f"fails now: {again['message']}"
            )
        self._save(model, path)
        known = rows.spreads(self.settings.known) if self.settings.known else {}
        return path, rows.judge(row, again, known.get((self.dataset.name, self.model), math.nan))

    def _train_and_valid(self, split: int) -> tuple[SurvivalData, SurvivalData]:
        """Preprocessing fitted on train; the test rows are not touched in this module."""
        if self._parts is None or self._parts[0] != split:
            train, valid = prepared(self.dataset, Split.load(self.splits / f"{split}.npz"), "train", "valid")
            self._parts = (split, train, valid)
        return self._parts[1:]


def pin_threads(threads: int) -> None:
    """Torch uses this many threads; BLAS and numba read theirs from the environment, which `__main__` sets."""
    import torch

    torch.set_num_threads(threads)
