"""`verify reference`: what is taken from a reference, and what counts as coming out again."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.run_folder import write_run

from benchmarks.config import resolve
from benchmarks.results.folder import Results, read_results
from benchmarks.study import verify as reference
from benchmarks.study.reference import FOLDER


@pytest.fixture
def run(tmp_path: Path) -> Results:
    folder = write_run(tmp_path / "made")
    (folder / "claims.csv").write_text("claim,dataset,verdict\none,support,holds\n")
    return read_results(folder)


def with_refits(run: Results, *verdicts: str) -> Results:
    chosen = [replace(row, refit=verdicts[i % len(verdicts)]) for i, row in enumerate(run.chosen)]
    return Results(**{**vars(run), "chosen": tuple(chosen)})


def test_the_configuration_is_the_references_with_its_rows_known() -> None:
    config = resolve({"tier": "paper", "trials": 7, "training": {"patience": 3}}).plain()
    found = resolve({"tier": "paper", **reference.overlay(config, ["metabric"], FOLDER)})
    assert (found.trials, found.training.patience, found.datasets) == (7, 3, ("metabric",))
    assert (found.run, found.known_numerics, found.device) == ("verify", "any", "cpu")
    assert found.known == str(FOLDER)


def test_identical_refits_and_equal_cells_hold(run: Results) -> None:
    found = reference.check(with_refits(run, "identical"), run)
    assert found.holds
    assert found.refits == {"identical": len(run.chosen), "equivalent": 0, "different": 0}
    assert found.cells == found.same_cells > 100


def test_one_refit_that_differs_or_was_not_made_does_not_hold(run: Results) -> None:
    assert not reference.check(run, run).holds
    found = reference.check(with_refits(run, "identical", "different: epochs 3 then, 4 now"), run)
    assert not found.holds
    assert any("different: epochs 3 then, 4 now" in text for text in found.different)


def test_one_cell_in_its_last_digit_does_not_hold(run: Results) -> None:
    mine = with_refits(run, "identical")
    cells = mine.cells.copy()
    first = cells.index[cells["mean"].notna() & (cells["metric"] == "ibs")][0]
    cells.loc[first, "mean"] *= 1 + 1e-15
    found = reference.check(Results(**{**vars(mine), "cells": cells}), run)
    assert (found.cells - found.same_cells, found.holds) == (1, False)


def test_equivalent_refits_allow_cells_to_differ_a_little(run: Results) -> None:
    mine = with_refits(run, "identical", "equivalent: the validation score is 1e-6 off")
    near = Results(**{**vars(mine), "cells": mine.cells.assign(mean=mine.cells["mean"] + 5e-4)})
    far = Results(**{**vars(mine), "cells": mine.cells.assign(mean=mine.cells["mean"] + 5e-3)})
    assert reference.check(near, run).holds
    assert not reference.check(far, run).holds
