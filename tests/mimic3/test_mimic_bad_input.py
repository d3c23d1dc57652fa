"""Raw tables that are not what they should be: a clear error, no record quoted, nothing written."""

import gzip
import json
import math
import re
from collections.abc import Callable
from pathlib import Path

import numba.core.caching
import pytest
from support.mimic_hand import HEADERS, Hospital

from benchmarks import data
from benchmarks.__main__ import main
from benchmarks.data.mimic3 import MimicError, MimicOptions, build, linefilter
from benchmarks.data.mimic3.database import database

Change = Callable[[str], str]
IDS = {"CHARTEVENTS": 3, "LABEVENTS": 3, "SERVICES": 2}  # the columns of ICUSTAY_ID, ITEMID, HADM_ID
BIG = ("PATIENTS", "OUTPUTEVENTS", "CHARTEVENTS")
KEYS = {"PATIENTS": "SUBJECT_ID", "ADMISSIONS": "HADM_ID", "ICUSTAYS": "ICUSTAY_ID"}


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    ward = Hospital()
    for _ in range(3):
        ward.patient(dod=9000, dod_hosp=9000)
    return ward.write(tmp_path / "raw")


def edit(path: Path, change: Callable[[str], str]) -> None:
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")


def refused(raw: Path, match: str, **options: object) -> str:
    """Build must fail with this text and leave neither results nor temporary files."""
    before = sorted(raw.parent.rglob("*"))
    with pytest.raises(MimicError, match=match) as error:
        build(raw, raw.parent / "out", MimicOptions(**options))  # type: ignore[arg-type]
    assert sorted(raw.parent.rglob("*")) == before
    return str(error.value)


def test_no_folder(raw: Path) -> None:
    refused(raw / "nowhere", r"no folder .*nowhere: give the folder that holds the tables of MIMIC-III v1\.4")


def test_missing_tables_are_all_named(raw: Path) -> None:
    (raw / "LABEVENTS.csv").unlink()
    (raw / "CHARTEVENTS.csv").unlink()
    refused(raw, r"lacks 2 of 9 tables: LABEVENTS, CHARTEVENTS \(wanted as \.csv\.gz, \.csv or \.parquet\)")


def moved(column: int) -> Change:
    """An id moved by a million: nothing matches, and all would be missing."""

    def change(text: str) -> str:
        header, *lines = [line.split(",") for line in text.splitlines()]
        lines = [[*line[:column], str(int(line[column] or 0) + 1_000_000), *line[column + 1 :]] for line in lines]
        return "".join(",".join(line) + "\n" for line in [header, *lines])

    return change


def doubled(text: str) -> str:
    """As `cat a a`, header and all; invented tables have no row count to tell by."""
    return text + text.split("\n", 1)[1]


def repeated(text: str) -> str:
    """A second row of one patient, admission or stay under a ROW_ID of its own, as after a careless merge."""
    return text + "77," + text.splitlines()[1].split(",", 1)[1] + "\n"


def dated(text: str) -> str:
    return text.replace(" 12:00:00", "", 1)


TIME = r": a field of \w+ does not parse; wanted a time as YYYY-MM-DD HH:MM:SS"
# Table, what becomes of its text, what is said of its file.
TEXTS: list[tuple[str, Change, str]] = [
    ("CHARTEVENTS", lambda t: t.replace("VALUENUM", "NUMBER", 1), " lacks the column VALUENUM; it has ROW_ID, S"),
    ("ICUSTAYS", lambda t: t.replace("OUTTIME", "intime", 1), " names a column twice: INTIME; headers are comp"),
    ("SERVICES", lambda t: "", " is empty; download it again"),
    ("OUTPUTEVENTS", lambda t: t.splitlines()[0] + "\n", " has a header but no rows"),
    ("CHARTEVENTS", lambda t: t.replace("2150-01-10 13:00:00", "10/01/2150 13:00"), TIME),
    ("PATIENTS", lambda t: t.replace("\n1,99999,", "\n1,many,"), ": a field of SUBJECT_ID .* of type int32, or"),
    ("PATIENTS", lambda t: t + '9,77,"M"\n', " has a line that does not have the header's 8 fields"),
    ("CHARTEVENTS", lambda t: t + '9,77,1,1,1,,,"open\n', " opens a quote that is never closed"),
    ("ICUSTAYS", dated, TIME),
    ("SERVICES", dated, TIME),
    ("CHARTEVENTS", lambda t: re.sub(r" \d\d:\d\d:\d\d", "", t), " has dates without times of day; use the file"),
    *((table, moved(i), " belongs to the cohort's stays and the needed items") for table, i in IDS.items()),
    *((table, doubled, " holds rows with the same ROW_ID: it was joined or loaded twice") for table in BIG),
    *((table, repeated, f" has rows that repeat a {key}; use the file as") for table, key in KEYS.items()),
]


