"""The steps of the workflow: each reads a run's folder, refuses a stale configuration, and leaves whole files alone."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import ROOT

from benchmarks import data, numerics
from benchmarks.__main__ import main
from benchmarks.config import Config, resolve
from benchmarks.data.splits import Split
from benchmarks.study import plan, prepare, store

TINY = {"run": "tiny", "datasets": ["simulated"], "models": ["cox", "soden"], "splits": {"simulated": 2}, "trials": 3}
CONFIG = resolve(TINY | {"chunk": 2, "device": "cpu", "training": {"max_epochs": 1}, "data": {"simulated_n": 100}})


def write(folder: Path, config: Config) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config.plain()))


def changed(step: str, key: str, **changes: object) -> bool:
    return plan.uses(replace(CONFIG, **changes), step, key) != plan.uses(CONFIG, step, key)


def test_the_steps_in_a_row_make_the_tables_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "results" / "tiny"
    write(run, CONFIG)
    steps = [("data", "simulated"), ("splits", "simulated"), ("tune", "simulated/cox/0000")]
    steps += [("tune", f"simulated/soden/{i:04d}") for i in range(3)]
    steps += [("evaluate", "simulated/cox"), ("evaluate", "simulated/soden"), ("gather", "")]
    for step, key in steps:
        words = [str(run), *([key] if key else []), "--expect", plan.digest(CONFIG, step, key)]
        assert main(["step", step, *words]) == 0, capsys.readouterr().err
    assert "8 trials, 2 models on 1 data sets" in capsys.readouterr().out  # 2 splits x 3 trials, and 2 fits of Cox
    assert (run / "scores.csv").is_file()
    assert prepare.summary_of(run, "simulated", CONFIG)["splits"] == "drawn"


def test_a_configuration_that_changed_meanwhile_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Else trials would be trained with values that the workflow does not know of."""
    write(tmp_path, replace(CONFIG, seed=1))
    words = ["step", "tune", str(tmp_path), "simulated/soden/0000", "--expect"]
    assert main([*words, plan.digest(CONFIG, "tune", "simulated/soden/0000")]) == 1
    assert "has changed since the workflow was started" in capsys.readouterr().err
    assert not (tmp_path / "trials").exists()


def test_a_changed_key_touches_the_steps_that_read_it() -> None:
    longer = replace(CONFIG.training, max_epochs=2)
    keys = {"data": "simulated", "splits": "simulated", "tune": "simulated/soden/0000", "evaluate": "simulated/soden"}
    keys |= {"gather": "", "simulate": "1", "mimic": "cohort"}

    def touched(**changes: object) -> set[str]:
        return {step for step, key in keys.items() if changed(step, key, **changes)}

    assert touched(training=longer) == {"tune", "evaluate"}
    assert touched(seed=1) == {"data", "splits", "tune", "evaluate", "simulate"}
    assert touched(keep_failed=True) == {"tune"}
    assert touched(split_source="drawn") == {"splits"}
    assert touched(threads=2) == {"tune", "evaluate", "simulate"}
    assert touched(chunk=3) == {"tune"}  # this chunk has one trial more
    assert touched(splits={"simulated": 3}) == {"splits", "gather"}  # the first chunk of tune stays as it is
    assert touched(resources=replace(CONFIG.resources, mem_mb=9000)) == set()
    older = replace(CONFIG.data.mimic.options, min_age=18.0)
    with_older = replace(CONFIG.data, mimic=replace(CONFIG.data.mimic, options=older))
    assert touched(data=with_older) == {"mimic"}
    assert "training.max_epochs=1" in plan.uses(CONFIG, "tune", "simulated/soden/0000")


def test_splits_are_whole_or_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that a kill left half full counted as made."""
    prepare.prepare_data("simulated", CONFIG, tmp_path)
    make = prepare.make_split

    def killed(dataset: data.Dataset, how: str, number: int, *, seed: int) -> Split:
        if number == 2:
            raise KeyboardInterrupt
        return make(dataset, how, number, seed=seed)

    with monkeypatch.context() as patch:
        patch.setattr(prepare, "make_split", killed)
        with pytest.raises(KeyboardInterrupt):
            prepare.prepare_splits("simulated", CONFIG, tmp_path)
    assert not (tmp_path / "splits" / "simulated").exists()
    for n in (2, 1):  # made, then made anew with fewer
        prepare.prepare_splits("simulated", replace(CONFIG, splits={"simulated": n}), tmp_path)
        assert len(list((tmp_path / "splits" / "simulated").glob("*.npz"))) == n
    assert [path.name for path in (tmp_path / "splits").iterdir()] == ["simulated"]


def test_invented_tables_are_written_anew(tmp_path: Path) -> None:
    """Snakemake deletes the declared output of a job before it runs it again: the note that they are invented."""
    mimic = replace(CONFIG.data.mimic, synthetic_patients=20)
    write(tmp_path, replace(CONFIG, data=replace(CONFIG.data, mimic=mimic)))
    for _ in range(2):
        assert main(["step", "mimic", str(tmp_path), "synthesise"]) == 0
        (tmp_path / "mimic3" / "raw" / "SYNTHETIC.txt").unlink()


def test_auto_is_the_cpu_but_for_series_where_there_is_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settled once per run: what a run has noted stays, whatever the node it goes on at has."""
    auto = resolve({"datasets": ["support", "mimic_seq"], "data": {"mimic": {"synthetic_patients": 100}}})
    for here, noted in ((True, plan.GPU_FOR_SERIES), (False, "cpu")):
        monkeypatch.setattr(plan, "_gpu_here", lambda here=here: here)
        settled = plan.settled(auto, tmp_path / noted)
        assert settled.device == noted
        assert plan.device_of(settled, "support") == "cpu"
        assert plan.device_of(settled, "mimic_seq") == ("cuda" if here else "cpu")
        write(tmp_path / noted, settled)
        monkeypatch.setattr(plan, "_gpu_here", lambda here=here: not here)
        assert plan.settled(auto, tmp_path / noted) == settled
        key = ("tune", "support/soden/0000")
        assert plan.digest(settled, *key) == plan.digest(replace(auto, device="cpu"), *key)
    without = replace(auto, data=resolve().data)  # no tables of MIMIC: nothing with series is run
    monkeypatch.delenv("MIMIC_III", raising=False)
    monkeypatch.setattr(plan, "_gpu_here", lambda: pytest.fail("torch is not loaded to look for one"))
    assert plan.settled(without, tmp_path / "new").device == "cpu"


