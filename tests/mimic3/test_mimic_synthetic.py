"""The invented MIMIC-III tables: the real ones' columns and quirks, equal bytes per seed, and a survival signal."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.csv
import pytest
from conftest import beside

from benchmarks.data.mimic3 import MimicError, build
from benchmarks.data.mimic3.synthesise import write, writer
from benchmarks.data.mimic3.synthesise.people import death_years
from benchmarks.data.mimic3.synthesise.tables import COLUMNS, schema_of, to_arrow
from benchmarks.data.mimic3.tables import SYNTHETIC_MARKER, facts

Tables = dict[str, pd.DataFrame]
PATIENTS = 900


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("synthetic")
    write(out, patients=PATIENTS, seed=3)
    return out


@pytest.fixture(scope="module")
def tables(folder: Path) -> Tables:
    found = {}
    for table in COLUMNS:
        options = pyarrow.csv.ConvertOptions(
            column_types=schema_of(table), strings_can_be_null=True, quoted_strings_can_be_null=False
        )
        read = pyarrow.csv.read_csv(folder / f"{table}.csv.gz", convert_options=options)
        found[table] = read.drop_columns([c for c in ("ROW_ID", "STORETIME") if c in read.column_names]).to_pandas()
    return found


@pytest.fixture(scope="module")
def cohort(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    out = tmp_path_factory.mktemp("built")
    build(folder, out)
    return pd.read_parquet(out / "mimic.parquet")


def test_columns_are_those_of_the_real_tables(folder: Path) -> None:
    """The open demo has v1.4's columns: its header lines are the oracle."""
    demo = beside("mimic-iii-demo")
    for table in COLUMNS:
        with gzip.open(demo / f"{table}.csv.gz", "rt") as real, gzip.open(folder / f"{table}.csv.gz", "rt") as made:
            assert made.readline().strip().upper() == real.readline().strip().upper()


# NOT NULL in the schema of mimic-code (buildmimic/postgres/postgres_create_tables.sql), besides ROW_ID.
FILLED = {
    "PATIENTS": "SUBJECT_ID GENDER DOB EXPIRE_FLAG",
    "ADMISSIONS": "SUBJECT_ID HADM_ID ADMITTIME DISCHTIME ADMISSION_TYPE ADMISSION_LOCATION DISCHARGE_LOCATION "
    "INSURANCE ETHNICITY HAS_CHARTEVENTS_DATA",
    "ICUSTAYS": "SUBJECT_ID HADM_ID ICUSTAY_ID DBSOURCE FIRST_CAREUNIT LAST_CAREUNIT FIRST_WARDID LAST_WARDID INTIME",
    "SERVICES": "SUBJECT_ID HADM_ID TRANSFERTIME",
    "DIAGNOSES_ICD": "SUBJECT_ID HADM_ID",
    "CHARTEVENTS": "SUBJECT_ID",
    "LABEVENTS": "SUBJECT_ID ITEMID",
    "OUTPUTEVENTS": "SUBJECT_ID",
    "PROCEDUREEVENTS_MV": "SUBJECT_ID HADM_ID",
    "D_ITEMS": "ITEMID",
    "D_LABITEMS": "ITEMID LABEL FLUID CATEGORY",
}
UNIQUE = {"PATIENTS": "SUBJECT_ID", "ADMISSIONS": "HADM_ID", "ICUSTAYS": "ICUSTAY_ID"}
UNIQUE |= {"D_ITEMS": "ITEMID", "D_LABITEMS": "ITEMID"}


@pytest.mark.parametrize("table", FILLED)
def test_the_schema_of_v1_4_takes_the_rows(tables: Tables, table: str) -> None:
    assert not tables[table][FILLED[table].split()].isna().any(axis=None)
    if table in UNIQUE:
        assert tables[table][UNIQUE[table]].is_unique


def test_the_original_s_sql_can_compute_with_the_rows(tables: Tables) -> None:
    """Texts are those it lists; no gas is so large that its exponential, 1 / (1 + exp(-z)), is out of range."""
    known = {(int(fact["itemid"]), fact["text"]) for fact in facts("texts")}
    listed = charted(tables, *{item for item, _ in known}).dropna(subset="VALUE")
    assert set(zip(listed["ITEMID"], listed["VALUE"].str.strip(), strict=True)) <= known
    off = {text for item, text in known if item == 467} - {"CPAP Mask", "Bipap Mask"}
    assert off <= set(charted(tables, 467)["VALUE"].str.strip())
    labs = tables["LABEVENTS"]
    assert labs.loc[labs["ITEMID"].between(50_800, 50_826), "VALUENUM"].max() < 1000
    assert (charted(tables, 3420, 3422)["VALUENUM"] > 0).all()  # it divides by these


