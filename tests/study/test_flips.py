"""One flipped bit in a stored file: found and said, or without effect; never used. `-s` prints the counts."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.uneven import by_hand, search_of, uneven

from benchmarks.study import evaluate, store
from benchmarks.study.gather import gather_scores, gather_trials
from soden import SODEN

FLIPS = 100
DATA, SPLIT = uneven()
PAIRS = [(1, t) for t in range(6)]


def flipped(path: Path, use: Callable[[], Any], same: Callable[[Any, Any], bool]) -> Counter[str]:
    """What becomes of FLIPS random bits of a file: refused, noticed (it is said), without effect, silent."""
    whole, rng, found = path.read_bytes(), np.random.default_rng(7), Counter[str]()
    expected, _ = use()
    for at in rng.choice(8 * len(whole), FLIPS, replace=False):
        content = bytearray(whole)
        content[at // 8] ^= 1 << (at % 8)
        path.write_bytes(content)
        try:
            result, said = use()
        except (ValueError, OSError):
            found["refused"] += 1
        else:
            found["noticed" if said else "without effect" if same(result, expected) else "silent"] += 1
    path.write_bytes(whole)
    print(f"{path.suffix}: {dict(found)}")
    return found


@pytest.fixture
def made(tmp_path: Path) -> Any:
    """A search whose trials are in a journal, with a state and tables."""
    made = search_of(tmp_path, DATA, {1: SPLIT}, "deepsurv")
    store.write_chunk(made.run("0000", PAIRS), made.folder / "0000.parquet")
    return made


def test_of_a_journal(made: Any) -> None:
    def use() -> tuple[Any, list[str]]:
        damaged: list[str] = []
        trials = made.store.finished("simulated", "deepsurv", damaged)
        # A row whose state's sha256 is damaged still counts; the state then does not fit and is fitted again.
        return {pair: trial.digest for pair, trial in trials.items()}, damaged

    counts = flipped(made.folder / "0000.jsonl", use, lambda one, two: bool(one == two))
    assert counts["silent"] == 0
    assert counts["noticed"] > FLIPS / 2


def test_of_a_state(made: Any) -> None:
    """The test scores are those of the whole file, fitted again where it is not."""
    trials = store.read_chunks([made.folder / "0000.parquet"])
    best = evaluate.choose(trials)[1]
    path = made.state_path(best)
    test = by_hand(DATA, SPLIT, "test")

    def use() -> tuple[Any, str]:
        path.with_suffix(".json").unlink(missing_ok=True)
        state, verdict = made.state(best)
        assert verdict in ("", "identical")
        S = made.model_class.load(state).predict_survival(test, np.linspace(0, 2, 50))
        np.testing.assert_array_equal(S, predicted)
        return S, verdict

    predicted = made.model_class.load(path).predict_survival(test, np.linspace(0, 2, 50))
    counts = flipped(path, use, np.array_equal)
    assert counts == {"noticed": FLIPS}


@pytest.mark.parametrize("kind", ["trials", "scores"])
def test_of_a_table(kind: str, made: Any, tmp_path: Path) -> None:
    path = made.folder / "0000.parquet"
    read = gather_trials
    if kind == "scores":
        path, read = tmp_path / "scores.parquet", gather_scores
        out = evaluate.evaluate_model(made, store.read_chunks([made.folder / "0000.parquet"]))
        evaluate.write(out, path, tmp_path / "chosen.json")
    counts = flipped(path, lambda: (read([path]), ""), lambda one, two: one.equals(two))
    assert counts["silent"] == 0
    assert counts["refused"] > FLIPS / 4


@pytest.mark.filterwarnings("ignore")
def test_of_a_saved_model(tmp_path: Path) -> None:
    part = by_hand(DATA, SPLIT, "train")
    SODEN(hidden=8, layers=1, max_epochs=2, random_state=1).fit(part.x, part.time, part.event).save(tmp_path / "a.pt")
    times = [0.2, 0.5, 1.0]
    counts = flipped(
        tmp_path / "a.pt", lambda: (SODEN.load(tmp_path / "a.pt").predict_survival(part.x, times), ""), np.array_equal
    )
    assert counts["silent"] == 0
    assert counts["refused"] > FLIPS / 2
