"""`adopt`: changed code is proven equal by rows run again, or nothing is written."""

import argparse
import json
from pathlib import Path

import pandas as pd
import pytest
from test_audit import finished, tampered  # noqa: F401

from benchmarks import code
from benchmarks.commands import adopt
from benchmarks.study import rows


def run(folder: Path, *words: str) -> int:
    parser = argparse.ArgumentParser()
    adopt.add_arguments(parser)
    return adopt.run(parser.parse_args(["--run", str(folder), *words]))


def of_old_code(finished: Path, tmp_path: Path) -> Path:  # noqa: F811
    """The run as if its rows had been made by other code."""
    folder = tampered(finished, tmp_path)
    trials = pd.read_parquet(folder / "trials.parquet")
    trials.assign(code="0" * 12).to_parquet(folder / "trials.parquet", index=False)
    return folder


def test_the_same_code_needs_no_proof(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    assert run(finished) == 0
    assert "the code behind the 7 rows of tiny is this checkout's" in capsys.readouterr().out
    assert not (finished / rows.CODES).exists()


def test_equal_rows_are_a_proof_that_is_written_down(
    finished: Path,  # noqa: F811
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = of_old_code(finished, tmp_path)
    assert run(folder, "--n", "2", "--models", "soden", "cox") == 0
    out = capsys.readouterr().out
    new = code.of_model("soden")
    assert f"soden: code {new} counts as {'0' * 12} in changed, proven on 2 rows" in out
    proofs = json.loads((folder / rows.CODES).read_text())
    assert set(proofs) == {"soden", "cox"}
    assert proofs["soden"][0]["rows"] == ["simulated/soden/1/0", "simulated/soden/1/1"]
    assert rows.equal_codes(folder, "soden", new) == [new, "0" * 12]
    assert rows.equal_codes(folder, "deephit", code.of_model("deephit")) == [code.of_model("deephit")]
    assert run(folder, "--models", "soden") == 0  # proven once is enough
    assert "or proven equal to it" in capsys.readouterr().out


def test_one_row_that_differs_adopts_nothing(
    finished: Path,  # noqa: F811
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = of_old_code(finished, tmp_path)
    trials = pd.read_parquet(folder / "trials.parquet")
    last = trials.index[trials["model"] == "soden"][-1]
    trials.loc[last, "valid_loss"] *= 1 + 1e-15
    trials.to_parquet(folder / "trials.parquet", index=False)
    assert run(folder, "--models", "cox", "soden") == 1
    out = capsys.readouterr().out
    assert "simulated/soden/1/1 came out otherwise: valid_loss" in out
    assert out.endswith("Nothing is adopted.\n")
    assert not (folder / rows.CODES).exists()
