"""Studies that keep something: the authors' splits, scores of trials that were not chosen, replications."""

import argparse
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, beside
from support.replications import write_replications
from support.run_folder import write_run

from benchmarks.data import Dataset
from benchmarks.data.files import read_npz
from benchmarks.data.preprocess import design
from benchmarks.data.splits import PARTS, RELEASED, Split, draw, make_split
from benchmarks.results.replications import BEST_TRIALS, how_many, read_replications, replication_folders
from benchmarks.results.types import Parts, Trial
from benchmarks.studies import best_trials, steps
from benchmarks.studies import keep_replication as study
from benchmarks.studies import released as module
from benchmarks.studies.__main__ import main
from benchmarks.studies.released import DATASETS, part_codes
from benchmarks.study.store import Journal, read_known

# The committed row numbers are the authors' splits, row for row, and how they are found in our tables.


Load = Callable[[str], Dataset]


def toy(time: object = None) -> Dataset:
    times = np.arange(1.0, 11) if time is None else time
    return Dataset("flchain", "TOY", times, np.arange(10) % 2 == 0, np.arange(10)[:, None] // 2, ("a",))


def write(folder: Path, dataset: Dataset, split: Split) -> Path:
    """Files as the authors wrote them, in an order of their own; their times lack the 0.001 of their network code."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        rows = dataset.take(split.part(part)[::-1])
        x = rows.x.astype(np.float32)
        np.savez(folder / f"{part}_1.npz", x, np.column_stack([rows.time - 0.001, rows.event]), x)
    return folder


@pytest.mark.parametrize("name", DATASETS)
def test_the_committed_splits_are_the_authors_row_for_row(name: str, load_public: Load) -> None:
    """Compared as sets of whole rows, inputs, times and events: without the code that made the file."""
    folder, dataset = beside(f"released-splits/{name}"), load_public(name)
    ours = np.column_stack([design(dataset).astype(np.float32), dataset.time, dataset.event])
    assert len(np.unique(ours, axis=0)) == len(ours)
    for number in range(1, 11):
        split = make_split(dataset, "released", number)
        for part in PARTS:
            with np.load(folder / f"{part}_{number}.npz") as file:
                theirs = np.column_stack([file["arr_2"], file["arr_1"] + [0.001, 0]])
            mine = ours[split.part(part)]
            np.testing.assert_array_equal(mine[np.lexsort(mine.T)], theirs[np.lexsort(theirs.T)])


def test_the_file_can_be_made_again(
    load_public: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = beside("released-splits")
    monkeypatch.setattr(module, "load", load_public)
    assert main(["released", "--data", str(folder), "--out", str(tmp_path / "made.npz")]) == 0
    assert "10 splits of 8,873 rows of support, 10 splits of 1,904 rows of metabric" in capsys.readouterr().out
    made, kept = read_npz(tmp_path / "made.npz"), read_npz(RELEASED)
    assert list(made) == list(kept) == list(DATASETS)
    for name in DATASETS:
        np.testing.assert_array_equal(made[name], kept[name], strict=True)


def test_rows_are_found_in_whatever_order(tmp_path: Path) -> None:
    split = draw(10, 0, 1, "toy")
    codes = part_codes(toy(), write(tmp_path, toy(), split), 1)
    for code, part in enumerate(PARTS):
        assert np.flatnonzero(codes == code).tolist() == split.part(part).tolist()


def test_equal_rows_are_given_out_once_each(tmp_path: Path) -> None:
    dataset = Dataset("toy", "TOY", np.full(10, 2.001), np.ones(10), np.zeros((10, 1)), ("a",))
    write(tmp_path, dataset, draw(10, 0, 1, "toy"))
    assert np.bincount(part_codes(dataset, tmp_path, 1)).tolist() == [6, 2, 2]


def test_rows_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    dataset, split = toy(), draw(10, 0, 1, "toy")
    write(tmp_path / "a", dataset.take(np.arange(9)), draw(9, 0, 1, "toy"))
    with pytest.raises(ValueError, match="released split 1 of TOY leaves out 1 of the 10 rows"):
        part_codes(dataset, tmp_path / "a", 1)
    write(tmp_path / "b", toy(time=np.arange(10) + 1.5), split)
    with pytest.raises(ValueError, match=r"row 0 of .*train_1\.npz is not among the unused rows of TOY: other data"):
        part_codes(dataset, tmp_path / "b", 1)
    write(tmp_path / "c", dataset, split)
    (tmp_path / "c" / "test_1.npz").write_bytes((tmp_path / "c" / "valid_1.npz").read_bytes())
    with pytest.raises(
        ValueError, match=r"test_1\.npz is not among the unused rows of TOY: .*a row twice in the split"
    ):
        part_codes(dataset, tmp_path / "c", 1)
    (tmp_path / "c" / "test_1.npz").write_bytes(b"damaged")
    with pytest.raises(ValueError, match=r"test_1\.npz is not a file of the authors' splits .*fetch it again"):
        part_codes(dataset, tmp_path / "c", 1)
    with pytest.raises(
        FileNotFoundError, match=r"no file .*train_2\.npz; --data must be the folder `data` of the authors"
    ):
        part_codes(dataset, tmp_path / "c", 2)


def test_rows_that_differ_in_the_event_alone_are_told_apart(tmp_path: Path) -> None:
    event = np.arange(10) < 5
    dataset = Dataset("toy", "TOY", np.full(10, 2.001), event, np.zeros((10, 1)), ("a",))
    write(tmp_path, dataset, Split([5, 6, 7, 0], [1, 2, 8], [3, 4, 9]))
    codes = part_codes(dataset, tmp_path, 1)
    assert [np.sort(event[codes == code]).tolist() for code in range(3)] == [
        [False, False, False, True],
        [False, True, True],
        [False, True, True],
    ]


# Trials scored after the choice: which ones, that they come out as their rows say, that a stopped study goes on.


REFERENCE = ROOT / "results" / "reference"


def test_wanted_are_the_best_of_the_pool_and_of_each_search(tmp_path: Path) -> None:
    searches = read_replications(write_replications(tmp_path, 3, models=("soden",), size=20))
    found = best_trials.wanted(searches, 4, 2)
    split = found[found["split"] == 5]
    trials = searches.trials[searches.trials["split"] == 5].sort_values("score", ascending=False)
    pool = set(trials.head(4)[["run", "trial"]].itertuples(index=False, name=None))
    own = set(trials.groupby("run").head(2)[["run", "trial"]].itertuples(index=False, name=None))
    assert set(split[["run", "trial"]].itertuples(index=False, name=None)) == pool | own


@pytest.fixture
def small(tmp_path: Path, load_public: Callable[[str], Dataset]) -> Path:
    """The reference cut down to five quick trials of one model on one split."""
    load_public("metabric")
    folder = tmp_path / "results" / "small"
    folder.mkdir(parents=True)
    for name in ("config.json", "datasets.csv", "conventions.csv"):
        shutil.copy(REFERENCE / name, folder / name)
    trials = pd.read_parquet(REFERENCE / "trials.parquet")
    trials = trials.query("dataset == 'metabric' and model == 'deepsurv' and split == 3").nsmallest(5, "cpu_seconds")
    trials.to_parquet(folder / "trials.parquet", index=False)
    return folder


def run(folder: Path, best: int) -> pd.DataFrame:
    parser = argparse.ArgumentParser()
    best_trials.add_arguments(parser)
    words = ["--run", str(folder), "--of-search", str(best), "--of-pool", str(best), "--jobs", "1"]
    assert best_trials.run(parser.parse_args(words)) == 0
    return pd.read_parquet(folder / BEST_TRIALS)


def test_trials_are_scored_by_both_conventions_once(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trials = pd.read_parquet(small / "trials.parquet").set_index("trial")
    first = run(small, 1)
    assert first["trial"].tolist() == [trials["score"].idxmax()]
    assert {name.split("/")[0] for name in first.columns if "/" in name} == {"published", "text"}
    both = run(small, 2)
    assert "1 trials to score, 1 are there already" in capsys.readouterr().out
    assert set(both["trial"]) == set(trials["score"].nlargest(2).index)
    again = both[both["trial"] == first["trial"].iloc[0]].reset_index(drop=True)
    pd.testing.assert_frame_equal(again, first)
    kept = pd.read_parquet(REFERENCE / BEST_TRIALS).merge(both, on=best_trials.TRIAL, suffixes=("", "_now"))
    for name in (c for c in kept.columns if c.endswith("_now")):  # those of the reference that were scored before
        np.testing.assert_allclose(kept[name], kept[name.removesuffix("_now")], rtol=1e-7)


def test_a_trial_that_comes_out_otherwise_is_not_scored(small: Path) -> None:
    trials = pd.read_parquet(small / "trials.parquet")
    trials["score"] += 0.01
    trials.to_parquet(small / "trials.parquet", index=False)
    with pytest.raises(ValueError, match=r"metabric/deepsurv/3/\d+ came out otherwise: different: .*score"):
        run(small, 1)


def test_a_step_function_is_constant_from_cut_to_cut() -> None:
    cuts = np.array([0.0, 1.0, 2.0])
    times = np.array([0.0, 0.3, 0.999, 1.0, 1.5, 2.0, 7.0])
    np.testing.assert_array_equal(steps.last_cut(cuts, times), [0, 0, 0, 1, 1, 2, 2])


# Replications as they are kept: finished ones whole, one in progress as the trials that its run goes on from.


def keep(source: Path, folder: Path) -> int:
    parser = argparse.ArgumentParser()
    study.add_arguments(parser)
    return study.run(parser.parse_args([str(source), "--folder", str(folder)]))


def row(trial: int, status: str = "ok", code: str = "a") -> dict[str, object]:
    parts = Parts(4, "support", "soden", *("data", "settings", "space", code, "portable", "cpu", "split"))
    return Trial(parts, 2, trial, 7, {"layers": 2}, status, -0.5, taken_from="x").to_row()


@pytest.fixture
def started(tmp_path: Path) -> Path:
    """Two chunks, one of them cut off in the middle of a line; a trial that failed; one that stands in both."""
    folder = tmp_path / "run"
    trials = folder / "trials" / "support" / "soden"
    Journal(trials / "0000.jsonl").append(row(3), row(1), row(2, status="failed"))
    Journal(trials / "0001.jsonl").append(row(3))
    with (trials / "0001.jsonl").open("a") as file:
        file.write('{"dataset": "supp')
    (folder / "config.json").write_text(json.dumps({"seed": 4, "trials": 100, "known": "/somewhere"}))
    return folder


def test_a_run_in_progress_is_kept_as_rows_that_can_be_taken_over(started: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    assert keep(started, kept) == 0
    rows = list(read_known(kept / "4", "support", "soden"))
    assert [trial.trial for trial in rows] == [1, 3]
    assert rows[0].hyper == {"layers": 2}
    assert rows[0].taken_from == ""
    assert json.loads((kept / "4" / "config.json").read_text()) == {"seed": 4, "trials": 100, "known": ""}
    assert sorted(path.name for path in (kept / "4").iterdir()) == ["MANIFEST.sha256", "config.json", "trials.parquet"]
    assert replication_folders(kept) == []
    assert how_many(kept) == "0 of 5 replications; 4 is unfinished (2 trials)"


def test_rows_that_a_run_has_not_taken_over_yet_stay(started: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    assert keep(started, kept) == 0
    shutil.rmtree(started / "trials")
    Journal(started / "trials" / "support" / "soden" / "0000.jsonl").append(row(3, code="b"), row(5))
    assert keep(started, kept) == 0
    rows = [(trial.trial, trial.parts.code) for trial in read_known(kept / "4", "support", "soden")]
    assert rows == [(1, "a"), (3, "b"), (5, "a")]


def test_rows_of_two_identities_are_not_mixed(started: Path, tmp_path: Path) -> None:
    Journal(started / "trials" / "support" / "soden" / "0002.jsonl").append(row(1, code="b"))
    with pytest.raises(ValueError, match="two versions of support/soden/2/1"):
        keep(started, tmp_path / "kept")


def test_a_run_without_trials_is_not_kept(started: Path, tmp_path: Path) -> None:
    for path in started.rglob("*.jsonl"):
        path.unlink()
    with pytest.raises(ValueError, match="has no finished trial yet"):
        keep(started, tmp_path / "kept")


def test_a_finished_run_is_kept_whole_and_not_replaced_by_one_in_progress(started: Path, tmp_path: Path) -> None:
    run, kept = write_run(tmp_path / "made", trials=100), tmp_path / "kept"
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps(config | {"seed": 4}))
    for name in (
        "agreement.csv",
        "claims.csv",
        "rankings.csv",
        "measured_costs.csv",
        "weights.csv",
        "environment.json",
    ):
        if not (run / name).is_file():
            (run / name).write_text("{}\n")
    assert keep(started, kept) == 0
    assert keep(run, kept) == 0  # the finished one replaces it
    assert [path.name for path in replication_folders(kept)] == ["4"]
    pd.testing.assert_frame_equal(pd.read_csv(kept / "4" / "cells.csv"), pd.read_csv(run / "cells.csv"))
    with pytest.raises(ValueError, match="4 is a finished replication"):
        keep(started, kept)
