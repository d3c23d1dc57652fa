"""The verb that says which data sets can be had."""

import argparse
from pathlib import Path

import pytest

from benchmarks.commands import datasets as command


def call(*argv: object) -> int:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.run(parser.parse_args([str(a) for a in argv]))


def test_what_can_be_had_and_what_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ("--folder", tmp_path / "none", "--cache", tmp_path / "cache", "--offline")
    assert call("flchain", *where) == 0
    assert capsys.readouterr().out.startswith("FLCHAIN      N  7,874  p 9        censored  72%  years  11.57  12.61")
    assert call("metabric", "flchain", *where) == 1
    captured = capsys.readouterr()
    assert "METABRIC cannot be had. Tried:" in captured.err
    assert "from scikit-survival" in captured.out


def test_a_wrong_name_is_an_error_before_anything_is_fetched(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        call("suport")
    assert "unknown data set 'suport'; choose among aids, flchain, gbsg2, metabric" in capsys.readouterr().err


def test_marks_and_series_are_printed() -> None:
    row = {"label": "MIMIC-SEQ", "mark": "demo", "n": 100, "p": 5, "seq_channels": 15, "seq_steps": 24}
    row |= {"censoring_rate": 0.3, "censored_mean": 1, "censored_median": 2, "observed_mean": 3, "observed_median": 4}
    assert command.row_text(row).startswith("MIMIC-SEQ (demo) N    100  p 5+15x24  censored  30%  years   1.00   2.00")
