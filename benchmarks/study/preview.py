"""What a run is about to do: the rows it has, those it takes over, those it makes, and why older ones do not do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import data
from benchmarks.study import journal, plan, rows
from benchmarks.study.tune import Settings, Tuner, parts_of_any

NOT_BEGUN = "not begun"


@dataclass
class Preview:
    """The rows of one model on one data set."""

    dataset: str
    model: str
    done: int = 0
    taken: int = 0  # from the run named by `known`
    promised: int = 0  # likewise, if data and splits come out as there
    new: Counter[str] = field(default_factory=Counter)  # why -> how many


def preview(results: Path, config: Mapping[str, Any], datasets: list[str]) -> list[Preview]:
    """Compare journals and known rows with what the run asks for; a data set not built yet is taken to be theirs."""
    return [_of_model(results, config, name, model) for name in datasets for model in plan.models_for(config, name)]


def _of_model(results: Path, config: Mapping[str, Any], name: str, model: str) -> Preview:
    found = Preview(name, model)
    pairs = [pair for chunk in plan.chunks(config, name, model) for pair in chunk.trials]
    folder, table, splits = (
        results / "trials" / name / model,
        results / "data" / f"{name}.npz",
        results / "splits" / name,
    )
    missing = not table.is_file() or any(not (splits / f"{split}.npz").is_file() for split, _ in pairs)
    if missing or not (config["known"] or any(folder.glob("*.jsonl"))):
        found.promised = len(promised(config, name, model)) if config["known"] else 0
        found.new[NOT_BEGUN] = len(pairs) - found.promised
        return found
    tuner = Tuner(folder, data.Dataset.load(table), splits, model, _settings(config))
    own = tuner.finished()
    taken = tuner.known(pairs)
    old = {(row["split"], row["trial"]): row for row in journal.read_folder(folder)}
    for pair in pairs:
        if pair in own:
            found.done += 1
        elif pair in taken:
            found.taken += 1
        else:
            found.new[_why(tuner, old.get(pair))] += 1
    return found


def _settings(config: Mapping[str, Any]) -> Settings:
    known = Path(config["known"]) if config["known"] else None
    kind = "native" if config["numerics"] == "native" else ""
    others = config["known_numerics"] == "any"
    return Settings(config["seed"], config["training"], config["width_rounding"], config["device"], known, others, kind)


def promised(config: Mapping[str, Any], name: str, model: str) -> dict[tuple[int, int], str]:
    """(split, trial) -> identity of the known rows this run will take over if it has the data and splits they had."""
    folder, settings = Path(config["known"]), _settings(config)
    wanted = parts_of_any(name, model, settings, data.has_series(name))
    codes = rows.equal_codes(folder, model, wanted.pop("code"))
    if settings.any_numerics:
        del wanted["numerics"]
    pairs = {pair for chunk in plan.chunks(config, name, model) for pair in chunk.trials}
    return {
        (row["split"], row["trial"]): row["identity"]
        for row in rows.known_rows(folder, name, model)
        if (row["split"], row["trial"]) in pairs
        and row["status"] != "failed"
        and row["code"] in codes
        and not rows.changed(row, wanted)
    }


def _why(tuner: Tuner, row: Mapping[str, Any] | None) -> str:
    if row is None:
        return NOT_BEGUN
    if changed := rows.changed(row, tuner.parts(row["split"])):
        return f"{' and '.join(changed)} changed"
    return "failed before"


def sentences(found: list[Preview], known: str) -> Iterator[str]:
    """One line for the run, and one for every reason to make rows anew with the models it touches."""
    done, promises = sum(p.done for p in found), sum(p.promised for p in found)
    taken = sum(p.taken for p in found) + promises
    new = sum(sum(p.new.values()) for p in found)
    parts = [f"{new} trials to run", f"{done} there already"]
    if known:
        parts.append(f"{taken} taken from {known}")
    yield ", ".join(parts) + "."
    if promises:
        yield f"  {promises} of these once data and splits are built, if they come out as there; else they are run."
    reasons: dict[str, Counter[str]] = {}
    for p in found:
        for why, n in p.new.items():
            if why != NOT_BEGUN:
                reasons.setdefault(why, Counter())[p.model] += n
    for why, models in reasons.items():
        yield f"  {sum(models.values())} again, {why}: {', '.join(f'{m} ({n})' for m, n in models.items())}"
