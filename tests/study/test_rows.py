"""Which rows are used again, and what is said of those that are not: in the tuner, before a run, and by a whole run."""

import io
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT
from rich.console import Console

from benchmarks.commands import run as run_verb
from benchmarks.commands._snakemake import RunError
from benchmarks.config import Config, resolve
from benchmarks.data.simulated import simulate
from benchmarks.data.splits import make_split
from benchmarks.results.types import Trial
from benchmarks.study import status, store
from benchmarks.study.search import Search
from benchmarks.study.store import Store, device_type, write_chunk

TINY: dict[str, Any] = {
    "run": "tiny",
    "datasets": ["simulated"],
    "models": ["cox", "deepsurv", "soden"],
    "splits": {"simulated": 1},
    "trials": 2,
    "training": {"max_epochs": 1},
    "device": "cpu",
}
CONFIG = resolve(TINY)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A run's folder with a data set and a split."""
    folder = tmp_path / "results" / "tiny"
    dataset = simulate(150, seed=5)
    dataset.save(folder / "data" / "simulated.npz")
    make_split(dataset, "drawn", 1, seed=7).save(folder / "splits" / "simulated" / "1.npz")
    return folder


def searching(results: Path, model: str, config: Config = CONFIG, known: Path | str = "") -> Search:
    return Search(Store(results, replace(config, known=str(known))), "simulated", model)


def taken(made: Search) -> dict[store.Pair, Trial]:
    return made.store.taken("simulated", made.model)


def finished(made: Search) -> list[store.Pair]:
    return list(made.store.finished("simulated", made.model))


def said(results: Path, config: Config = CONFIG) -> list[str]:
    run = Store(results, config)
    return list(store.sentences([run.preview("simulated", model) for model in config.models], config.known))


def test_rows_that_do_not_do_are_counted_with_the_reason(results: Path) -> None:
    assert said(results) == ["5 trials to run, 0 there already."]
    searching(results, "deepsurv").run("0000", [(1, 0), (1, 1)])
    searching(results, "cox").run("0000", [(1, 0)])
    assert said(results) == ["2 trials to run, 3 there already."]
    other = replace(CONFIG, seed=1, training=replace(CONFIG.training, patience=3))
    assert said(results, other) == [
        "5 trials to run, 0 there already.",
        "  3 again, the seed and the settings changed: cox (1), deepsurv (2)",
    ]


