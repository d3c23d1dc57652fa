"""`report --crate`: what is packed, what never is, and that its hashes are those of the files."""

import json
import os
import shutil
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT
from support.run_folder import write_run

from benchmarks.__main__ import main
from benchmarks.report.crate import published, write
from benchmarks.results.folder import read_results

SECRET = b"subject_id,age\n10006,70\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run on MIMIC's demo, with all that such a run leaves behind: rows of patients, splits, models."""
    folder = tmp_path_factory.mktemp("crate") / "results" / "made"
    run = write_run(folder, datasets=("support", "mimic"), marks={"mimic": "demo"})
    hidden = ("mimic3/cohort.parquet", "data/mimic.npz", "data/mimic.csv", "splits/mimic/1.npz", "trials/mimic/a.pt")
    for name in hidden:
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_bytes(SECRET)
    config = json.loads((run / "config.json").read_text())
    config["data"] |= {"folder": "/home/somebody/tables", "mimic": {"options": {}, "raw": "/home/somebody/mimic"}}
    (run / "config.json").write_text(json.dumps(config))
    return run


@pytest.fixture(scope="module")
def crate(run: Path) -> dict[str, bytes]:
    """Name -> content of what `report --crate` packs."""
    assert main(["report", str(run), "--crate", "--directory", str(run.parents[1])]) == 0
    with zipfile.ZipFile(run / "crate.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def entities(crate: dict[str, bytes]) -> dict[str, dict[str, Any]]:
    return {entity["@id"]: entity for entity in json.loads(crate["ro-crate-metadata.json"])["@graph"]}


def test_a_run_on_credentialed_data_is_not_packed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write_run(tmp_path / "results" / "made", datasets=("mimic_seq",))
    assert main(["report", str(run), "--crate", "--directory", str(tmp_path)]) == 1
    assert "was made from credentialed data (mimic_seq)" in capsys.readouterr().err
    assert not (run / "crate.zip").exists()


def test_no_row_of_a_patient_is_packed(crate: dict[str, bytes], entities: dict[str, dict[str, Any]]) -> None:
    assert not [name for name in crate if name.startswith(("run/mimic3/", "run/data/", "run/splits/", "run/trials/"))]
    assert not [name for name, content in crate.items() if SECRET in content or b"/home/somebody" in content]
    mimic = entities["#data-mimic"]
    assert mimic["description"].endswith("not in this crate")


def test_the_metadata_names_what_is_packed_with_its_hash(crate: dict[str, bytes], entities: dict[str, Any]) -> None:
    packed = {name: content for name, content in crate.items() if name != "ro-crate-metadata.json"}
    assert {part["@id"] for part in entities["./"]["hasPart"]} == set(packed)
    for name, content in packed.items():
        assert entities[name]["sha256"] == sha256(content).hexdigest()
    assert {"run/trials.parquet", "run/cells.csv", "run/scores.csv", "Snakefile", "workflow/rules/trials.smk"} <= set(
        packed
    )
    assert packed["Snakefile"] == (ROOT / "Snakefile").read_bytes()


def test_every_reference_leads_somewhere(entities: dict[str, dict[str, Any]]) -> None:
    outside = ("https://w3id.org/ro/crate", "https://bioschemas.org/")
    for entity in entities.values():
        for value in entity.values():
            for link in value if isinstance(value, list) else [value]:
                if isinstance(link, dict) and not link["@id"].startswith(outside):
                    assert link["@id"] in entities, link
    action = entities["#run"]
    assert action["startTime"] <= action["endTime"]
    assert {"@id": "#data-mimic"} in action["object"]
    assert {"@id": "run/cells.csv"} in action["result"]


def test_the_same_run_gives_the_same_bytes(run: Path, crate: dict[str, bytes], tmp_path: Path) -> None:
    assert main(["report", str(run), "--crate", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "crate.zip").read_bytes() == (run / "crate.zip").read_bytes()


def test_a_kept_run_has_the_date_of_its_version_and_no_times_of_a_checkout(run: Path, tmp_path: Path) -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    crates = []
    for clone in ("one", "two"):
        ignore = shutil.ignore_patterns("trials", "crate.zip")
        kept = shutil.copytree(run, tmp_path / clone / "kept", ignore=ignore, copy_function=shutil.copyfile)
        os.utime(kept / "cells.csv", (0, len(crates)))
        crates.append(write(read_results(kept), tmp_path / f"{clone}.zip"))
    assert crates[0].read_bytes() == crates[1].read_bytes()
    with zipfile.ZipFile(crates[0]) as archive:
        entities = {entity["@id"]: entity for entity in json.loads(archive.read("ro-crate-metadata.json"))["@graph"]}
    assert entities["./"]["datePublished"] == str(citation["date-released"])
    assert not {"startTime", "endTime"} & entities["#run"].keys()
    assert [entities["#authors"]["name"]] == [author["name"] for author in citation["authors"]]
    assert entities[entities["./"]["license"]["@id"]]["name"] == citation["license"]


def test_paths_of_the_machine_are_emptied_and_nothing_else() -> None:
    config = {"known": "/a", "seed": 3, "data": {"folder": "/b", "mimic": {"raw": "", "options": {"x": 1}}}}
    assert published(config) == {
        "known": "",
        "seed": 3,
        "data": {"folder": "", "mimic": {"raw": "", "options": {"x": 1}}},
    }
    assert config["known"] == "/a"
