"""`verify trials` and `reference adopt`: trials are fitted again from a run's config alone; any change is found."""

import argparse
import json
import math
import re
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmarks import code, data
from benchmarks.commands import reference, verify
from benchmarks.config import resolve
from benchmarks.data.splits import make_split
from benchmarks.results.types import Parts, Trial, read_trials
from benchmarks.study import prepare
from benchmarks.study import verify as audit
from benchmarks.study.search import Search
from benchmarks.study.store import Store, equal_codes, read_codes, write_chunk

MODELS = ("cox", "deepsurv", "deephit", "soden")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two trials of four models on one split of a small simulation; data and splits are not kept, as in a reference."""
    folder = tmp_path_factory.mktemp("audit") / "results" / "tiny"
    work = tmp_path_factory.mktemp("work")
    overlay = {"datasets": ["simulated"], "models": list(MODELS), "trials": 2, "training": {"max_epochs": 2}}
    config = resolve(overlay | {"device": "cpu", "data": {"simulated_n": 150, "offline": True}})
    dataset = data.load("simulated", prepare.data_settings(config))
    dataset.save(work / "data" / "simulated.npz")
    make_split(dataset, "drawn", 1, seed=config.seed).save(work / "splits" / "simulated" / "1.npz")
    store = Store(work, config)
    trials = []
    for model in MODELS:
        trials += Search(store, "simulated", model).run("0000", [(1, 0)] if model == "cox" else [(1, 0), (1, 1)])
    write_chunk(trials, folder / "trials.parquet")
    (folder / "config.json").write_text(json.dumps(config.plain()))
    pd.DataFrame({"dataset": ["simulated"], "splits": ["drawn"]}).to_csv(folder / "datasets.csv", index=False)
    return folder


def run(folder: Path, *words: str) -> int:
    parser = argparse.ArgumentParser()
    verify.add_arguments(parser)
    return verify.run(parser.parse_args(["trials", "--jobs", "1", "--run", str(folder), *words]))


def tampered(finished: Path, tmp_path: Path, **changes: Any) -> Path:
    """The run with other values in SODEN's first trial, by somebody who knows how rows are hashed."""
    folder = tmp_path / "changed"
    folder.mkdir()
    trials = list(read_trials(pd.read_parquet(finished / "trials.parquet")))
    first = next(i for i, trial in enumerate(trials) if trial.model == "soden")
    for name, value in changes.items():
        here = trials[first]
        if name in {field.name for field in fields(Parts)}:
            trials[first] = replace(here, parts=replace(here.parts, **{name: value}))
        elif name in {field.name for field in fields(here)}:
            trials[first] = replace(here, **{name: value})
        else:
            trials[first] = replace(here, hyper={**here.hyper, name: value})
    write_chunk(trials, folder / "trials.parquet")
    for name in ("config.json", "datasets.csv"):
        (folder / name).write_text((finished / name).read_text())
    return folder


def test_all_trials_give_the_same_rows(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(finished, "--n", "7", "--seed", "1") == 0
    out = capsys.readouterr().out
    assert out.startswith("7 of 7 trials of tiny, picked with --seed 1")
    assert out.count(": identical: ") == 7
    assert out.endswith("7 of 7 trials gave the same row, bit for bit\n")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 999}, r"different: width 999 then, \d+ now"),
        ({"seed": 1}, r"different: seed 1 then, \d+ now"),
        ({"epochs": 1}, "different: epochs 1 then, 2 now"),
        ({"dropout": 0.5}, "different: dropout 0.5 then, 'absent' now"),
    ],
)
def test_a_changed_row_is_found(
    changes: dict[str, object], message: str, finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tampered(finished, tmp_path, **changes), "--trial", "simulated/soden/1/0") == 1
    out = capsys.readouterr().out
    assert re.search(message, out), out
    assert "0 of 1 trials gave the same row" in out


def test_the_last_bit_of_the_loss_counts_and_the_surroundings_are_compared(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trials = pd.read_parquet(finished / "trials.parquet")
    loss = float(trials.loc[trials["model"] == "soden", "valid_loss"].iloc[0])
    folder = tampered(finished, tmp_path, valid_loss=math.nextafter(loss, math.inf), code="0" * 12)
    (folder / "environment.json").write_text(json.dumps({"python": "3.11.0", "libraries": {}}))
    assert run(folder, "--trial", "simulated/soden/1/0") == 1
    out = capsys.readouterr().out
    assert f"valid_loss {math.nextafter(loss, math.inf)!r} then, {loss!r} now" in out
    assert "not as it was: the code" in out
    assert "the environment has changed: torch absent then, 2." in out


def test_other_trials_are_picked_by_another_seed_and_the_same_by_the_same(finished: Path) -> None:
    trials = pd.concat([pd.read_parquet(finished / "trials.parquet")] * 20, ignore_index=True)
    trials["trial"] = range(len(trials))
    trials = trials.drop(columns="digest")
    picks = [tuple(row.trial for row in audit.pick(trials, 5, seed)) for seed in (1, 1, 2)]
    assert picks[0] == picks[1] != picks[2]
    assert all(len(set(pick)) == 5 for pick in picks)
    assert len(audit.pick(trials, 1000, 1)) == len(trials)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("soden", "--trial wants DATASET/MODEL/SPLIT/TRIAL, e.g. support/soden/1/0; got 'soden'"),
        ("simulated/soden/one/0", "--trial wants DATASET/MODEL/SPLIT/TRIAL"),
        ("support/soden/1/0", "no trial with dataset 'support'; choose among simulated"),
        ("simulated/rsf/1/0", "no trial with model 'rsf'; choose among cox, deepsurv, deephit, soden"),
        ("simulated/soden/1/9", "no trial with trial 9; choose among 0, 1"),
    ],
)
def test_a_trial_that_is_not_there(text: str, message: str, finished: Path) -> None:
    with pytest.raises(ValueError, match=message):
        run(finished, "--trial", text)