def charted(t: Tables, *items: int) -> pd.DataFrame:
    d = t["CHARTEVENTS"]
    return d[d["ITEMID"].isin(items)]


def ages(t: Tables) -> pd.Series:
    """Years at the first admission, in whole numbers of seconds: 300 years do not fit in nanoseconds."""
    first = t["ADMISSIONS"].groupby("SUBJECT_ID")["ADMITTIME"].min()
    born = t["PATIENTS"].set_index("SUBJECT_ID")["DOB"]
    return (first.astype("int64") - born.loc[first.index].astype("int64")) / (365.25 * 86400)


def at_offset(t: Tables, seconds: int) -> int:
    d = charted(t, 211, 220045).merge(t["ICUSTAYS"][["ICUSTAY_ID", "INTIME"]], on="ICUSTAY_ID")
    return int(((d["CHARTTIME"] - d["INTIME"]).dt.total_seconds() == seconds).sum())


def tied(t: Tables, *items: int) -> int:
    return int(charted(t, *items).duplicated(["ICUSTAY_ID", "CHARTTIME"]).sum())


def early_deaths(t: Tables) -> int:
    d = t["ADMISSIONS"].merge(t["ICUSTAYS"], on="HADM_ID")
    return int(((d["DEATHTIME"] - d["INTIME"]).dt.total_seconds() <= 86400).sum())


# name: (how many there are, how many at least)
QUIRKS: dict[str, tuple[Callable[[Tables], int], int]] = {
    "carevue stays": (lambda t: (t["ICUSTAYS"]["DBSOURCE"] == "carevue").sum(), 300),
    "error rows in range": (lambda t: (charted(t, 220045)["ERROR"] == 1).sum(), 50),
    "implausible values": (lambda t: (charted(t, 211, 220045)["VALUENUM"] >= 300).sum(), 20),
    "both units in a minute": (lambda t: tied(t, 678, 676, 223761, 223762), 50),
    "FiO2 of exactly 1.0": (lambda t: (charted(t, 190)["VALUENUM"] == 1).sum(), 1),
    "FiO2 in per cent": (lambda t: (charted(t, 3420, 3422, 223835)["VALUENUM"] >= 21).sum(), 500),
    "FiO2 between the units": (lambda t: (charted(t, 223835)["VALUENUM"] == 10).sum(), 20),
    "invasive and cuff pressure tied": (lambda t: tied(t, 51, 455, 220050, 220179), 1000),
    "the word None": (lambda t: (charted(t, 467)["VALUE"] == "None").sum(), 100),
    "intubated GCS, CareVue": (lambda t: (charted(t, 723)["VALUE"] == "1.0 ET/Trach").sum(), 100),
    "extubations, MetaVision": (lambda t: (t["PROCEDUREEVENTS_MV"]["ITEMID"] == 227194).sum(), 20),
    "irrigant": (lambda t: (t["OUTPUTEVENTS"]["ITEMID"] == 227488).sum(), 20),
    "venous gases": (lambda t: (t["LABEVENTS"]["VALUE"] == "VEN").sum(), 20),
    "AIDS": (lambda t: t["DIAGNOSES_ICD"]["ICD9_CODE"].between("042", "0449").sum(), 3),
    "children": (lambda t: (ages(t) < 15).sum(), 50),
    "deaths within a day": (early_deaths, 5),
    "charted at INTIME": (lambda t: at_offset(t, 0), 20),
    "charted before INTIME": (lambda t: at_offset(t, -600), 20),
}


@pytest.mark.parametrize("name", QUIRKS)
def test_quirk_is_there(tables: Tables, name: str) -> None:
    found, least = QUIRKS[name]
    assert found(tables) >= least


def test_most_chart_rows_are_of_no_use(tables: Tables, folder: Path) -> None:
    from support.mimic_reference_items import CHARTED

    assert tables["CHARTEVENTS"]["ITEMID"].isin(CHARTED).mean() < 0.5
    assert "Invented" in (folder / SYNTHETIC_MARKER).read_text()


def test_equal_seeds_give_equal_bytes(tmp_path: Path) -> None:
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        write(tmp_path / name, patients=15, seed=seed)
    files = sorted(p.name for p in (tmp_path / "a").iterdir())
    assert len(files) == len(COLUMNS) + 1
    assert all((tmp_path / "a" / f).read_bytes() == (tmp_path / "b" / f).read_bytes() for f in files)
    assert (tmp_path / "a" / "PATIENTS.csv.gz").read_bytes() != (tmp_path / "c" / "PATIENTS.csv.gz").read_bytes()


