"""What a choice changes is measured by building both ways, and that for every choice that could be made otherwise."""

from dataclasses import fields
from pathlib import Path
from typing import get_args, get_type_hints

import pandas as pd
import pytest
import yaml
from conftest import ROOT
from support.mimic_hand import Hospital

from benchmarks.__main__ import main
from benchmarks.data.mimic3 import MimicOptions
from benchmarks.report.deviations import MIMIC
from benchmarks.study import mimic_effects
from benchmarks.study.config import ConfigError, resolve

# Never part of a result: a fixture of tests, and the unit of time.
APART = {"censor_without_dod_hosp", "days_per_year"}


def test_every_choice_has_an_alternative_and_its_effect_in_the_report() -> None:
    choices = set(MimicOptions().choices()) - APART
    assert {name for chosen in mimic_effects.ALTERNATIVES for name in chosen} == choices
    table = pd.read_csv(MIMIC, keep_default_na=False)
    for tables in ("MIMIC-III demo", "synthetic MIMIC-III tables"):
        rows = table[table["tables"] == tables].set_index("choice")
        assert set(rows.index) == choices
        assert (rows.loc[list(mimic_effects.SERIES), ["ctd", "ctd_sd"]] != "").all(axis=None)  # cells and scores
    assert len(fields(MimicOptions)) == len(MimicOptions().choices()) + 4  # row_counts, memory_gb, threads, progress


def test_the_config_knows_every_choice_and_its_values() -> None:
    """The schema's list against the options' own types."""
    schema = yaml.safe_load((ROOT / "workflow" / "schemas" / "config.schema.yaml").read_text())
    known = schema["properties"]["data"]["properties"]["mimic"]["properties"]["options"]["properties"]
    hints = get_type_hints(MimicOptions)
    assert list(known) == [field.name for field in fields(MimicOptions)]
    for name, hint in hints.items():
        assert tuple(known[name].get("enum", ())) == get_args(hint)
    with pytest.raises(ConfigError, match="impute_windw"):
        resolve({"tier": "paper", "data": {"mimic": {"options": {"impute_windw": "full"}}}})


def test_patients_and_cells_that_change_are_counted(tmp_path: Path) -> None:
    ward = Hospital()
    people = [ward.patient() for _ in range(4)]
    for person in (people[0], people[2], people[3]):  # the notebook loses the one who has no GCS and no labs
        person.chart(2, 454, 6)
        person.lab(3, 51006, 10)
    people[2].lab(30, 50885, 2.0)  # bilirubin, 29 hours after the first record: it fills all 24 hours before
    raw = ward.write(tmp_path / "raw")
    chosen = [{"lost_admissions": "drop"}, {"impute_window": "first24"}]
    rows = {row["choice"]: row for row in mimic_effects.effects(raw, chosen)}
    assert (rows["lost_admissions"]["patients"], rows["lost_admissions"]["left"]) == (3, 1)
    assert rows["lost_admissions"]["series"] == 0
    assert rows["impute_window"]["left"] == rows["impute_window"]["came"] == 0
    assert rows["impute_window"]["series"] == pytest.approx(24 / (4 * 24 * 15), abs=5e-5)  # rounded to four digits
    assert "ctd" not in rows["impute_window"]  # four patients say nothing about scores


def test_the_command_appends_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mimic_effects, "ALTERNATIVES", ({"origin": "admittime"},))
    ward = Hospital()
    for _ in range(2):
        ward.patient()
    raw, out = ward.write(tmp_path / "raw"), tmp_path / "effects.csv"
    for _ in range(2):
        assert main(["mimic", "effects", "--raw", str(raw), "--out", str(out)]) == 0
    table = pd.read_csv(out)
    assert table["choice"].tolist() == ["origin", "origin"]
    assert table["outcomes"].tolist() == [0.5, 0.5]  # every time, no event
    assert table["tables"].unique().tolist() == ["synthetic MIMIC-III tables"]