def test_a_gpu_is_needed_to_fit_and_not_to_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The evaluation of a run on a GPU goes to any node; the model of the chosen trial is there."""
    run = tmp_path / "results" / "tiny"
    one = replace(CONFIG, models=("cox",), splits={"simulated": 1})
    write(run, one)
    for step, key in (("data", "simulated"), ("splits", "simulated"), ("tune", "simulated/cox/0000")):
        assert main(["step", step, str(run), key]) == 0
    journal = run / "trials" / "simulated" / "cox" / "0000.parquet"
    on_gpu = [replace(t, parts=replace(t.parts, device="cuda")) for t in store.read_chunks([journal])]
    for trial in on_gpu:
        states = run / "trials" / "simulated" / "cox" / "states"
        (old,) = states.glob("1-0-*.pt")
        old.rename(states / f"1-0-{trial.identity}.pt")
    store.write_chunk(on_gpu, journal)
    write(run, replace(one, device="cuda"))
    assert main(["step", "evaluate", str(run), "simulated/cox"]) == 0
    assert main(["step", "tune", str(run), "simulated/cox/0000"]) == 1
    assert "device: cuda was asked for, but torch finds no GPU here" in capsys.readouterr().err


def test_who_trains_on_a_gpu_asks_for_one(tmp_path: Path) -> None:
    """And who scores only where another run's models must be fitted again; `--resources gpu=N` then limits them."""
    (tmp_path / "results" / "tiny" / "data").mkdir(parents=True)
    write(tmp_path / "results" / "tiny", CONFIG)
    assert main(["step", "data", str(tmp_path / "results" / "tiny"), "simulated"]) == 0
    (tmp_path / "tiny.yaml").write_text(json.dumps(CONFIG.plain() | {"tier": "paper"}))
    for known, asked in (("", {"tune"}), ("results/reference", {"tune", "evaluate"})):
        words = ["-n", "--cores", "1", "--directory", str(tmp_path), "--configfile", str(tmp_path / "tiny.yaml")]
        words += ["--config", "device=cuda", f"known={known}", "--", "results/tiny/chosen/simulated/cox.json"]
        done = subprocess.run([sys.executable, "-m", "snakemake", *words], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        jobs = done.stdout.split("\nrule ")[1:]
        assert {job.split(":")[0] for job in jobs if "gpu=1" in job} == asked, done.stdout


def test_snakemake_stops_where_nothing_can_be_taken(tmp_path: Path) -> None:
    """As on a GPU workstation, whose rows are others than the reference's; a shell knows nothing of our numerics."""
    (tmp_path / "tiny.yaml").write_text(json.dumps(CONFIG.plain() | {"tier": "paper", "datasets": ["metabric"]}))
    words = [
        "-m",
        "snakemake",
        "--cores",
        "1",
        "--directory",
        str(tmp_path),
        "--configfile",
        str(tmp_path / "tiny.yaml"),
    ]
    words += ["--config", "device=cuda", "known=results/reference", "models=[soden]"]
    shell = {k: v for k, v in os.environ.items() if k not in (numerics.VARIABLE, *numerics.PORTABLE)}
    done = subprocess.run([sys.executable, *words], cwd=ROOT, env=shell, capture_output=True, text=True)
    assert done.returncode == 1
    assert re.search(r"no trial of .*results/reference can be taken \(1000 trials: the .*device", done.stderr), (
        done.stderr
    )
    assert not (tmp_path / "results" / "tiny" / "data").exists()


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ("training={max_epochs: 2, use_momentum: true, clip: 1e2}", ""),
        ("training={use_momentum: 1}", "training.use_momentum: got '1'; wanted true or false"),
    ],
)
def test_nested_values_can_be_given_to_snakemake(value: str, answer: str, tmp_path: Path) -> None:
    words = ["snakemake", "-n", "--quiet", "--cores", "1", "--directory", str(tmp_path), "--config", value]
    done = subprocess.run([sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == bool(answer), done.stdout + done.stderr
    assert answer in done.stdout + done.stderr
