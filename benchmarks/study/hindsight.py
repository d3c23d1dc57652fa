"""Score the best trials of each split on its test part, after the choice: for the search's own noise, nothing else.

No part of the study reads what is written here: selection looks at validation scores alone, and this comes when the
chosen trial has been scored already.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.data.preprocess import prepared
from benchmarks.data.splits import Split
from benchmarks.metrics.evaluate import evaluate
from benchmarks.results.tidy import PAPER_METRICS
from benchmarks.study.audit import Again
from benchmarks.study.rows import Row
from benchmarks.study.trial import better


def ranked(rows: list[Row], top: int) -> list[Row]:
    """The best trials of one split by validation score, as selection ranks them; failed ones are never among them."""
    left, found = [row for row in rows if row["status"] == "ok"], list[Row]()
    while left and len(found) < top:
        best: Row | None = None
        for row in left:
            if better(row, best):
                best = row
        assert best is not None
        found.append(best)
        left.remove(best)
    return found


def scored(again: Again, row: Row, convention: str) -> Iterator[dict[str, Any]]:
    """The paper's metrics of one trial's model, fitted again, on the test part of its split."""
    tuner = again.tuner(row["dataset"], row["model"], row["split"])
    path, refit = tuner.state(row)
    if refit not in ("", "identical"):
        raise ValueError(
            f"{row['dataset']}/{row['model']}/{row['split']}/{row['trial']} came out otherwise: {refit}; hindsight is "
            "for rows that come out again (see `python -m benchmarks audit`)"
        )
    fitted = tuner.model_class.load(path)
    path.unlink()
    (test,) = prepared(tuner.dataset, Split.load(tuner.splits / f"{row['split']}.npz"), "test")
    scores = evaluate(
        test.time,
        test.event,
        lambda t: fitted.predict_survival(test, t),
        fitted.nll(test),
        convention,  # type: ignore[arg-type]
    )
    for score in scores:
        if (score.metric, score.g_tau) in PAPER_METRICS:
            yield score._asdict()


def of_split(again: Again, rows: list[Row], top: int, convention: str) -> list[dict[str, Any]]:
    """Rank and score the best trials of one split."""
    out = []
    for rank, row in enumerate(ranked(rows, top), start=1):
        key = {name: row[name] for name in ("dataset", "model", "split", "trial")}
        key |= {"rank": rank, "n_trials": len(rows), "valid_score": row["score"], "hindsight": True}
        out += [key | score for score in scored(again, row, convention)]
    return out
