"""Tables of an unfinished run: from the trials there are, each cell saying how many trials and splits it rests on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import data
from benchmarks.data.files import replacing
from benchmarks.study import plan
from benchmarks.study.evaluate import choose, evaluate_model
from benchmarks.study.tune import Settings, Tuner

Row = dict[str, Any]


def finished(results: Path, config: Mapping[str, Any], dataset: data.Dataset, model: str) -> tuple[Tuner, list[Row]]:
    """The journal rows that belong to this run as it is configured now; another setting's rows are not of it."""
    folder, splits = results / "trials" / dataset.name / model, results / "splits" / dataset.name
    settings = Settings(config["seed"], config["training"], config["width_rounding"], config["device"])
    tuner = Tuner(folder, dataset, splits, model, settings)
    wanted = {pair for chunk in plan.chunks(config, dataset.name, model) for pair in chunk.trials}
    rows = tuner.finished()
    return tuner, [rows[pair] for pair in sorted(wanted & rows.keys())]


def scores_so_far(
    results: Path, config: Mapping[str, Any], dataset: data.Dataset, model: str
) -> tuple[list[Row], list[Row]]:
    """Scores of each split's best trial so far, and the rows they rest on; what was scored before is read back."""
    tuner, rows = finished(results, config, dataset, model)
    scores: list[Row] = []
    for split, best in sorted(choose(rows).items()):
        state = tuner.state_path(best)
        cached = results / "anytime" / "scored" / dataset.name / model / f"{state.stem}.json"
        if not cached.exists():
            out = evaluate_model(tuner, [r for r in rows if r["split"] == split])
            with replacing(cached) as part:
                part.write_text(json.dumps(out["scores"]))
        scores += json.loads(cached.read_text())
    return scores, rows
