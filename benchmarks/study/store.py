"""The trials of a run: which exist, which may be used again, and why the others may not.

A trial is used again only where everything it depends on is the same (`results.types.Parts`): seed, data, split,
settings, search space, code, numerics and kind of device. Trials come from the run's own journals and from the table of
the finished run that the configuration names under `known`. Code that was proven to give the same trials (codes.json,
of this run, of that one or of any kept run) counts as the same. A failed trial is never used again, and a damaged one
is a missing one.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from benchmarks import code, data, numerics, registry
from benchmarks.config import Config
from benchmarks.data.files import replacing
from benchmarks.data.splits import Split
from benchmarks.results.files import damaged as damaged_file
from benchmarks.results.files import read_csv, read_json, read_parquet, write_parquet
from benchmarks.results.folder import kept_runs
from benchmarks.results.types import DamagedRow, Parts, Trial, read_trials, trials_frame
from benchmarks.study import plan

CODES = "codes.json"  # in a run's folder: which code was proven to give the trials of another
FURTHER = "further_trials.parquet"  # in a kept run: trials beyond those its numbers rest on
ROUNDING = "rounding.csv"  # in a kept run: how far rounding alone moves the scores of its chosen trials
CURRENT = "current.json"  # in a model's folder of trials: split -> the identities that `status` may count
NOT_BEGUN = "not begun"

Pair = tuple[int, int]  # split (from 1) and trial (from 0)


class Store:
    """The trials of one run."""

    def __init__(self, run: Path, config: Config) -> None:
        self.run, self.config = run, config
        self.known = Path(config.known) if config.known else None
        self._datasets: dict[str, data.Dataset] = {}
        self._shared: dict[tuple[str, str], Parts] = {}
        self._splits: dict[tuple[str, int], str] = {}
        self._codes: dict[tuple[str, str], list[str]] = {}

    @classmethod
    def of_run(cls, run: Path) -> Self:
        """The trials of a run as its config.json says they are made."""
        return cls(run, Config.of_run(run))

    # Places

    def folder(self, dataset: str, model: str) -> Path:
        """Where the journals, tables and states of one model are."""
        return self.run / "trials" / dataset / model

    def split_file(self, dataset: str, split: int) -> Path:
        """Where a split is."""
        return self.run / "splits" / dataset / f"{split}.npz"

    def dataset(self, name: str) -> data.Dataset:
        """The data set as this run prepared it."""
        if name not in self._datasets:
            self._datasets[name] = data.Dataset.load(self.run / "data" / f"{name}.npz")
        return self._datasets[name]

    def pairs(self, dataset: str, model: str) -> list[Pair]:
        """The trials that the configuration asks for."""
        return [pair for chunk in plan.chunks(self.config, dataset, model) for pair in chunk.trials]

    # What a trial depends on

    def parts(self, dataset: str, model: str, split: int) -> Parts:
        """What a trial fitted now would depend on."""
        if (dataset, split) not in self._splits:
            # The split's rows, not its file: Pythons zip differently.
            self._splits[dataset, split] = Split.load(self.split_file(dataset, split)).sha256()[:12]
        shared = self.parts_without_split(dataset, model)
        return replace(shared, data=self._data_hash(dataset), split_rows=self._splits[dataset, split])

    def parts_without_split(self, dataset: str, model: str) -> Parts:
        """The same before data and splits are there."""
        if (dataset, model) not in self._shared:
            native = self.config.numerics == "native"
            self._shared[dataset, model] = Parts(
                root_seed=self.config.seed,
                dataset=dataset,
                model=model,
                data="",
                settings=short_hash(self.config.hashed()),
                # repr: a changed search range is a changed draw.
                space=short_hash({k: repr(v) for k, v in space_of(dataset, model).items()}),
                code=code.of_model(model, series=data.has_series(dataset)),
                numerics="native" if native else numerics.kind(),
                device=plan.device_of(self.config, dataset).split(":")[0],
                split_rows="",
            )
        return self._shared[dataset, model]

    def _data_hash(self, dataset: str) -> str:
        return self.dataset(dataset).sha256()

    def equal_codes(self, model: str, now: str) -> list[str]:
        """This code, and the codes whose trials it was proven to give."""
        if (model, now) not in self._codes:
            folders = [self.run, *([self.known] if self.known else [])]
            self._codes[model, now] = equal_codes(folders, model, now)
        return self._codes[model, now]

    # Which trials may be used

    def why_not(self, trial: Trial) -> str:
        """Why this run may not use a trial, in words; empty if it may.

        Data and splits that are not prepared yet are expected to become those of the trial.
        """
        dataset, model = trial.dataset, trial.model
        if self.is_prepared(dataset, [trial.split]):
            now = self.parts(dataset, model, trial.split)
        else:
            then = trial.parts
            now = replace(self.parts_without_split(dataset, model), data=then.data, split_rows=then.split_rows)
        if trial.parts.code in self.equal_codes(model, now.code):
            now = replace(now, code=trial.parts.code)
        if self.config.known_numerics == "any":
            now = replace(now, numerics=trial.parts.numerics)
        changed = trial.parts.changed(now)
        if changed:
            return f"{' and '.join(changed)} changed"
        return "failed before" if trial.status == "failed" else ""

    def is_prepared(self, dataset: str, splits: Iterable[int]) -> bool:
        """Whether the data set and these splits are in the run's folder."""
        table = self.run / "data" / f"{dataset}.npz"
        return table.is_file() and all(self.split_file(dataset, split).is_file() for split in splits)

    def journalled(self, dataset: str, model: str, damaged: list[str] | None = None) -> dict[Pair, Trial]:
        """The newest trial of each pair in the journals, usable or not."""
        return {trial.pair: trial for trial in read_journals(self.folder(dataset, model), damaged)}

    def finished(self, dataset: str, model: str, damaged: list[str] | None = None) -> dict[Pair, Trial]:
        """The trials of the journals that may be used."""
        trials = read_journals(self.folder(dataset, model), damaged)
        return {t.pair: t for t in trials if t.model == model and not self.why_not(t)}

    def taken(self, dataset: str, model: str, damaged: list[str] | None = None) -> dict[Pair, Trial]:
        """The trials of the run named by `known` that may be used, marked with its name."""
        if self.known is None:
            return {}
        wanted = set(self.pairs(dataset, model))
        rows = (t for t in read_known(self.known, dataset, model, damaged) if t.pair in wanted)
        return {t.pair: replace(t, taken_from=self.known.name, state="") for t in rows if not self.why_not(t)}

    def preview(self, dataset: str, model: str) -> Preview:
        """What a run is about to do with one model; a data set not prepared yet is expected to be as in `known`."""
        pairs = self.pairs(dataset, model)
        ready = self.is_prepared(dataset, {split for split, _ in pairs})
        forecast = Preview(dataset, model)
        old = self.journalled(dataset, model) if ready else {}
        done = self.finished(dataset, model) if old else {}
        taken = self.taken(dataset, model)
        for pair in pairs:
            if pair in done:
                forecast.done += 1
            elif pair in taken:
                forecast.taken += 1
                forecast.promised += not ready
            else:
                forecast.new[self.why_not(old[pair]) if pair in old else NOT_BEGUN] += 1
        return forecast

    def say_what_counts(self, dataset: str, model: str) -> None:
        """Write current.json, the identities that `status` counts without loading torch."""
        numbers = sorted(int(path.stem) for path in (self.run / "splits" / dataset).glob("*.npz"))
        other = numerics.MODES if self.config.known_numerics == "any" else ()
        counts = {}
        for split in numbers:
            now = self.parts(dataset, model, split)
            kinds = dict.fromkeys([now.numerics, *other])
            codes = self.equal_codes(model, now.code)
            counts[split] = [replace(now, code=old, numerics=kind).identity for old in codes for kind in kinds]
        with replacing(self.folder(dataset, model) / CURRENT) as part:
            part.write_text(json.dumps(counts))


