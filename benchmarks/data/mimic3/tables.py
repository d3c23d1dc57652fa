"""The raw MIMIC-III tables: where they are, what they must hold, and whether they are the real thing."""

import csv
import gzip
import hashlib
import warnings
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

FACTS = Path(__file__).parent / "facts"
SYNTHETIC_MARKER = "SYNTHETIC.txt"  # written beside tables that the synthesiser made
_DEMO = "999564ff49a7973166349825027110d67b2cfe3e4e88d72618580a366cd302a6"  # of the demo's SUBJECT_IDs
ROW_ID = "ROW_ID"  # numbers the rows of each table in v1.4; read where it is there, to notice rows that come twice
_LONGEST_HEADER = 1 << 16
_SUFFIXES = (".parquet", ".csv", ".csv.gz")
_SOURCE = "MIMIC-III v1.4 (https://physionet.org/content/mimiciii/1.4/)"


class MimicError(ValueError):
    """The raw tables are not what they should be; the message never quotes a record."""


@dataclass(frozen=True)
class RawTable:
    """One table on disk, its header checked."""

    name: str
    path: Path
    header: tuple[str, ...]  # upper case, in the file's order
    types: dict[str, pa.DataType]  # of the columns that are used
    rows_v1_4: int

    @property
    def columns(self) -> list[str]:
        """The used columns."""
        return list(self.types)


