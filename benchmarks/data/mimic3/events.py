"""Second stage: one pass over each event table, keeping the needed columns of the cohort's needed items."""

import json
from collections.abc import Collection
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.data.files import replacing
from benchmarks.data.mimic3.folder import claim, close
from benchmarks.data.mimic3.options import MimicOptions
from benchmarks.data.mimic3.progress import Progress
from benchmarks.data.mimic3.reader import Keep, once, read
from benchmarks.data.mimic3.tables import ROW_ID, MimicError, RawTable, check_rows, facts, open_tables

TABLES = ("SERVICES", "DIAGNOSES_ICD", "PROCEDUREEVENTS_MV", "OUTPUTEVENTS", "LABEVENTS", "CHARTEVENTS")
_RAW_ROWS = b"raw_rows"  # rows of the raw table, in the Parquet file's metadata


def build_events(raw: Path, out: Path, name: str, options: MimicOptions) -> None:
    """Write events/<table>.parquet from one raw table and the cohort of the first stage."""
    if name not in TABLES:
        raise ValueError(f"no event table {name!r}; choose among {', '.join(TABLES)}")
    claim(raw, out)
    table = open_tables(raw)[name]
    mark = json.loads((out / "cohort.json").read_text(encoding="utf-8"))["mark"]
    with replacing(out / "events" / f"{name.lower()}.parquet") as part:
        rows, kept = extract(table, wanted_ids(table, out / "icustays.parquet"), part, options)
        check_rows(table, rows, mark, options.row_counts)
        # In the demo or in a small invented set it may be that nobody of the cohort was extubated.
        if not kept and not (mark and name == "PROCEDUREEVENTS_MV"):
            raise MimicError(
                f"none of the {rows:,} rows of {table.path.name} belongs to the cohort's stays and the needed items: "
                "the tables do not come from one release, or ids were changed"
            )
    close(out, mark)


def extract(table: RawTable, keep: Keep, path: Path, options: MimicOptions) -> tuple[int, int]:
    """Copy the wanted rows to a Parquet file, in lower-case columns; how many rows table and file have."""
    progress = Progress.over(table.path, table.name, options.progress)
    used = [(column.lower(), kind) for column, kind in table.types.items() if column not in ("ERROR", ROW_ID)]
    kept, times = 0, [column for column, kind in used if pa.types.is_timestamp(kind)]
    dated = bool(times)
    with pq.ParquetWriter(path, pa.schema(used), compression="zstd") as writer:
        for batch in once(table, read(table, keep, progress)):
            rows = _without_errors(batch).rename_columns([column for column, _ in used])
            writer.write_table(rows)
            kept += rows.num_rows
            dated = dated and all(_at_midnight(rows[column]) for column in times)
        writer.add_key_value_metadata({_RAW_ROWS: str(progress.rows)})
    if dated and kept > 1:
        raise MimicError(f"{table.path.name} has dates without times of day; use the file as downloaded")
    return progress.rows, kept


def wanted_ids(table: RawTable, icustays: Path) -> dict[str, Collection[int]]:
    """The ids to look for: the table's items, and the cohort's ICU stays, else its admissions."""
    key = "ICUSTAY_ID" if "ICUSTAY_ID" in table.types else "HADM_ID"
    ids = pc.unique(pq.ParquetFile(icustays).read([key.lower()]).column(0)).to_pylist()
    items = {
        int(fact["itemid"])
        for file in ("items", "ventilation", "lab_list")
        for fact in facts(file)
        if fact["table"] == table.name
    }
    return {key: ids} | ({"ITEMID": items} if "ITEMID" in table.types else {})


def raw_rows(path: Path) -> int:
    """How many rows the raw table had that this events file was made from."""
    return int(pq.read_metadata(path).metadata[_RAW_ROWS])


def _at_midnight(times: pa.ChunkedArray) -> bool:
    return bool(pc.all(pc.equal(times, pc.floor_temporal(times, unit="day"))).as_py() is not False)


def _without_errors(batch: pa.Table) -> pa.Table:
    """Drop rows marked as errors (MetaVision only), but not SpO2: the source does not filter it."""
    if "ERROR" not in batch.column_names:
        return batch
    keep = pc.fill_null(pc.not_equal(batch["ERROR"], 1), True)
    for fact in facts("items"):
        if fact["signal"] == "spo2":
            keep = pc.or_(keep, pc.equal(batch["ITEMID"], int(fact["itemid"])))
    return batch.filter(keep).drop_columns("ERROR")