def test_what_cannot_be_run_here_is_left_out_and_said(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tampered(finished, tmp_path, dataset="metabric")
    config = json.loads((folder / "config.json").read_text())
    config["data"] |= {"folder": str(tmp_path / "empty"), "cache": str(tmp_path / "cache"), "offline": True}
    (folder / "config.json").write_text(json.dumps(config))
    pd.DataFrame({"dataset": ["simulated", "metabric"], "splits": ["drawn"] * 2}).to_csv(
        folder / "datasets.csv", index=False
    )
    assert run(folder, "--n", "9", "--seed", "1") == 0
    out = capsys.readouterr().out
    assert "left out: the 1 trials of metabric; METABRIC cannot be had" in out
    assert "6 of 6 trials of changed" in out
    with pytest.raises(data.DataUnavailable, match="METABRIC cannot be had"):
        run(folder, "--trial", "metabric/soden/1/0")


def test_a_run_none_of_whose_data_can_be_had_says_so(finished: Path, tmp_path: Path) -> None:
    folder = changed_rows(tampered(finished, tmp_path), lambda _: True, dataset="metabric")
    config = json.loads((folder / "config.json").read_text())
    config["data"] |= {"folder": str(tmp_path / "empty"), "cache": str(tmp_path / "cache"), "offline": True}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="no trial of changed can be run here: none of its data sets can be had"):
        run(folder, "--n", "2")


def test_other_numerics_are_refused(finished: Path, tmp_path: Path) -> None:
    folder = tampered(finished, tmp_path)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"numerics": "native"}))
    with pytest.raises(
        ValueError, match=r"computed with numerics: native, this process computes portable .* set SODEN"
    ):
        run(folder, "--n", "1")


def test_without_the_authors_splits_nothing_is_drawn_in_their_place(finished: Path, tmp_path: Path) -> None:
    folder = tampered(finished, tmp_path)
    pd.DataFrame({"dataset": ["simulated"], "splits": ["released"]}).to_csv(folder / "datasets.csv", index=False)
    with pytest.raises(ValueError, match="has no released splits"):
        run(folder, "--trial", "simulated/soden/1/0")


def adopted(folder: Path, *words: str) -> int:
    parser = argparse.ArgumentParser()
    reference.add_arguments(parser)
    return reference.run(parser.parse_args(["adopt", "--run", str(folder), *words]))


def of_old_code(finished: Path, tmp_path: Path, *models: str) -> Path:
    """The run with rows of these models made by other code."""
    return changed_rows(tampered(finished, tmp_path), lambda t: t.model in models, code="0" * 12)


def changed_rows(folder: Path, which: Callable[[Trial], bool], **parts: Any) -> Path:
    """The run with other parts of an identity in these rows."""
    trials = read_trials(pd.read_parquet(folder / "trials.parquet"))
    changed = [replace(t, parts=replace(t.parts, **parts)) if which(t) else t for t in trials]
    write_chunk(changed, folder / "trials.parquet")
    return folder


def test_code_that_gives_the_rows_again_is_adopted(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = of_old_code(finished, tmp_path, "deepsurv", "soden")
    assert adopted(folder, "--n", "2", "--models", "deepsurv") == 0
    now = code.of_model("deepsurv")
    assert f"deepsurv: code {now} counts as {'0' * 12} in changed, proven on 2 rows" in capsys.readouterr().out
    proofs = read_codes(folder)
    assert set(proofs) == {"deepsurv"}
    assert proofs["deepsurv"][0]["rows"] == ["simulated/deepsurv/1/0", "simulated/deepsurv/1/1"]
    assert "0" * 12 in equal_codes([folder], "deepsurv", now)
    assert adopted(folder, "--n", "1") == 0  # SODEN is left to prove
    assert set(read_codes(folder)) == {"deepsurv", "soden"}
    assert "deepsurv" not in capsys.readouterr().out
    assert adopted(folder) == 0
    assert "the 7 rows of changed is this checkout's, or proven equal to it" in capsys.readouterr().out
    assert [len(proof) for proof in read_codes(folder).values()] == [1, 1]


def test_one_row_that_differs_adopts_nothing(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = of_old_code(finished, tmp_path, "deepsurv", "soden")
    trials = list(read_trials(pd.read_parquet(folder / "trials.parquet")))
    last = next(i for i, trial in enumerate(trials) if (trial.model, trial.trial) == ("soden", 1))
    trials[last] = replace(trials[last], valid_loss=math.nextafter(trials[last].valid_loss, math.inf))
    write_chunk(trials, folder / "trials.parquet")
    assert adopted(folder, "--n", "2") == 1
    out = capsys.readouterr().out
    assert "deepsurv: 2 rows came out the same" in out
    assert "simulated/soden/1/1 came out otherwise: valid_loss" in out
    assert out.endswith("Nothing is adopted.\n")
    assert read_codes(folder) == {}


def test_rows_that_cannot_be_run_prove_nothing(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = of_old_code(finished, tmp_path, "soden")
    monkeypatch.setattr(audit.Again, "missing", lambda self, name: "not here")
    assert adopted(folder, "--n", "2") == 1
    assert "soden: only 0 of its 2 rows can be run here, 2 are wanted" in capsys.readouterr().out
    assert read_codes(folder) == {}