@pytest.mark.parametrize(("table", "change", "said"), TEXTS)
def test_a_text_that_is_not_the_table(raw: Path, table: str, change: Change, said: str) -> None:
    edit(raw / f"{table}.csv", change)
    text = refused(raw, rf"{table}\.csv{said}")
    assert not re.search("10/01/2150|many|9,77", text)  # no message quotes a row


# Table, the file that stands in its place, its bytes made of the table's, what is said of it.
NOISE = b"".join(b'%d,1,199999,299999,1,"2150-01-01 00:00:00",,"%x",,,\n' % (i, i * i) for i in range(20_000))
GZIP, DEGREE = " is truncated or damaged gzip", "1,99999,,\u00b0C\n".encode("latin-1")
BYTES: list[tuple[str, str, Callable[[bytes], bytes], str]] = [
    ("LABEVENTS", "csv.gz", lambda b: gzip.compress(b)[:-4], GZIP),  # only its length is missing
    ("CHARTEVENTS", "csv.gz", lambda b: gzip.compress(b + NOISE)[:100_000], GZIP),  # cut in the middle
    ("PATIENTS", "csv.gz", lambda b: b"not gzip at all", GZIP),
    ("LABEVENTS", "csv.gz", lambda b: 2 * gzip.compress(b), " holds rows with the same ROW_ID"),  # with both headers
    ("PATIENTS", "parquet", lambda b: b"PAR1 and nothing more", " is not a readable Parquet file; make it again"),
    ("CHARTEVENTS", "csv", lambda b: b + DEGREE, " is not UTF-8; use the file as downloaded"),
    ("ADMISSIONS", "csv", lambda b: b + DEGREE, " is not UTF-8; use the file as downloaded"),
    ("CHARTEVENTS", "csv", lambda b: b"\xff\xfe" + b, " is not UTF-8"),
    ("OUTPUTEVENTS", "csv", lambda b: b.replace(b"\r\n", b"\n").replace(b"\n", b"\r"), " ends its lines with CR"),
]


@pytest.mark.parametrize(("table", "kind", "change", "said"), BYTES)
def test_a_file_that_is_not_the_table(
    raw: Path, table: str, kind: str, change: Callable[[bytes], bytes], said: str
) -> None:
    content = (raw / f"{table}.csv").read_bytes()
    (raw / f"{table}.csv").unlink()
    (raw / f"{table}.{kind}").write_bytes(change(content))
    refused(raw, re.escape(f"{table}.{kind}{said}"))


def test_another_version_or_two_files_of_a_table(raw: Path) -> None:
    (raw / "icustays.csv.gz").write_bytes(gzip.compress((raw / "ICUSTAYS.csv").read_bytes()))
    refused(raw, r"holds ICUSTAYS\.csv and icustays\.csv\.gz; keep one file of each table")
    (raw / "icustays.csv.gz").unlink()
    (raw / "SYNTHETIC.txt").unlink()
    refused(raw, r"PATIENTS\.csv has 4 rows where v1\.4 has 46,520: another version, or an incomplete dow.*row_counts")
    edit(raw / "PATIENTS.csv", lambda text: text.replace("DOB", "anchor_age", 1))
    refused(raw, r"holds MIMIC-IV; the paper's data sets are built from MIMIC-III v1\.4")


def test_utf8_is_welcome(raw: Path) -> None:
    edit(raw / "ADMISSIONS.csv", lambda text: text.replace("EMERGENCY", "\u00dcRGENT"))
    build(raw, raw.parent / "out")


def test_another_version_on_purpose(raw: Path) -> None:
    (raw / "SYNTHETIC.txt").unlink()
    with pytest.warns(UserWarning, match="rows where|leaves") as caught:
        build(raw, raw.parent / "out", MimicOptions(row_counts="warn"))
    texts = [str(warning.message) for warning in caught]
    assert sum("rows where v1.4 has" in text for text in texts) == len(HEADERS)
    assert any("N = 3 leaves the published 35,304 +- 2%; flow.csv shows at which rule" in text for text in texts)