def test_chartevents_grows_to_the_wanted_size(tmp_path: Path) -> None:
    write(tmp_path, patients=10, seed=0, rows_chartevents=600_001, compress=False)
    lines = (tmp_path / "CHARTEVENTS.csv").read_bytes().splitlines()
    assert len(lines) == 600_002
    assert lines[-1].startswith(b"600001,")
    assert 80 <= np.mean([len(line) for line in lines]) <= 110
    # v1.4 has 27,854,055 rows of LABEVENTS and 4,349,218 of OUTPUTEVENTS beside 330,712,483 of CHARTEVENTS.
    for table, rows in (("LABEVENTS", 50_535), ("OUTPUTEVENTS", 7_891)):
        assert len((tmp_path / f"{table}.csv").read_bytes().splitlines()) == rows + 1


def test_too_few_rows_are_refused_and_leave_no_table(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"rows_chartevents is 5, but these patients alone need \d+ rows or more; ask"):
        write(tmp_path, patients=10, seed=0, rows_chartevents=5)
    assert [path.name for path in tmp_path.iterdir()] == [SYNTHETIC_MARKER]


def test_patients_are_written_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five patients at a time: the number of rows is exact, and tables stay in order of patient."""
    monkeypatch.setattr(writer, "PATIENTS", 5)
    write(tmp_path, patients=12, seed=1, rows_chartevents=40_000, compress=False)
    table = pyarrow.csv.read_csv(tmp_path / "CHARTEVENTS.csv").to_pandas()
    assert table["ROW_ID"].tolist() == list(range(1, 40_001))
    assert table["SUBJECT_ID"].is_monotonic_increasing
    assert table["SUBJECT_ID"].nunique() == 12


def test_real_tables_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "admissions.csv").write_text("row_id\n")
    with pytest.raises(MimicError, match=r"holds tables that were not invented \(ADMISSIONS, \.\.\.\); give another"):
        write(tmp_path, patients=10)
    assert [path.name for path in tmp_path.iterdir()] == ["admissions.csv"]


def test_bad_arguments_are_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="patients is 0; give at least 1"):
        write(tmp_path, patients=0)
    with pytest.raises(KeyError, match=r"PATIENTS has no column \['SEX'\]"):
        to_arrow("PATIENTS", {"SEX": ["M"]})


def test_censoring_is_like_the_papers(cohort: pd.DataFrame) -> None:
    """Paper: 61 % censored, at 0.02 (median) and 0.21 (mean) years; deaths at 0.42 and 1.50.

    The bands are about three standard errors of a sample of this size.
    """
    dead = cohort["event"] == 1
    assert 0.70 <= len(cohort) / PATIENTS <= 0.81
    assert abs((~dead).mean() - 0.61) < 0.054
    assert 0.017 <= cohort.loc[~dead, "time"].median() <= 0.024
    assert 0.12 <= cohort.loc[~dead, "time"].mean() <= 0.30
    assert 0.25 <= cohort.loc[dead, "time"].median() <= 0.60
    assert 1.1 <= cohort.loc[dead, "time"].mean() <= 1.9


def test_covariates_drive_survival_and_not_proportionally(cohort: pd.DataFrame) -> None:
    from lifelines import CoxPHFitter
    from lifelines.statistics import proportional_hazard_test

    d = cohort.drop(columns=["subject_id", "hadm_id", "icustay_id"])
    d["age"] = d["age"].clip(upper=91.4)
    x = d.drop(columns=["time", "event"])
    x = ((x - x.mean()) / x.std(ddof=0)).fillna(0.0)
    train = np.arange(len(d)) % 2 == 0
    both = x.assign(time=d["time"] + 1e-4, event=d["event"])
    cox = CoxPHFitter(penalizer=0.1).fit(both[train], "time", "event")
    assert cox.score(both[~train], scoring_method="concordance_index") > 0.63
    severity = (both["bun_max"] + both["heartrate_max"] - both["mingcs"] - both["sysbp_min"] - both["urineoutput"]) / 5
    scored = both[["age", "time", "event"]].assign(severity=severity)
    test = proportional_hazard_test(CoxPHFitter().fit(scored, "time", "event"), scored, time_transform="rank")
    assert test.summary.loc["severity", "p"] < 1e-6


def test_hazards_cross() -> None:
    """Deaths per year at risk: the acutely ill die faster at first and, of those left, more slowly later."""
    rng = np.random.default_rng(0)
    n = 200_000
    rates = {}
    for acute in (-1.0, 1.0):
        t = death_years(np.full(n, acute), np.zeros(n), rng)
        for lo, hi in ((0.01, 0.25), (3.0, 6.0)):
            at_risk = np.clip(t, lo, hi) - lo
            rates[acute, lo] = ((t > lo) & (t <= hi)).sum() / at_risk.sum()
    assert rates[1.0, 0.01] > 3 * rates[-1.0, 0.01]
    assert rates[1.0, 3.0] < 0.8 * rates[-1.0, 3.0]