@dataclass
class Preview:
    """The trials of one model on one data set before a run begins."""

    dataset: str
    model: str
    done: int = 0
    taken: int = 0  # from the run named by `known`
    promised: int = 0  # of these, those taken only if data and splits come out as there
    new: Counter[str] = field(default_factory=Counter)  # why -> how many


def sentences(previews: list[Preview], known: str) -> Iterator[str]:
    """One line for the run, and one for every reason to run trials again with the models it touches."""
    parts = [f"{sum(p.new.total() for p in previews)} trials to run", f"{sum(p.done for p in previews)} there already"]
    if known:
        parts.append(f"{sum(p.taken for p in previews)} taken from {known}")
    yield ", ".join(parts) + "."
    if promised := sum(p.promised for p in previews):
        yield f"  {promised} of these once data and splits are built, if they come out as there; else they are run."
    reasons: dict[str, Counter[str]] = {}
    for p in previews:
        for why, n in p.new.items():
            if why != NOT_BEGUN:
                reasons.setdefault(why, Counter())[p.model] += n
    for why, models in reasons.items():
        yield f"  {models.total()} again, {why}: {', '.join(f'{m} ({n})' for m, n in models.items())}"


def nothing_known(store: Store, previews: Iterable[Preview]) -> str:
    """Why the run named by `known` is of no use to this one; empty if it is, or if there is none."""
    previews = list(previews)
    if store.known is None or any(p.done + p.taken for p in previews):
        return ""
    known = (t for p in previews for t in read_known(store.known, p.dataset, p.model))
    whys = Counter(store.why_not(t) or "not asked for by this run" for t in known)
    text = (
        "; ".join(f"{n} trials: {why}" for why, n in whys.most_common(3)) or "it has none of these models on these data"
    )
    return f"known: no trial of {store.known} can be taken ({text}); set known to '' to fit all anew"


