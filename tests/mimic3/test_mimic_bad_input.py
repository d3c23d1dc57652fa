"""Raw tables that are not what they should be: a clear error, no record quoted, nothing written."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numba.core.caching
import pytest
from support.mimic_hand import HEADERS, Hospital

from benchmarks import data
from benchmarks.__main__ import main
from benchmarks.data.mimic3 import MimicError, MimicOptions, build, linefilter


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


def test_missing_column(raw: Path) -> None:
    edit(raw / "CHARTEVENTS.csv", lambda text: text.replace("VALUENUM", "NUMBER", 1))
    refused(raw, r"CHARTEVENTS\.csv lacks the column VALUENUM; it has ROW_ID, SUBJECT_ID")


def test_column_named_twice(raw: Path) -> None:
    edit(raw / "ICUSTAYS.csv", lambda text: text.replace("OUTTIME", "intime", 1))
    refused(raw, r"ICUSTAYS\.csv names a column twice: INTIME; headers are compared without case")


def test_empty_file(raw: Path) -> None:
    (raw / "SERVICES.csv").write_bytes(b"")
    refused(raw, r"SERVICES\.csv is empty; download it again")


def test_table_without_rows(raw: Path) -> None:
    edit(raw / "OUTPUTEVENTS.csv", lambda text: text.splitlines()[0] + "\n")
    refused(raw, r"OUTPUTEVENTS\.csv has a header but no rows")


def test_truncated_gzip(raw: Path) -> None:
    path = raw / "CHARTEVENTS.csv"
    header, *rows = path.read_bytes().splitlines(keepends=True)
    noise = b"".join(b'%d,1,199999,299999,1,"2150-01-01 00:00:00",,"%x",,,\n' % (i, i * i) for i in range(20000))
    whole = gzip.compress(header + b"".join(rows) + noise)
    path.unlink()
    (raw / "CHARTEVENTS.csv.gz").write_bytes(whole[: len(whole) * 2 // 3])
    refused(raw, r"CHARTEVENTS\.csv\.gz is truncated or damaged gzip; download it again")


def test_gzip_cut_at_its_very_end(raw: Path) -> None:
    path = raw / "LABEVENTS.csv"
    (raw / "LABEVENTS.csv.gz").write_bytes(gzip.compress(path.read_bytes())[:-4])  # only the length is missing
    path.unlink()
    refused(raw, r"LABEVENTS\.csv\.gz is truncated or damaged gzip")


def test_damaged_gzip(raw: Path) -> None:
    path = raw / "PATIENTS.csv"
    (raw / "PATIENTS.csv.gz").write_bytes(b"not gzip at all")
    path.unlink()
    refused(raw, r"PATIENTS\.csv\.gz is truncated or damaged gzip")


def test_damaged_parquet(raw: Path) -> None:
    (raw / "PATIENTS.parquet").write_bytes(b"PAR1 and nothing more")
    refused(raw, r"PATIENTS\.parquet is not a readable Parquet file; make it again")


@pytest.mark.parametrize("table", ["CHARTEVENTS", "ADMISSIONS"])
def test_not_utf8(raw: Path, table: str) -> None:
    path = raw / f"{table}.csv"
    path.write_bytes(path.read_bytes() + "1,99999,,\u00b0C\n".encode("latin-1"))
    refused(raw, rf"{table}\.csv is not UTF-8; use the file as downloaded, not a re-saved one")


def test_header_not_utf8(raw: Path) -> None:
    path = raw / "CHARTEVENTS.csv"
    path.write_bytes(b"\xff\xfe" + path.read_bytes())
    refused(raw, r"CHARTEVENTS\.csv is not UTF-8")


def test_utf8_is_welcome(raw: Path) -> None:
    edit(raw / "ADMISSIONS.csv", lambda text: text.replace("EMERGENCY", "\u00dcRGENT"))
    build(raw, raw.parent / "out")


def test_timestamp_that_does_not_parse(raw: Path) -> None:
    edit(raw / "CHARTEVENTS.csv", lambda text: text.replace("2150-01-10 13:00:00", "10/01/2150 13:00"))
    text = refused(raw, r"CHARTEVENTS\.csv: a field of CHARTTIME does not parse; wanted a time as YYYY-MM-DD HH:MM:SS")
    assert "10/01/2150" not in text  # nothing at patient level in a message


def test_number_that_does_not_parse(raw: Path) -> None:
    edit(raw / "PATIENTS.csv", lambda text: text.replace("\n1,99999,", "\n1,many,"))
    text = refused(
        raw, r"PATIENTS\.csv: a field of SUBJECT_ID does not parse; wanted a value of type int32, or nothing"
    )
    assert "many" not in text


def test_line_with_too_few_fields(raw: Path) -> None:
    edit(raw / "PATIENTS.csv", lambda text: text + '9,77,"M"\n')
    text = refused(raw, r"PATIENTS\.csv has a line that does not have the header's 8 fields")
    assert "77" not in text


def test_quote_that_never_closes(raw: Path) -> None:
    edit(raw / "CHARTEVENTS.csv", lambda text: text + '9,77,1,1,1,,,"open\n')
    refused(raw, r"CHARTEVENTS\.csv opens a quote that is never closed")


def test_another_version(raw: Path) -> None:
    (raw / "SYNTHETIC.txt").unlink()
    refused(
        raw,
        r"PATIENTS\.csv has 4 rows where v1\.4 has 46,520: another version, or an incomplete download; .*row_counts",
    )


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
    for stage in (["build"], ["cohort"], ["events", "--table", "LABEVENTS"]):
        assert main(["mimic", *stage, "--raw", str(raw), "--out", same]) == 1
        assert "mimic: --out is the folder of the raw tables" in capsys.readouterr().err
    assert sorted(raw.iterdir()) == before


@pytest.mark.parametrize(("table", "column"), [("CHARTEVENTS", 3), ("LABEVENTS", 3), ("SERVICES", 2)])
def test_table_of_other_ids(raw: Path, table: str, column: int) -> None:
    """ICUSTAY_ID, ITEMID, HADM_ID moved by a million: nothing matches, and all would be missing."""

    def move(text: str) -> str:
        header, *lines = [line.split(",") for line in text.splitlines()]
        moved = [[*line[:column], str(int(line[column] or 0) + 1_000_000), *line[column + 1 :]] for line in lines]
        return "".join(",".join(line) + "\n" for line in [header, *moved])

    edit(raw / f"{table}.csv", move)
    refused(raw, rf"none of the \d+ rows of {table}\.csv belongs to the cohort's stays and the needed items")


@pytest.mark.parametrize("table", ["PATIENTS", "OUTPUTEVENTS", "CHARTEVENTS"])
def test_doubled_table(raw: Path, table: str) -> None:
    """As `cat a a`, header and all; invented tables have no row count to tell by."""
    edit(raw / f"{table}.csv", lambda text: text + text.split("\n", 1)[1])
    refused(raw, rf"{table}\.csv holds rows with the same ROW_ID: it was joined or loaded twice; download it again")


def test_doubled_gzip_with_both_headers(raw: Path) -> None:
    path = raw / "LABEVENTS.csv"
    (raw / "LABEVENTS.csv.gz").write_bytes(2 * gzip.compress(path.read_bytes()))
    path.unlink()
    refused(raw, r"LABEVENTS\.csv\.gz holds rows with the same ROW_ID")


def test_a_table_without_row_ids_is_welcome(raw: Path) -> None:
    for path in raw.glob("*.csv"):
        edit(path, lambda text: "".join(line.split(",", 1)[1] + "\n" for line in text.splitlines()))
    build(raw, raw.parent / "out")


def test_line_ends_of_old_macintoshes(raw: Path) -> None:
    path = raw / "OUTPUTEVENTS.csv"
    path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r"))
    refused(
        raw, r"OUTPUTEVENTS\.csv ends its lines with CR alone, as old Macintosh programs do; use the file as downloaded"
    )


def test_folder_that_cannot_be_written(raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("in the way")
    assert main(["mimic", "build", "--raw", str(raw), "--out", str(tmp_path / "file" / "out")]) == 1
    error = capsys.readouterr().err
    assert error == f"mimic: {tmp_path / 'file'}: File exists; a file is where a folder is wanted; check the path\n"


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


def test_mimic_iv(raw: Path) -> None:
    edit(raw / "PATIENTS.csv", lambda text: text.replace("DOB", "anchor_age", 1))
    refused(raw, r"holds MIMIC-IV; the paper's data sets are built from MIMIC-III v1\.4")


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
        ({"origin": "birth"}, r"origin must be one of intime, admittime; got 'birth'"),
        ({"seq_features": 15}, r"seq_features must be one of raw15, processed12; got 15"),
        ({"threads": 0}, r"threads must be positive; got 0"),
    ],
)
def test_options_are_checked(option: dict[str, object], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        MimicOptions(**option)  # type: ignore[arg-type]
