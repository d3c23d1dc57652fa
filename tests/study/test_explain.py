"""`explain`: the chain of a cell in words, and errors that list what there is."""

import argparse
import json
import os
from pathlib import Path

import pytest
from conftest import ROOT
from support.replications import write_replications
from support.run_folder import write_run

from benchmarks import code
from benchmarks.commands import explain
from benchmarks.report.provenance import used_hyper
from benchmarks.results.replications import read_replications
from benchmarks.study.environment import differences, environment


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with results/made."""
    folder = tmp_path_factory.mktemp("explain")
    write_run(folder / "results" / "made")
    return folder


def said(capsys: pytest.CaptureFixture[str], folder: Path, *words: str) -> str:
    parser = argparse.ArgumentParser()
    explain.add_arguments(parser)
    assert explain.run(parser.parse_args([*words, "--directory", str(folder)])) == 0
    return capsys.readouterr().out


def test_the_chain_goes_from_the_cell_to_the_machine(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = said(capsys, made, "support", "ctd", "0.4", "soden")
    lines = out.splitlines()
    assert lines[0] == "SUPPORT, ctd at P(C > tau) = 0.4, SODEN (higher is better)"
    assert lines[1] == "  this run:  0.6260 ± 0.0030  (10 of 10 splits, 3 trials each)"
    assert lines[2].startswith("  published: 0.626 ± 0.003  no verdict: 3 trials instead of 100")
    assert "the mean of 10 rows of scores.csv" in out
    rows = [line.split() for line in lines if line.endswith("f" * 16)]
    assert [int(row[0]) for row in rows] == list(range(1, 11))
    assert sum(float(row[1]) for row in rows) / 10 == pytest.approx(0.626, abs=1e-6)
    assert [row[4] for row in rows] == [str(100 * split) for split in range(1, 11)]  # the seeds
    assert "split 3: lr 0.001, width 16" in out
    assert f"code         0123456789ab (this checkout is {code.of_model('soden')})" in out
    assert f"sha256 {'ab' * 32}" in out
    assert "Python 3.11.0, torch 2.13.0" in out
    assert "pins sha256 cdcdcdcdcdcdcdcd" in out
    assert lines[-1] == "again        python -m benchmarks verify cell support ctd 0.4 soden --run made"


def test_a_model_without_hyper_parameters_and_the_source_of_the_data(capsys: pytest.CaptureFixture[str]) -> None:
    out = said(capsys, ROOT, "support", "ctd", "0.4", "cox", "--run", "reference")
    assert "hyper-parameters" not in out
    assert "proven to give the same rows" in out
    assert "data         SUPPORT as preprocessed by Katzman et al. (2018)" in out


def test_printed_names_in_any_case_are_understood(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = said(capsys, made, "metabric", "ctd", "0.2", "cox_time")
    assert said(capsys, made, "METABRIC", "C^td", "0.2", "Cox-Time") == plain


def test_hyper_parameters_that_the_fit_did_not_use_are_left_out() -> None:
    drawn = {"lr": 0.1, "momentum": 0.9, "gru_width": 64}
    assert used_hyper(drawn, use_momentum=False, series=False) == {"lr": 0.1}
    assert used_hyper(drawn, use_momentum=True, series=False) == {"lr": 0.1, "momentum": 0.9}
    assert used_hyper(drawn, use_momentum=False, series=True) == {"lr": 0.1, "gru_width": 64}


def test_a_cell_of_mimic_is_answered_with_the_paper_and_the_reason(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = said(capsys, made, "MIMIC-SEQ", "IBS", "1e-8", "SODEN").splitlines()
    assert out[1] == "  published: 0.103 ± 0.001"
    assert out[2].startswith("  made: not run: MIMIC-III is given only to people with credentials")


def test_a_code_is_resolved_to_its_commit(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = made / "results" / "made" / "commits.csv"
    path.write_text("code,commit,date\n0123456789ab,fc521c8d86698144ee76ceb9465a1a0610e6da61,2026-11-18\n")
    out = said(capsys, made, "support", "ctd", "0.4", "soden")
    assert "             git commit fc521c8d8669 of 2026-11-18\n" in out
    path.unlink()


def test_the_cell_in_every_replication(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_replications(tmp_path, 2, size=5, shift=0.02)
    monkeypatch.setattr(explain, "read_replications", lambda: read_replications(folder))
    out = said(capsys, made, "metabric", "ctd", "0.4", "soden")
    means = read_replications(folder).means().loc[("metabric", "ctd", "0.4", "soden")]
    assert f"  replications: 1 {means['1']:.4f}, 2 {means['2']:.4f}\n" in out
    agree = [name for name in means.index if abs(means[name] - 0.658) <= 0.005]  # the published value
    assert f"  within 0.005 of the published value: {', '.join(agree) or 'none'}\n" in out


def test_the_level_is_left_out_where_there_is_none(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = said(capsys, made, "metabric", "nll", "soden_ph")
    assert out.startswith("METABRIC, nll, SODEN-PH (lower is better)\n  this run:  0.1760 ± 0.0130")
    assert "against SODEN: p = " in out


def test_marked_data_are_named_and_not_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path / "results" / "made", ("mimic",), n=5, marks={"mimic": "synthetic"})
    out = said(capsys, tmp_path, "mimic", "ibs", "1e-8", "cox")
    assert out.startswith("MIMIC (SYNTHETIC DATA), ibs")
    assert "not comparable: made from synthetic data" in out


def test_the_newest_run_is_meant_unless_one_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for age, name in ((50, "new"), (100, "old")):
        path = write_run(tmp_path / "results" / name) / "cells.csv"
        os.utime(path, (1e9 - age, 1e9 - age))
    assert "run          new: tier small" in said(capsys, tmp_path, "support", "ctd", "0.4", "soden")
    assert "run          old" in said(capsys, tmp_path, "support", "ctd", "0.4", "soden", "--run", "old")


def test_an_environment_names_neither_host_nor_user_and_differs_only_in_what_counts() -> None:
    import getpass
    import platform

    now = environment()
    text = json.dumps(now)
    assert platform.node() not in text or len(platform.node()) < 3
    assert f'"{getpass.getuser()}"' not in text
    assert now["libraries"]["torch"].startswith("2.")
    assert differences(now, now | {"cores": 99}) == []
    older = now | {"python": "3.11.0", "libraries": now["libraries"] | {"torch": "2.0.0"}}
    assert differences(older, now) == [
        f"python 3.11.0 then, {now['python']} now",
        f"torch 2.0.0 then, {now['libraries']['torch']} now",
    ]