# Journals: one line per finished trial, on disk before the next begins, so that a killed job loses one trial.


class Journal:
    """Append-only JSON lines; one file per job, so that no two processes ever write the same one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            _drop_torn_end(path)

    def append(self, *rows: Mapping[str, Any]) -> None:
        """Write finished trials and wait until the disk has them."""
        with self.path.open("a") as file:
            file.writelines(json.dumps(row, sort_keys=True) + "\n" for row in rows)
            file.flush()
            os.fsync(file.fileno())


def read_lines(content: bytes, damaged: list[str] | None = None) -> Iterator[dict[str, Any]]:
    """The maps of a journal; a line that is not whole is none, and is named in `damaged` unless it is the last."""
    lines = content.split(b"\n")
    for number, text in enumerate(lines, start=1):
        try:
            row = json.loads(text)
            if not isinstance(row, dict):
                raise ValueError("no map")
        except ValueError:
            if damaged is not None and number < len(lines):
                damaged.append(f"line {number} is not JSON")
        else:
            yield row


def read_journal(path: Path, damaged: list[str] | None = None) -> Iterator[Trial]:
    """The finished trials of a journal, also while another process writes it; a damaged line is no trial."""
    yield from _trials(read_lines(path.read_bytes(), damaged), damaged)


def read_journals(folder: Path, damaged: list[str] | None = None) -> Iterator[Trial]:
    """The trials of every journal in a folder, whatever the chunks were when they were written."""
    for path in sorted(folder.glob("*.jsonl")):
        texts: list[str] = []
        yield from read_journal(path, texts)
        if damaged is not None:
            damaged += [f"{path.name}: {text}" for text in texts]


class Follower:
    """The trials of a folder's journals as they come: each call gives those written since the last one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read: dict[Path, int] = {}  # bytes of each journal that were seen, up to the end of a line

    def new_trials(self) -> Iterator[Trial]:
        """Reads what was added only: a run looks every second, and 20,000 rows take a second to read."""
        for path in sorted(self.folder.glob("*.jsonl")):
            start = self._read.get(path, 0)
            if path.stat().st_size <= start:
                continue
            with path.open("rb") as file:
                file.seek(start)
                content = file.read()
            whole = content[: content.rfind(b"\n") + 1]
            self._read[path] = start + len(whole)
            yield from _trials(read_lines(whole))


def _trials(rows: Iterable[Mapping[str, Any]], damaged: list[str] | None = None) -> Iterator[Trial]:
    for row in rows:
        try:
            yield Trial.from_row(row)
        except DamagedRow as error:
            if damaged is not None:
                damaged.append(str(error))


