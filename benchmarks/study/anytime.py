"""Tables of an unfinished run: from the trials there are, each cell saying how many trials and splits it rests on."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from benchmarks.data.files import replacing
from benchmarks.results.types import Score, Trial, trials_frame
from benchmarks.study import plan
from benchmarks.study.evaluate import choose, evaluate_model, scores_frame
from benchmarks.study.gather import gather
from benchmarks.study.search import Search
from benchmarks.study.status import available
from benchmarks.study.store import Store


def gather_so_far(run: Path) -> tuple[Path, pd.DataFrame]:
    """Score what is finished into <run>/anytime; return that folder and the summaries of the data sets."""
    store = Store.of_run(run)
    scores: list[Score] = []
    trials: list[Trial] = []
    planned, summaries = [], []
    for name in available(run, store.config):
        if not store.is_prepared(name, range(1, plan.n_splits(store.config, name) + 1)):
            continue
        summaries.append(store.dataset(name).summary())
        for model in plan.models_for(store.config, name):
            planned.append((name, model, plan.n_splits(store.config, name)))
            finished = store.finished(name, model)
            made = [finished[pair] for pair in store.pairs(name, model) if pair in finished]
            scores += _scores_so_far(Search(store, name, model), made)
            trials += made
    if not scores:
        raise ValueError(f"no trial of {run.name} is finished yet; `python -m benchmarks status {run.name}` follows it")
    out = run / "anytime"
    convention = store.config.evaluation.convention
    counts = pd.DataFrame(planned, columns=["dataset", "model", "n_splits"])
    gather(scores_frame(scores), trials_frame(trials), convention, counts, out, store.config.compare_with)
    return out, pd.DataFrame(summaries)


def _scores_so_far(search: Search, trials: list[Trial]) -> list[Score]:
    """Scores of each split's best trial so far; what was scored before is read back."""
    scores: list[Score] = []
    folder = search.store.run / "anytime" / "scored" / search.dataset.name / search.model
    for split, best in sorted(choose(trials).items()):
        cached = folder / f"{search.state_path(best).stem}.json"
        if not cached.exists():
            out = evaluate_model(search, [trial for trial in trials if trial.split == split])
            with replacing(cached) as part:
                part.write_text(json.dumps([score.to_row() for score in out.scores]))
        scores += [Score.from_row(row) for row in json.loads(cached.read_text())]
    return scores
