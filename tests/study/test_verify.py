"""`verify cox`: the paper's 18 Cox cells from our sources, splits, preprocessing, model and metrics; no arguments."""

import re
from collections.abc import Callable

import pytest

from benchmarks.__main__ import main
from benchmarks.data import Dataset, DataUnavailable
from benchmarks.study import verify


@pytest.mark.slow
def test_the_published_cox_cells(load_public: Callable[[str], Dataset], capfd: pytest.CaptureFixture[str]) -> None:
    for name in verify.DATASETS:
        load_public(name)
    assert main(["verify", "cox"]) == 0
    last = capfd.readouterr().out.splitlines()[-1]
    assert re.fullmatch(r"max \|difference\| = 0\.00\d\d over 18 cells", last)  # below LARGEST, or main gives 1


def test_absent_data_are_a_message_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def absent(name: str) -> Dataset:
        raise DataUnavailable("SUPPORT", [("cache", "no file there")], "ask a friend.")

    monkeypatch.setattr(verify, "_dataset", absent)
    assert main(["verify", "cox"]) == 1
    assert capsys.readouterr().err.startswith("verify: SUPPORT cannot be had. Tried:\n  1. cache: no file there\n")