def _drop_torn_end(path: Path) -> None:
    """Cut what a dying process left of its last line, so that the next line starts on its own."""
    content = path.read_bytes()
    if content and not content.endswith(b"\n"):
        with path.open("r+b") as file:
            file.truncate(content.rfind(b"\n") + 1)
            os.fsync(file.fileno())


# Tables


def write_chunk(trials: list[Trial], path: Path) -> None:
    """Write the table of a job's trials."""
    write_parquet(trials_frame(trials), path)


def read_chunks(paths: Iterable[Path]) -> list[Trial]:
    """Trials back from tables, by split and number; a damaged table is an error that says what to do."""
    trials: list[Trial] = []
    for path in paths:
        try:
            trials += read_trials(read_parquet(path))
        except FileNotFoundError:
            raise FileNotFoundError(f"no table of trials {path}; `python -m benchmarks run` makes it") from None
        except DamagedRow as error:
            raise damaged_file(path, error) from error
    return sorted(trials, key=lambda trial: trial.pair)


def read_known(folder: Path, dataset: str, model: str, damaged: list[str] | None = None) -> Iterator[Trial]:
    """The trials of one model on one data set in the tables of a finished run."""
    path = folder / "trials.parquet"
    if not path.is_file():
        raise FileNotFoundError(
            f"known: {folder} holds no trials.parquet; name the folder of a finished run, such as results/reference, "
            "as it is seen from the clone"
        )
    for table in (path, folder / FURTHER):
        if table.is_file():
            frame = read_parquet(table, filters=[("dataset", "==", dataset), ("model", "==", model)])
            yield from _trials(frame.to_dict("records"), damaged)


# Proofs that code gives the trials of other code, written by `reference adopt`


def read_codes(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Model -> what was proven: {"code", "equals", "when", "rows"}."""
    path = folder / CODES
    return read_json(path) if path.is_file() else {}


def equal_codes(folders: Iterable[Path], model: str, now: str) -> list[str]:
    """This code, and the codes whose trials it was proven to give, in these folders or in any kept run.

    A proof without trials that were run again is none.
    """
    everywhere = dict.fromkeys([*folders, *kept_runs()])
    proofs = [proof for folder in everywhere for proof in read_codes(folder).get(model, []) if proof["rows"]]
    codes = [now]
    for known in codes:  # grows while it is read: equal to equal is equal
        codes += [p["equals"] for p in proofs if p["code"] == known and p["equals"] not in codes]
    return codes


def add_code(folder: Path, model: str, proof: dict[str, Any]) -> None:
    """Write down one more proof."""
    codes = read_codes(folder)
    codes.setdefault(model, []).append(proof)
    with replacing(folder / CODES) as part:
        part.write_text(json.dumps(codes, indent=1, sort_keys=True))


def spreads(folder: Path | None) -> dict[tuple[str, str], float]:
    """(data set, model) -> how far rounding alone moves validation scores, where a run has measured it."""
    if folder is None or not (folder / ROUNDING).is_file():
        return {}
    return {(r.dataset, r.model): float(r.largest) for r in read_csv(folder / ROUNDING).itertuples()}


# The parts that are hashes


def short_hash(value: Any) -> str:
    """Twelve hexadecimal digits of anything JSON can write."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:12]


def space_of(dataset: str, model: str) -> Mapping[str, Any]:
    """What a model draws on a data set."""
    from baselines.space import resolve

    return resolve(registry.model(model).space, data.module(dataset).SEARCH)


def device_type(name: str) -> str:
    """What kind of device this is ("cpu", "cuda"); one that is not here is an error, before any trial."""
    import torch

    from soden.training import resolve_device

    device = resolve_device(name)
    here = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device.type == "cuda" and (device.index or 0) >= here:
        raise ValueError(
            f"device: {name} was asked for, but torch finds {here or 'no'} GPU{'s' if here > 1 else ''} here; "
            "use `device: auto`, which takes one if there is one, or `device: cpu`"
        )
    return device.type
