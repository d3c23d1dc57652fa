"""Run one chunk of random-search trials and write their rows; resumes where an earlier attempt stopped."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import data, registry
from benchmarks.data.files import replacing
from benchmarks.data.preprocess import Preprocessor
from benchmarks.data.splits import Split
from benchmarks.study import journal
from benchmarks.study.trial import Key, better, options_from, run_trial
from soden.space import Rounding
from soden.types import SurvivalData

Row = dict[str, Any]


class Tuner:
    """The trials of one (data set, model): where their rows and states are, and what they depend on."""

    def __init__(
        self,
        folder: Path,
        dataset: data.Dataset,
        splits: Path,
        model: str,
        seed: int,
        training: Mapping[str, Any],
        rounding: Rounding = "truncate",
        device: str = "auto",
    ) -> None:
        self.folder, self.dataset, self.splits, self.model = folder, dataset, splits, model
        self.seed, self.training, self.rounding, self.device = seed, dict(training), rounding, device
        if dataset.seq is not None and not registry.model(model).takes_seq:
            raise ValueError(
                f"{model} cannot use the series of {dataset.name}; put it under skip.{dataset.name} in the config"
            )
        self._data_hash = dataset.sha256()
        self._parts: tuple[int, SurvivalData, SurvivalData] | None = None

    def run(self, chunk: str, pairs: list[tuple[int, int]]) -> list[Row]:
        """The rows of these (split, trial) pairs, running only those no journal has; keeps each split's best state."""
        writer = journal.Journal(self.folder / f"{chunk}.jsonl")
        known = {(r["split"], r["trial"], r["identity"]): r for r in journal.read_folder(self.folder)}
        rows: list[Row] = []
        best: dict[int, Row] = {}
        for split, trial in pairs:
            row = known.get((split, trial, self.identity(split)))
            if row is None:
                row = self._run(split, trial, best.get(split))
                writer.append(row)
            rows.append(row)
            if better(row, best.get(split)):
                if split in best:
                    self.state_path(best[split]).unlink(missing_ok=True)
                best[split] = row
        for row in best.values():
            if not self.state_path(row).exists():  # known from a journal whose best was another trial
                self._run(row["split"], row["trial"], None)
        return rows

    def _run(self, split: int, trial: int, best: Row | None) -> Row:
        train, valid = self._train_and_valid(split)
        key = Key(self.dataset.name, self.model, split, trial)
        options = options_from(self.training, self.device)
        row, model = run_trial(self.seed, key, train, valid, options, self.rounding)
        row |= {"identity": self.identity(split), "data": self._data_hash}
        if model is not None and better(row, best):
            # The state first, the journal line after: a line in the journal promises that its state is there.
            path = self.state_path(row)
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as part:
                model.save(part)
        return row

    def identity(self, split: int) -> str:
        """What rows of this split depend on besides their key."""
        # repr: a changed search range is a changed draw.
        space = {k: repr(v) for k, v in registry.model(self.model).space.items()}
        search = {k: list(v) for k, v in data.module(self.dataset.name).SEARCH.items()}
        return journal.identity(
            seed=self.seed,
            data=self._data_hash,
            split=Split.load(self.splits / f"{split}.npz").sha256(),  # the rows, not the file: Pythons zip differently
            training=self.training,
            rounding=self.rounding,
            space=space,
            search=search,
        )

    def state_path(self, row: Row) -> Path:
        """Where a trial's fitted model is kept while it is the best of its chunk."""
        return self.folder / "states" / f"{row['split']}-{row['trial']}-{row['identity']}.pt"

    def _train_and_valid(self, split: int) -> tuple[SurvivalData, SurvivalData]:
        """Preprocessing fitted on train; the test rows are not touched in this module."""
        if self._parts is None or self._parts[0] != split:
            rows = Split.load(self.splits / f"{split}.npz")
            train = self.dataset.take(rows.train)
            fitted = Preprocessor.fit(train)
            self._parts = (split, fitted.transform(train), fitted.transform(self.dataset.take(rows.valid)))
        return self._parts[1:]


def write_rows(rows: list[Row], path: Path) -> None:
    """One tidy parquet row per trial; hyper-parameters get a column each."""
    import pandas as pd

    flat = [{k: v for k, v in r.items() if k != "hyper"} | {f"hp_{k}": v for k, v in r["hyper"].items()} for r in rows]
    with replacing(path) as part:
        pd.DataFrame(flat).to_parquet(part, index=False)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--data", type=Path, required=True, help="the data set's npz")
    parser.add_argument("--splits", type=Path, required=True, help="folder with <split>.npz")
    parser.add_argument("--model", required=True)
    parser.add_argument("--pairs", required=True, help="split:trial pairs, e.g. 1:0,1:1")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--training", type=json.loads, default={}, help="JSON of the config's training section")
    parser.add_argument("--rounding", choices=("truncate", "nearest"), default="truncate")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="parquet of trial rows; the journal is beside it")


def run(args: argparse.Namespace) -> int:
    """Run the chunk."""
    pin_threads(args.threads)
    dataset = data.Dataset.load(args.data)
    tuner = Tuner(
        args.out.parent, dataset, args.splits, args.model, args.seed, args.training, args.rounding, args.device
    )
    pairs = [(int(s), int(t)) for s, t in (pair.split(":") for pair in args.pairs.split(","))]
    rows = tuner.run(args.out.stem, pairs)
    write_rows(rows, args.out)
    count = {status: sum(r["status"] == status for r in rows) for status in ("ok", "diverged", "failed")}
    print(f"{args.model} on {dataset.name}: {len(rows)} trials, " + ", ".join(f"{n} {s}" for s, n in count.items()))
    for row in rows:
        if row["status"] == "failed":
            print(f"  split {row['split']} trial {row['trial']} failed: {row['message']}")
    return 0


def pin_threads(threads: int) -> None:
    """Torch uses this many threads; BLAS and numba read theirs from the environment, which `__main__` sets."""
    import torch

    torch.set_num_threads(threads)
