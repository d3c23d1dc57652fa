"""Which rows are used again, and what is said of those that are not: in the tuner, before a run, and by a whole run."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from conftest import ROOT

from benchmarks import data
from benchmarks.commands import run as run_verb
from benchmarks.data.simulated import simulate
from benchmarks.data.splits import make_split
from benchmarks.study import preview, rows, status
from benchmarks.study.config import resolve
from benchmarks.study.tune import Settings, Tuner, device_type

CONFIG: dict[str, Any] = resolve(
    {
        "run": "tiny",
        "datasets": ["simulated"],
        "models": ["cox", "deepsurv", "soden"],
        "splits": {"simulated": 1},
        "trials": 2,
        "training": {"max_epochs": 1},
        "device": "cpu",
    }
)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A run's folder with a data set and a split."""
    folder = tmp_path / "results" / "tiny"
    dataset = simulate(150, seed=5)
    dataset.save(folder / "data" / "simulated.npz")
    make_split(dataset, "drawn", 1, seed=7).save(folder / "splits" / "simulated" / "1.npz")
    return folder


def tuner(results: Path, model: str, config: dict[str, Any] = CONFIG, known: Path | None = None) -> Tuner:
    dataset = data.Dataset.load(results / "data" / "simulated.npz")
    settings = Settings(config["seed"], config["training"], config["width_rounding"], "cpu", known)
    folder = results / "trials" / "simulated" / model
    return Tuner(folder, dataset, results / "splits" / "simulated", model, settings)


def said(results: Path, config: dict[str, Any] = CONFIG) -> list[str]:
    return list(preview.sentences(preview.preview(results, config, ["simulated"]), config["known"]))


def test_rows_that_do_not_do_are_counted_with_the_reason(results: Path) -> None:
    assert said(results) == ["5 trials to run, 0 there already."]
    tuner(results, "deepsurv").run("0000", [(1, 0), (1, 1)])
    tuner(results, "cox").run("0000", [(1, 0)])
    assert said(results) == ["2 trials to run, 3 there already."]
    other = CONFIG | {"seed": 1, "training": CONFIG["training"] | {"patience": 3}}
    assert said(results, other) == [
        "5 trials to run, 0 there already.",
        "  3 again, the seed and the settings changed: cox (1), deepsurv (2)",
    ]