def test_out_is_raw(raw: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(raw.iterdir())
    same = str(raw.parent / "raw" / ".." / "raw")
    assert main(["mimic", "build", "--raw", str(raw), "--out", same]) == 1
    assert "mimic: --out is the folder of the raw tables" in capsys.readouterr().err
    assert sorted(raw.iterdir()) == before


def test_a_table_without_row_ids_is_welcome(raw: Path) -> None:
    for path in raw.glob("*.csv"):
        edit(path, lambda text: "".join(line.split(",", 1)[1] + "\n" for line in text.splitlines()))
    build(raw, raw.parent / "out")


def test_cache_that_cannot_be_written(raw: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    settings = data.DataSettings(folders=(), cache=tmp_path / "file", options={"mimic": {"raw": str(raw)}})
    with pytest.raises(data.DataUnavailable, match=r"Not a directory\n(?s:.*)set data.cache .* SODEN_CACHE"):
        data.load("mimic", settings)


def test_home_that_cannot_be_written(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No place to keep compiled code: it is compiled again instead of failing."""
    monkeypatch.setattr(numba.core.caching.CacheImpl, "_locator_classes", [])
    monkeypatch.setattr(linefilter, "_scan", linefilter._compiled(linefilter._scan.py_func))
    monkeypatch.setenv("HOME", str(raw / "PATIENTS.csv"))
    build(raw, raw.parent / "out")


def test_mimic_iv_folders(tmp_path: Path) -> None:
    (tmp_path / "raw" / "hosp").mkdir(parents=True)
    (tmp_path / "raw" / "icu").mkdir()
    with gzip.open(tmp_path / "raw" / "hosp" / "patients.csv.gz", "wt") as file:
        file.write("subject_id,gender,anchor_age,anchor_year\n1,F,50,2150\n")
    refused(tmp_path / "raw", r"holds MIMIC-IV")


def test_fixture_on_real_tables(raw: Path) -> None:
    (raw / "SYNTHETIC.txt").unlink()
    with (
        pytest.warns(UserWarning, match="rows where"),
        pytest.raises(ValueError, match="censor_without_dod_hosp is a test fixture for the demo"),
    ):
        build(raw, raw.parent / "out", MimicOptions(row_counts="warn", censor_without_dod_hosp=True))


def test_too_few_patients(tmp_path: Path) -> None:
    ward = Hospital()
    ward.patient()
    with pytest.raises(ValueError, match="only 1 patients pass all rules"):
        ward.build(tmp_path)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("option", "match"),
    [
        ({"origin": "birth"}, r"origin: got 'birth'; choose among intime, admittime"),
        ({"seq_features": 15}, r"seq_features: got 15; choose among raw15, processed12"),
        ({"threads": 0}, r"threads: got 0; wanted a whole number from 1 to \d+"),
        ({"threads": 1.5}, r"threads: got 1\.5; wanted a whole number from 1 to \d+"),
        ({"threads": 100_000}, r"threads: got 100000; wanted a whole number from 1 to \d+"),
        ({"memory_gb": 1e-9}, r"memory_gb: got 1e-09; wanted a number from 0\.1 to 10,000"),
        ({"memory_gb": math.inf}, r"memory_gb: got inf; wanted a finite number"),
        ({"min_age": "15"}, r"min_age: got '15'; wanted a number from 0 to 120"),
        ({"min_age": math.nan}, r"min_age: got nan; wanted a finite number"),
        ({"min_age": True}, r"min_age: got True; wanted a number from 0 to 120"),
        ({"days_per_year": 1e-320}, r"days_per_year: got 1e-320; wanted a number from 365 to 366"),
        ({"span_rule": "no"}, r"span_rule: got 'no'; wanted true or false"),
        ({"seq_features": ["raw15"]}, r"seq_features: got \['raw15'\]; choose among raw15, processed12"),
    ],
)
def test_options_are_checked(option: dict[str, object], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        MimicOptions(**option)  # type: ignore[arg-type]


@pytest.mark.parametrize("number", ["inf", "nan", "-1e300", "4711471147114711"])
def test_numbers_that_are_no_measurements(tmp_path: Path, number: str) -> None:
    ward = Hospital()
    for _ in range(3):
        ward.patient().output(2, 40055, number)  # type: ignore[arg-type]
    raw = ward.write(tmp_path / "raw")
    text = refused(raw, r"OUTPUTEVENTS\.csv: VALUE holds a number that is not finite, or 1e\+12")
    assert number not in text


def test_errors_of_the_database_quote_no_value(tmp_path: Path) -> None:
    with (
        pytest.raises(MimicError, match="cannot compute with a value of these tables") as error,
        database(MimicOptions(), tmp_path) as connection,
    ):
        connection.execute("SELECT 'patient 4711'::INTEGER").fetchall()
    assert "4711" not in str(error.value)
    assert error.value.__cause__ is None


def test_paths_may_hold_brackets_and_braces(raw: Path) -> None:
    """DuckDB reads [1] in a path as a pattern, which the folder of another build would fit."""
    folder = raw.parent / "a{b}'s"
    folder.mkdir()
    raw.rename(folder / "raw[1]")
    build(folder / "raw[1]", folder / "out1", MimicOptions(min_age=16.0))
    build(folder / "raw[1]", folder / "out[1]")
    assert json.loads((folder / "out[1]" / "build.json").read_text())["options"]["min_age"] == 15


@pytest.mark.parametrize("name", ["README.md", ".git", ".gitignore"])
def test_a_folder_that_serves_for_something_else(raw: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).write_text("mine\n")
    refused(raw, rf"out holds {name}, which no build writes; give a new folder")
    assert (tmp_path / "out" / name).read_text() == "mine\n"
