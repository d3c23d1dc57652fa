"""What a run is about to do: the rows it has, those it takes over, those it makes, and why older ones do not do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import data
from benchmarks.study import journal, plan, rows
from benchmarks.study.tune import Settings, Tuner

NOT_BEGUN = "not begun"


@dataclass
class Preview:
    """The rows of one model on one data set."""

    dataset: str
    model: str
    done: int = 0
    taken: int = 0  # from the run named by `known`
    new: Counter[str] = field(default_factory=Counter)  # why -> how many


def preview(results: Path, config: Mapping[str, Any], datasets: list[str]) -> list[Preview]:
    """Compare journals and known rows with what the run asks for; of data sets not built yet nothing is known."""
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
        found.new[NOT_BEGUN] = len(pairs)
        return found
    known = Path(config["known"]) if config["known"] else None
    kind = "native" if config["numerics"] == "native" else ""
    others = config["known_numerics"] == "any"
    settings = Settings(
        config["seed"], config["training"], config["width_rounding"], config["device"], known, others, kind
    )
    tuner = Tuner(folder, data.Dataset.load(table), splits, model, settings)
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


def _why(tuner: Tuner, row: Mapping[str, Any] | None) -> str:
    if row is None:
        return NOT_BEGUN
    if changed := rows.changed(row, tuner.parts(row["split"])):
        return f"{' and '.join(changed)} changed"
    return "failed before"


def sentences(found: list[Preview], known: str) -> Iterator[str]:
    """One line for the run, and one for every reason to make rows anew with the models it touches."""
    done, taken = sum(p.done for p in found), sum(p.taken for p in found)
    new = sum(sum(p.new.values()) for p in found)
    parts = [f"{new} trials to run", f"{done} there already"]
    if known:
        parts.append(f"{taken} taken from {known}")
    yield ", ".join(parts) + "."
    reasons: dict[str, Counter[str]] = {}
    for p in found:
        for why, n in p.new.items():
            if why != NOT_BEGUN:
                reasons.setdefault(why, Counter())[p.model] += n
    for why, models in reasons.items():
        yield f"  {sum(models.values())} again, {why}: {', '.join(f'{m} ({n})' for m, n in models.items())}"