def test_failed_trials_are_run_again_and_said(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = searching(results, "deepsurv")
    with monkeypatch.context() as patch:
        patch.setattr(made.model_class, "fit", lambda *a: 1 / 0)
        found = made.run("0000", [(1, 0), (1, 1)])
    assert {trial.status for trial in found} == {"failed"}
    write_chunk(found, made.folder / "0000.parquet")
    assert said(results)[1:] == ["  2 again, failed before: deepsurv (2)"]
    run_verb._forget_failed(results)
    assert not (made.folder / "0000.parquet").exists()
    again = made.run("0000", [(1, 0), (1, 1)])
    assert {trial.status for trial in again} == {"ok"}
    write_chunk(again, made.folder / "0000.parquet")
    run_verb._forget_failed(results)  # the later lines of the journal count
    assert (made.folder / "0000.parquet").exists()
    store.Journal(made.folder / "0000.jsonl").append(replace(again[0], status="diverged").to_row())
    assert said(results) == ["3 trials to run, 2 there already."]  # a diverged trial is not tried again


def test_the_first_error_is_printed_when_it_happens(
    results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = searching(results, "deepsurv")
    monkeypatch.setattr(made.model_class, "fit", lambda *a: 1 / 0)
    made.run("0000", [(1, 0), (1, 1)])
    out = capsys.readouterr().out
    assert out.startswith("split 1 trial 0 failed:\nTraceback")
    assert out.count("ZeroDivisionError") == 1
    watch = status.Watch(results, CONFIG, {})
    watch.entries()
    assert [trial.message for trial in watch.first_failures()] == ["ZeroDivisionError: division by zero"]
    assert list(watch.first_failures()) == []


def test_known_rows_are_taken_marked_and_counted(results: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "results" / "theirs"
    made = searching(results, "deepsurv").run("0000", [(1, 0), (1, 1)])
    write_chunk(made, theirs / "trials.parquet")
    shutil.rmtree(results / "trials")
    config = replace(CONFIG, known=str(theirs))
    assert said(results, config)[0] == f"3 trials to run, 0 there already, 2 taken from {theirs}."
    again = searching(results, "deepsurv", known=theirs).run("0000", [(1, 0), (1, 1)])
    assert [trial.taken_from for trial in again] == ["theirs", "theirs"]
    assert [replace(trial, taken_from="").digest for trial in again] == [trial.digest for trial in made]
    assert said(results, config)[0] == f"3 trials to run, 2 there already, 0 taken from {theirs}."


def test_a_known_run_of_which_nothing_can_be_taken_stops_the_run(results: Path, tmp_path: Path) -> None:
    """Else all would be fitted anew without a word, where the results of the other run were expected."""
    theirs = tmp_path / "results" / "theirs"
    made = searching(results, "deepsurv", replace(CONFIG, seed=1)).run("0000", [(1, 0), (1, 1)])
    write_chunk(made, theirs / "trials.parquet")
    shutil.rmtree(results / "trials")
    console = Console(file=io.StringIO())
    with pytest.raises(RunError, match=r"of .*theirs can be taken \(2 trials: the seed changed\); set known to"):
        run_verb._announce(results, replace(CONFIG, known=str(theirs)), console)
    run_verb._announce(results, replace(CONFIG, seed=1, known=str(theirs)), console)


def test_known_rows_are_counted_before_there_are_data(results: Path, tmp_path: Path) -> None:
    """What may be taken over is said and needs no time; which rows it was in the end, the built data decide."""
    theirs = tmp_path / "results" / "theirs"
    made = searching(results, "deepsurv").run("0000", [(1, 0), (1, 1)])
    failed = replace(searching(results, "soden").run("0000", [(1, 0)])[0], status="failed")
    beyond = replace(made[0], trial=2)  # more than this run has
    write_chunk([*made, failed, beyond], theirs / "trials.parquet")
    for name in ("trials", "data"):
        shutil.rmtree(results / name)
    config = replace(CONFIG, known=str(theirs))
    assert said(results, config) == [
        f"3 trials to run, 0 there already, 2 taken from {theirs}.",
        "  2 of these once data and splits are built, if they come out as there; else they are run.",
    ]
    assert said(results, replace(config, seed=1))[0] == f"5 trials to run, 0 there already, 0 taken from {theirs}."
    native = replace(config, numerics="native")
    assert said(results, native)[0] == f"5 trials to run, 0 there already, 0 taken from {theirs}."
    assert said(results, replace(native, known_numerics="any"))[0].startswith("3 trials to run")
    old = [replace(trial, parts=replace(trial.parts, code="f" * 12)) for trial in made]
    write_chunk(old, theirs / "trials.parquet")
    assert said(results, config)[0].startswith("5 trials to run")
    proof = {"code": made[0].parts.code, "equals": "f" * 12, "when": "", "rows": [made[0].key]}
    store.add_code(theirs, "deepsurv", proof)
    assert said(results, config)[0].startswith("3 trials to run")


def test_status_does_not_count_known_rows_as_work(results: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "results" / "theirs"
    made = searching(results, "deepsurv").run("0000", [(1, 0), (1, 1)])
    write_chunk(made, theirs / "trials.parquet")
    shutil.rmtree(results / "trials")
    watch = status.Watch(results, replace(CONFIG, known=str(theirs)), {("simulated", m): 3.0 for m in CONFIG.models})
    entry = watch.entries()[1]
    assert (entry.model, entry.done, entry.waiting, entry.total) == ("deepsurv", 0, 2, 2)
    assert entry.seconds_left(pace=1.0) == 0
    # Cox once and SODEN twice, 3 s each.
    assert (
        status.headline(watch.entries())
        == "0/5 trials (2 more to be taken over), about 9 s of training left by the clock"
    )
    searching(results, "deepsurv", known=theirs).run("0000", [(1, 0)])
    assert (watch.entries()[1].done, watch.entries()[1].waiting) == (1, 1)
    # Data that came out otherwise: what was promised is not waited for.
    other = json.dumps({"1": ["0" * 16]})
    (results / "trials" / "simulated" / "deepsurv" / store.CURRENT).write_text(other)
    entry = watch.entries()[1]
    assert (entry.done, entry.waiting) == (0, 0)
    gone = status.Watch(results, replace(CONFIG, known=str(tmp_path / "gone")), {})
    assert [e.waiting for e in gone.entries()] == [0, 0, 0]


def test_status_counts_the_rows_of_now(results: Path) -> None:
    searching(results, "deepsurv").run("0000", [(1, 0), (1, 1)])
    watch = status.Watch(results, CONFIG, {("simulated", "soden"): 3.0})
    assert {e.model: e.done for e in watch.entries()} == {"cox": 0, "deepsurv": 2, "soden": 0}
    other = replace(CONFIG, training=replace(CONFIG.training, patience=3))
    searching(results, "deepsurv", other).run("0000", [(1, 0)])
    assert {e.model: e.done for e in watch.entries()} == {"cox": 0, "deepsurv": 1, "soden": 0}
    searching(results, "deepsurv", other).run("0000", [(1, 0), (1, 1)])
    found = {e.model: e for e in watch.entries()}
    assert found["deepsurv"].done == found["deepsurv"].total == 2
    assert found["soden"].seconds_left(pace=2.0) == 2 * 3.0 * 2.0  # not begun: measured seconds at this run's pace


def test_fresh_throws_away_one_models_rows(results: Path) -> None:
    for model in ("cox", "deepsurv"):
        searching(results, model).run("0000", [(1, 0)])
    run_verb._throw_away(results, ["deepsurv"], CONFIG)
    assert [p.name for p in (results / "trials" / "simulated").iterdir()] == ["cox"]
    with pytest.raises(run_verb.RunError, match="--fresh dephit: not a model of this run; choose among cox, deepsurv"):
        run_verb._throw_away(results, ["dephit"], CONFIG)
    with pytest.raises(run_verb.RunError, match="its rows would come back from known: x"):
        run_verb._throw_away(results, ["cox"], replace(CONFIG, known="x"))


def test_a_gpu_that_is_not_here_stops_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="device: cuda was asked for, but torch finds no GPU here; use `device: auto`"):
        device_type("cuda")
    assert device_type("auto") == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert device_type("cuda:1") == "cuda"
    with pytest.raises(ValueError, match="device: cuda:2 was asked for, but torch finds 2 GPUs here"):
        device_type("cuda:2")


BROKEN = '''
"""A model that fails on its second trial."""

from baselines.deepsurv import DeepSurv


class Broken(DeepSurv):
    """DeepSurv, but."""

    name = "broken"
    label = "Broken"

    def fit(self, train, valid, seed=0):
        """Works for every other configuration."""
        if self.hyper["layers"] < BOUND:
            raise RuntimeError("no such luck")
        return super().fit(train, valid, seed)


BOUND = 9
'''


@pytest.mark.slow
def test_an_edit_reruns_what_it_touches_and_nothing_else(tmp_path: Path) -> None:
    """A whole run in a copy of the project: a failing model, its repair, an edited docstring, an edited loss."""
    ignore = shutil.ignore_patterns("__pycache__")
    for part in ("soden", "baselines", "benchmarks", "config", "workflow", "results/published"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=ignore)
    for name in ("Snakefile", "environment.yml", "requirements.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    models = ["deepsurv", "soden", "broken"]
    small = {"data": {"simulated_n": 150}, "models": models, "chunk": 2, "run": "tiny", "datasets": ["simulated"]}
    keys = ("splits", "trials", "training", "device")
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump({k: TINY[k] for k in keys} | small))
    edited = tmp_path / "baselines" / "broken.py"
    edited.write_text(BROKEN)

    def go(*more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "benchmarks", "run", "quick", "--configfile", "tiny.yaml", "--cores", "2"]
        return subprocess.run([*command, *more, "--targets", "scores"], cwd=tmp_path, capture_output=True, text=True)

    done = go()
    assert done.returncode == 1
    assert "broken on simulated, split 1, trial 0 failed: RuntimeError: no such luck" in done.stdout
    assert "2 trials failed; the same command tries them again, --keep-failed goes on with them as rows." in done.stdout
    kept = go("--keep-failed")
    assert kept.returncode == 0, kept.stdout + kept.stderr
    assert "2 trials to run, 4 there already.\n  2 again, failed before: broken (2)" in kept.stdout
    edited.write_text(BROKEN.replace("BOUND = 9", "BOUND = 0"))
    done = go()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 again, the code changed: broken (2)" in done.stdout
    journals = {p: p.read_bytes() for p in tmp_path.glob("results/tiny/trials/*/*/*.jsonl")}
    for name in ("deepsurv.py", "soden.py"):  # a docstring, a comment
        path = tmp_path / "baselines" / name
        path.write_text(path.read_text().replace('"""', '"""Edited: ', 1) + "# a comment\n")
    assert "0 trials to run, 6 there already." in go().stdout
    loss = tmp_path / "baselines" / "deepsurv.py"
    loss.write_text(loss.read_text().replace("EPS = 1e-7", "EPS = 1e-6"))
    out = go().stdout
    assert "4 again, the code changed: deepsurv (2), broken (2)" in out  # broken imports deepsurv
    assert "soden (" not in out
    for path, content in journals.items():
        assert (path.read_bytes() == content) == (path.parent.name == "soden")


def test_known_rows_of_other_numerics_are_taken_where_asked_for(results: Path, tmp_path: Path) -> None:
    (trial,) = searching(results, "deepsurv").run("0000", [(1, 0)])
    theirs = tmp_path / "results" / "theirs"
    foreign = replace(trial, parts=replace(trial.parts, numerics="own bits of riscv64"), state="")
    write_chunk([foreign], theirs / "trials.parquet")
    shutil.rmtree(results / "trials")
    assert taken(searching(results, "deepsurv", known=theirs)) == {}
    other = searching(results, "deepsurv", replace(CONFIG, known_numerics="any"), theirs)
    assert list(taken(other)) == [(1, 0)]
    path, verdict = other.state(taken(other)[1, 0])
    assert path.exists()
    assert verdict == "identical"  # the same bits after all


def test_a_damaged_line_is_a_missing_trial_and_is_named(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = searching(results, "deepsurv")
    first = made.run("0000", [(1, 0), (1, 1)])
    path = made.folder / "0000.jsonl"
    one, two = path.read_text().splitlines(keepends=True)
    score = json.dumps(first[0].score)
    path.write_text(one.replace(score, score.replace("1", "2", 1) if "1" in score else "-9.0") + two)
    assert finished(made) == [(1, 1)]
    again = made.run("0000", [(1, 0), (1, 1)])
    assert again[0].differences(first[0]) == []
    assert "damaged, so not used: 0000.jsonl: simulated/deepsurv/1/0: its digest does not fit its contents" in (
        capsys.readouterr().out
    )
