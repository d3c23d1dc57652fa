"""Fit the trials of one model on one data set; keep the fitted models that may be chosen."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from pathlib import Path

from baselines.contract import Competitor, TrialOptions
from benchmarks import numerics, registry
from benchmarks.data.files import replacing, sha256_of
from benchmarks.data.preprocess import prepared
from benchmarks.data.splits import Split
from benchmarks.elementary import portable_functions
from benchmarks.results.types import Parts, Trial
from benchmarks.study import plan
from benchmarks.study.store import Journal, Pair, Store, device_type, space_of, spreads
from benchmarks.study.trial import Key, fit_seed, hyper_parameters, run_trial
from soden.types import SurvivalData


class Search:
    """The random search of one model on one data set."""

    def __init__(self, store: Store, dataset: str, model: str) -> None:
        self.store, self.dataset, self.model = store, store.dataset(dataset), model
        self.model_class = registry.model(model)
        config = store.config
        self.options = TrialOptions(device=plan.device_of(config, dataset), **asdict(config.training))
        if self.dataset.seq is not None and not self.model_class.takes_seq:
            raise ValueError(f"{model} cannot use the series of {dataset}; put it under skip.{dataset} in the config")
        if config.numerics != numerics.mode():
            raise ValueError(
                f"{store.run.name} is computed with numerics: {config.numerics}, this process computes "
                f"{numerics.mode()} ones; set {numerics.VARIABLE}={config.numerics} and call again"
            )
        self._split: tuple[int, SurvivalData, SurvivalData] | None = None

    @property
    def folder(self) -> Path:
        """Where the journals, tables and states are."""
        return self.store.folder(self.dataset.name, self.model)

    def run(self, chunk: str, pairs: list[Pair]) -> list[Trial]:
        """These trials, fitting only those that nobody has; the best fitted model of each split is kept."""
        journal = Journal(self.folder / f"{chunk}.jsonl")
        self.store.say_what_counts(self.dataset.name, self.model)
        damaged: list[str] = []
        trials = self.store.finished(self.dataset.name, self.model, damaged)
        known = self.store.taken(self.dataset.name, self.model, damaged)
        taken = {pair: known[pair] for pair in pairs if pair in known and pair not in trials}
        for text in damaged:
            print(f"damaged, so not used: {text}", flush=True)
        journal.append(*(trial.to_row() for trial in taken.values()))
        trials |= taken
        best: dict[int, Trial] = {}
        told = False
        for split, number in pairs:
            trial = trials.get((split, number))
            if trial is None:
                trial = trials[split, number] = self._fit_and_keep(split, number, best.get(split))
                journal.append(trial.to_row())
            if trial.status == "failed" and not told:
                told = True
                print(f"split {split} trial {number} failed:\n{trial.traceback}", flush=True)
            if trial.beats(best.get(split)):
                if split in best:
                    self._forget(best[split])
                best[split] = trial
        return [trials[pair] for pair in pairs]

    def fit(self, split: int, number: int) -> tuple[Trial, Competitor | None]:
        """One trial, fitted now, and its model; none if it failed."""
        device_type(self.options.device)  # an error here and now; to score a model that was kept, no GPU is needed
        config, name = self.store.config, self.dataset.name
        key = Key(name, self.model, split, number)
        # A list of configurations for all splits is drawn as that of split 0, which no data set has.
        drawn = key if config.configurations == "per_split" else replace(key, split=0)
        hyper = hyper_parameters(config.seed, drawn, space_of(name, self.model), config.width_rounding)
        seed = fit_seed(config.seed, key)
        row, model = run_trial(self.model_class, key, seed, hyper, *self._train_and_valid(split), self.options)
        parts = self.parts(split)
        return Trial.from_row(row | asdict(parts) | {"identity": parts.identity}), model

    def _fit_and_keep(self, split: int, number: int, best: Trial | None) -> Trial:
        trial, model = self.fit(split, number)
        if model is not None and trial.beats(best):
            # The state first, the journal line after: a line in the journal promises that its state is there.
            trial = replace(trial, state=self._save(model, self.state_path(trial)))
        return trial

    def _save(self, model: Competitor, path: Path) -> str:
        """Write a fitted model; return the sha256 of its file."""
        with replacing(path) as part, portable_functions():
            model.save(part)
        return sha256_of(path)

    def parts(self, split: int) -> Parts:
        """What a trial fitted now would depend on."""
        return self.store.parts(self.dataset.name, self.model, split)

    def state_path(self, trial: Trial) -> Path:
        """Where a trial's fitted model is kept while it is the best of its chunk."""
        return self.folder / "states" / f"{trial.split}-{trial.trial}-{trial.identity}.pt"

    def state(self, trial: Trial) -> tuple[Path, str]:
        """The file of a trial's fitted model, and what `Trial.judge` said if it had to be fitted again, else "".

        A file counts only if its sha256 is the one in the trial's row, or the one noted with the verdict after it was
        fitted again: what an attempt left that was stopped in between is fitted once more, and so is a damaged file.
        """
        path = self.state_path(trial)
        if path.exists():
            digest, noted = sha256_of(path), _json(path.with_suffix(".json"))
            if noted.get("sha256") == digest:
                return path, str(noted["refit"])
            if digest == trial.state:
                return path, ""
            if trial.state or noted:
                print(f"{path.name} is damaged, so it is fitted again", flush=True)
        again, model = self.fit(*trial.pair)
        if model is None:
            raise RuntimeError(
                f"{self.model} on {self.dataset.name}, split {trial.split}, trial {trial.trial} was fitted once but "
                f"fails now: {again.message}"
            )
        digest = self._save(model, path)
        verdict = trial.judge(again, spreads(self.store.known).get((self.dataset.name, self.model), math.nan))
        with replacing(path.with_suffix(".json")) as part:
            part.write_text(json.dumps({"sha256": digest, "refit": verdict}))
        return path, verdict

    def _forget(self, trial: Trial) -> None:
        for suffix in (".pt", ".json"):
            self.state_path(trial).with_suffix(suffix).unlink(missing_ok=True)

    def test(self, split: int) -> SurvivalData:
        """The test part of a split, which only the evaluation reads."""
        (test,) = prepared(self.dataset, self._rows(split), "test")
        return test

    def _train_and_valid(self, split: int) -> tuple[SurvivalData, SurvivalData]:
        """Preprocessing is fitted on the training part; the test part is not touched here."""
        if self._split is None or self._split[0] != split:
            train, valid = prepared(self.dataset, self._rows(split), "train", "valid")
            self._split = (split, train, valid)
        return self._split[1:]

    def _rows(self, split: int) -> Split:
        return Split.load(self.store.split_file(self.dataset.name, split))


def _json(path: Path) -> dict[str, str]:
    """A map that was written whole; empty if it is not there or damaged."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def pin_threads(threads: int) -> None:
    """Torch uses this many threads; BLAS and numba read theirs from the environment, which `__main__` sets."""
    import torch

    torch.set_num_threads(threads)