def test_failed_trials_are_run_again_and_said(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = tuner(results, "deepsurv")
    with monkeypatch.context() as patch:
        patch.setattr(made.model_class, "fit", lambda *a: 1 / 0)
        found = made.run("0000", [(1, 0), (1, 1)])
    assert {r["status"] for r in found} == {"failed"}
    rows.write_table(found, made.folder / "0000.parquet")
    assert said(results)[1:] == ["  2 again, failed before: deepsurv (2)"]
    run_verb._forget_failed(results)
    assert not (made.folder / "0000.parquet").exists()
    again = made.run("0000", [(1, 0), (1, 1)])
    assert {r["status"] for r in again} == {"ok"}
    rows.write_table(again, made.folder / "0000.parquet")
    run_verb._forget_failed(results)  # the later lines of the journal count
    assert (made.folder / "0000.parquet").exists()


def test_the_first_error_is_printed_when_it_happens(
    results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = tuner(results, "deepsurv")
    monkeypatch.setattr(made.model_class, "fit", lambda *a: 1 / 0)
    made.run("0000", [(1, 0), (1, 1)])
    out = capsys.readouterr().out
    assert out.startswith("split 1 trial 0 failed:\nTraceback")
    assert out.count("ZeroDivisionError") == 1
    watch = status.Watch(results, CONFIG, {})
    watch.entries()
    assert [r["message"] for r in watch.first_failures()] == ["ZeroDivisionError: division by zero"]
    assert list(watch.first_failures()) == []


def test_known_rows_are_taken_marked_and_counted(results: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "results" / "theirs"
    made = tuner(results, "deepsurv").run("0000", [(1, 0), (1, 1)])
    rows.write_table(made, theirs / "trials.parquet")
    shutil.rmtree(results / "trials")
    config = CONFIG | {"known": str(theirs)}
    assert said(results, config)[0] == f"3 trials to run, 0 there already, 2 taken from {theirs}."
    taken = tuner(results, "deepsurv", known=theirs).run("0000", [(1, 0), (1, 1)])
    assert [r.pop("taken_from") for r in taken] == ["theirs", "theirs"]
    assert json.dumps(taken, sort_keys=True) == json.dumps(made, sort_keys=True)
    assert said(results, config)[0] == f"3 trials to run, 2 there already, 0 taken from {theirs}."
    with pytest.raises(FileNotFoundError, match=r"holds no trials\.parquet; name the folder of a finished run"):
        tuner(results, "soden", known=tmp_path).run("0000", [(1, 0)])


def test_known_rows_are_counted_before_there_are_data(results: Path, tmp_path: Path) -> None:
    """What may be taken over is said and needs no time; which rows it was in the end, the built data decide."""
    theirs = tmp_path / "results" / "theirs"
    made = tuner(results, "deepsurv").run("0000", [(1, 0), (1, 1)])
    failed = tuner(results, "soden").run("0000", [(1, 0)])[0] | {"status": "failed"}
    beyond = made[0] | {"trial": 2}  # more than this run has
    rows.write_table([*made, failed, beyond], theirs / "trials.parquet")
    for name in ("trials", "data"):
        shutil.rmtree(results / name)
    config = CONFIG | {"known": str(theirs)}
    assert said(results, config) == [
        f"3 trials to run, 0 there already, 2 taken from {theirs}.",
        "  2 of these once data and splits are built, if they come out as there; else they are run.",
    ]
    assert said(results, config | {"seed": 1})[0] == f"5 trials to run, 0 there already, 0 taken from {theirs}."
    native = config | {"numerics": "native"}
    assert said(results, native)[0] == f"5 trials to run, 0 there already, 0 taken from {theirs}."
    assert said(results, native | {"known_numerics": "any"})[0].startswith("3 trials to run")
    rows.write_table([row | {"code": "f" * 12} for row in made], theirs / "trials.parquet")
    assert said(results, config)[0].startswith("5 trials to run")
    rows.add_code(theirs, "deepsurv", {"code": made[0]["code"], "equals": "f" * 12, "when": "", "rows": []})
    assert said(results, config)[0].startswith("3 trials to run")


def test_status_does_not_count_known_rows_as_work(results: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "results" / "theirs"
    made = tuner(results, "deepsurv").run("0000", [(1, 0), (1, 1)])
    rows.write_table(made, theirs / "trials.parquet")
    shutil.rmtree(results / "trials")
    watch = status.Watch(results, CONFIG | {"known": str(theirs)}, {("simulated", m): 3.0 for m in CONFIG["models"]})
    entry = watch.entries()[1]
    assert (entry.model, entry.done, entry.waiting, entry.total) == ("deepsurv", 0, 2, 2)
    assert entry.seconds_left(pace=1.0) == 0
    # Cox once and SODEN twice, 3 s each.
    assert status.headline(watch.entries()) == "0/5 trials (2 more to be taken over), about 9 s of training left"
    tuner(results, "deepsurv", known=theirs).run("0000", [(1, 0)])
    assert (watch.entries()[1].done, watch.entries()[1].waiting) == (1, 1)
    # Data that came out otherwise: what was promised is not waited for.
    other = json.dumps({"1": ["0" * 16]})
    (results / "trials" / "simulated" / "deepsurv" / rows.CURRENT).write_text(other)
    entry = watch.entries()[1]
    assert (entry.done, entry.waiting) == (0, 0)
    gone = status.Watch(results, CONFIG | {"known": str(tmp_path / "gone")}, {})
    assert [e.waiting for e in gone.entries()] == [0, 0, 0]


def test_rows_of_other_numerics_that_may_be_taken_are_counted(results: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "results" / "theirs"
    made = tuner(results, "deepsurv").run("0000", [(1, 0), (1, 1)])
    foreign = []
    for row in made:
        parts = {name: row[name] for name in rows.PARTS} | {"numerics": "native"}
        foreign.append(row | parts | {"identity": rows.identity(parts)})
    rows.write_table(foreign, theirs / "trials.parquet")
    shutil.rmtree(results / "trials")
    settings = Settings(CONFIG["seed"], CONFIG["training"], "truncate", "cpu", theirs, any_numerics=True)
    usual = tuner(results, "deepsurv")
    Tuner(usual.folder, usual.dataset, usual.splits, "deepsurv", settings).run("0000", [(1, 0), (1, 1)])
    watch = status.Watch(results, CONFIG, {})
    assert watch.entries()[1].done == 2


def test_known_failures_are_not_taken(results: Path, tmp_path: Path) -> None:
    made = tuner(results, "deepsurv").run("0000", [(1, 0), (1, 1)])
    theirs = tmp_path / "results" / "theirs"
    rows.write_table([made[0] | {"status": "failed"}, made[1] | {"identity": "0" * 16}], theirs / "trials.parquet")
    assert tuner(results, "deepsurv", known=theirs).known([(1, 0), (1, 1)]) == {}


def test_code_that_was_proven_equal_makes_rows_count_again(results: Path) -> None:
    made = tuner(results, "deepsurv")
    old = made.run("0000", [(1, 0)])
    made.code = made._shared["code"] = "f" * 12
    assert made.finished() == {}
    rows.add_code(results, "deepsurv", {"code": "f" * 12, "equals": old[0]["code"], "when": "2026-01-01", "rows": []})
    assert list(made.finished()) == [(1, 0)]
    rows.add_code(results, "deepsurv", {"code": "e" * 12, "equals": "f" * 12, "when": "2026-01-02", "rows": []})
    made.code = made._shared["code"] = "e" * 12
    assert list(made.finished()) == [(1, 0)]  # equal to equal is equal
    made.code = made._shared["code"] = "d" * 12
    assert made.finished() == {}


def test_status_counts_the_rows_of_now(results: Path) -> None:
    tuner(results, "deepsurv").run("0000", [(1, 0), (1, 1)])
    watch = status.Watch(results, CONFIG, {("simulated", "soden"): 3.0})
    assert {e.model: e.done for e in watch.entries()} == {"cox": 0, "deepsurv": 2, "soden": 0}
    other = CONFIG | {"training": CONFIG["training"] | {"patience": 3}}
    tuner(results, "deepsurv", other).run("0000", [(1, 0)])
    assert {e.model: e.done for e in watch.entries()} == {"cox": 0, "deepsurv": 1, "soden": 0}
    tuner(results, "deepsurv", other).run("0000", [(1, 0), (1, 1)])
    found = {e.model: e for e in watch.entries()}
    assert found["deepsurv"].done == found["deepsurv"].total == 2
    assert found["soden"].seconds_left(pace=2.0) == 2 * 3.0 * 2.0  # not begun: measured seconds at this run's pace


def test_a_kept_table_is_enough_for_status(tmp_path: Path) -> None:
    rows_ = [
        {"dataset": "support", "model": "soden", "status": s, "seconds": 2.0, "score": 0.1} for s in ("ok", "diverged")
    ]
    pd.DataFrame(rows_).to_parquet(tmp_path / "trials.parquet")
    (entry,) = status.of_finished(tmp_path)
    assert (entry.done, entry.total, entry.diverged) == (2, 2, 1)
    assert status.headline([entry]) == "2/2 trials (1 diverged)"


def test_fresh_throws_away_one_models_rows(results: Path) -> None:
    for model in ("cox", "deepsurv"):
        tuner(results, model).run("0000", [(1, 0)])
    run_verb._throw_away(results, ["deepsurv"], CONFIG)
    assert [p.name for p in (results / "trials" / "simulated").iterdir()] == ["cox"]
    with pytest.raises(run_verb.RunError, match="--fresh dephit: not a model of this run; choose among cox, deepsurv"):
        run_verb._throw_away(results, ["dephit"], CONFIG)
    with pytest.raises(run_verb.RunError, match="its rows would come back from known: x"):
        run_verb._throw_away(results, ["cox"], CONFIG | {"known": "x"})


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
    with pytest.raises(run_verb.RunError, match="cuda:9 was asked for"):
        run_verb._check_device("cuda:9")


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
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump({k: CONFIG[k] for k in keys} | small))
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


def test_three_verdicts_on_a_row_made_again() -> None:
    row = {"score": -0.5, "valid_loss": 0.5, "hyper": {}, "numerics": "portable"}
    other = row | {"score": -0.5001, "valid_loss": 0.5001}
    assert rows.judge(row, dict(row)) == "identical"
    assert rows.judge(row, other, spread=1.0).startswith("different: valid_loss 0.5 then, 0.5001 now")
    native = other | {"numerics": "native"}  # only other arithmetic may explain other digits
    assert rows.judge(row, native, spread=2e-4).startswith("equivalent: the validation score is 0.0001 off")
    assert rows.judge(row, native, spread=5e-5).startswith("different: ")
    assert rows.judge(row, native).startswith("different: ")  # nobody has measured the spread
    assert rows.judge(row, native | {"score": float("nan")}, spread=1.0).startswith("different: ")


def test_known_rows_of_other_numerics_are_taken_where_asked_for(results: Path, tmp_path: Path) -> None:
    made = tuner(results, "deepsurv")
    row = made.run("0000", [(1, 0)])[0] | {"numerics": "own bits of riscv64"}
    row["identity"] = rows.identity(row)
    theirs = tmp_path / "results" / "theirs"
    rows.write_table([row], theirs / "trials.parquet")
    shutil.rmtree(results / "trials")
    assert tuner(results, "deepsurv", known=theirs).known([(1, 0)]) == {}
    settings = Settings(CONFIG["seed"], CONFIG["training"], "truncate", "cpu", theirs, any_numerics=True)
    other = Tuner(made.folder, made.dataset, made.splits, "deepsurv", settings)
    assert list(other.known([(1, 0)])) == [(1, 0)]
    path, verdict = other.state(other.known([(1, 0)])[1, 0])
    assert path.exists()
    assert verdict == "identical"  # the same bits after all