def facts(name: str) -> list[dict[str, str]]:
    """The rows of one of the CSV files that hold item ids, ranges and other facts."""
    with (FACTS / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def open_tables(raw: Path) -> dict[str, RawTable]:
    """Find and check every table before any is read: existence, format, header, columns, at least one row."""
    if not raw.is_dir():
        raise MimicError(f"no folder {raw}: give the folder that holds the tables of {_SOURCE}")
    _refuse_mimic_iv(raw)
    paths = {fact["table"]: path for fact in facts("tables") if (path := find_table(raw, fact["table"]))}
    missing = [fact["table"] for fact in facts("tables") if fact["table"] not in paths]
    if missing:
        raise MimicError(
            f"{raw} lacks {len(missing)} of {len(missing) + len(paths)} tables: {', '.join(missing)} "
            f"(wanted as .csv.gz, .csv or .parquet); download them from {_SOURCE}"
        )
    return {fact["table"]: _open(paths[fact["table"]], fact) for fact in facts("tables")}


def mark_of(raw: Path, subjects: Iterable[int]) -> str:
    """What every result made from these tables must be marked with: "synthetic", "demo" or nothing.

    The demo is known by its patients, not by their number: a hundred patients of the real tables are credentialed.
    """
    if (raw / SYNTHETIC_MARKER).exists():
        return "synthetic"
    listed = ",".join(map(str, sorted(subjects)))
    return "demo" if hashlib.sha256(listed.encode()).hexdigest() == _DEMO else ""


def check_ids(table: RawTable, rows: pa.Table) -> None:
    """Each patient, admission or ICU stay has one row in its table; joins would multiply a second one."""
    key = {"PATIENTS": "SUBJECT_ID", "ADMISSIONS": "HADM_ID", "ICUSTAYS": "ICUSTAY_ID"}[table.name]
    ids = rows[key.lower()]
    for bad, what in ((ids.null_count, f"without {key}"), (len(ids) - len(ids.unique()), f"that repeat a {key}")):
        if bad:
            raise MimicError(f"{table.path.name} has rows {what}; use the file as downloaded from {_SOURCE}")


def check_rows(table: RawTable, rows: int, mark: str, action: str) -> None:
    """Compare the number of rows with v1.4's; the demo and synthetic tables have their own sizes."""
    if rows == 0:
        raise MimicError(f"{table.path.name} has a header but no rows; download it again from {_SOURCE}")
    if mark or rows == table.rows_v1_4:
        return
    message = (
        f"{table.path.name} has {rows:,} rows where v1.4 has {table.rows_v1_4:,}: another version, or an incomplete "
        f"download; get {_SOURCE}"
    )
    if action == "error":
        raise MimicError(f"{message}, or set row_counts to warn to build from these tables all the same")
    warnings.warn(message, stacklevel=2)


def find_table(raw: Path, name: str) -> Path | None:
    """The file of a table, whatever its case and format; two files of one table are an error."""
    wanted = {name.lower() + suffix for suffix in _SUFFIXES}
    files = sorted(path for path in raw.iterdir() if path.name.lower() in wanted)
    if len(files) > 1:
        raise MimicError(f"{raw} holds {' and '.join(path.name for path in files)}; keep one file of each table")
    return files[0] if files else None


def _refuse_mimic_iv(raw: Path) -> None:
    """MIMIC-IV lies in folders hosp/ and icu/, and its patients have an anchor age instead of a date of birth."""
    folders = [folder for folder in (raw, raw / "hosp") if folder.is_dir()]
    patients = [path for folder in folders if (path := find_table(folder, "PATIENTS"))]
    if any("ANCHOR_AGE" in _header(path) for path in patients):
        raise MimicError(f"{raw} holds MIMIC-IV; the paper's data sets are built from {_SOURCE}")


def _open(path: Path, fact: dict[str, str]) -> RawTable:
    header, wanted = _header(path), fact["columns"].split()
    twice = sorted(name for name, count in Counter(header).items() if count > 1)
    if twice:
        raise MimicError(f"{path.name} names a column twice: {', '.join(twice)}; headers are compared without case")
    missing = [name for name in wanted if name not in header]
    if missing:
        raise MimicError(
            f"{path.name} lacks the column{'s' * (len(missing) > 1)} {', '.join(missing)}; "
            f"it has {', '.join(header)}. Is this {_SOURCE}?"
        )
    types = {name: _type(fact["table"], name) for name in wanted}
    if ROW_ID in header:
        types[ROW_ID] = pa.int64()
    return RawTable(fact["table"], path, header, types, int(fact["rows_v1_4"]))


def _type(table: str, column: str) -> pa.DataType:
    if column.endswith("_ID") or column == "ITEMID":
        return pa.int32()
    if column.endswith("TIME") or column.startswith("DO"):  # CHARTTIME, INTIME, ...; DOB, DOD, DOD_HOSP
        return pa.timestamp("us")
    if column in ("VALUENUM", "ERROR") or (table, column) == ("OUTPUTEVENTS", "VALUE"):
        return pa.float64()
    return pa.string()


def _header(path: Path) -> tuple[str, ...]:
    """The column names; also the first sign of a file that is not a table, empty, or not UTF-8."""
    names, first = _parquet_names(path) if path.suffix == ".parquet" else _first_lines(path)
    if not names:
        raise MimicError(f"{path.name} is empty; download it again from {_SOURCE}")
    if not first:
        raise MimicError(f"{path.name} has a header but no rows; download it again from {_SOURCE}")
    return tuple(name.strip().upper() for name in names)


def _parquet_names(path: Path) -> tuple[list[str], bool]:
    try:
        return pq.read_schema(path).names, pq.read_metadata(path).num_rows > 0
    except pa.ArrowInvalid:
        raise MimicError(f"{path.name} is not a readable Parquet file; make it again") from None


def _first_lines(path: Path) -> tuple[list[str], bool]:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            lines = file.readline(_LONGEST_HEADER), file.readline(_LONGEST_HEADER)
        if b"\r" in lines[0].rstrip(b"\r\n"):
            raise MimicError(
                f"{path.name} ends its lines with CR alone, as old Macintosh programs do; use the file as downloaded"
            )
        return next(csv.reader([lines[0].decode("utf-8-sig").strip()]), []), bool(lines[1].strip())
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise MimicError(f"{path.name} is truncated or damaged gzip; download it again from {_SOURCE}") from None
    except UnicodeDecodeError:
        raise MimicError(f"{path.name} is not UTF-8; use the file as downloaded, not a re-saved one") from None
