"""Second stage: one pass over each event table, keeping the needed columns of the cohort's needed items."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.data.files import replacing
from benchmarks.data.mimic3.options import MimicOptions
from benchmarks.data.mimic3.progress import Progress
from benchmarks.data.mimic3.reader import Keep, read
from benchmarks.data.mimic3.tables import RawTable, check_rows, facts, open_tables

TABLES = ("SERVICES", "DIAGNOSES_ICD", "PROCEDUREEVENTS_MV", "OUTPUTEVENTS", "LABEVENTS", "CHARTEVENTS")
_RAW_ROWS = b"raw_rows"  # rows of the raw table, in the Parquet file's metadata


def build_events(raw: Path, out: Path, name: str, options: MimicOptions) -> None:
    """Write events/<table>.parquet from one raw table and the cohort of the first stage."""
    if name not in TABLES:
        raise ValueError(f"no event table {name!r}; choose among {', '.join(TABLES)}")
    table = open_tables(raw)[name]
    mark = json.loads((out / "cohort.json").read_text(encoding="utf-8"))["mark"]
    with replacing(out / "events" / f"{name.lower()}.parquet") as part:
        rows = extract(table, wanted_ids(table, out / "icustays.parquet"), part, options)
        check_rows(table, rows, mark, options.row_counts)


def extract(table: RawTable, keep: Keep, path: Path, options: MimicOptions) -> int:
    """Copy the wanted rows to a Parquet file, lower-case column names; how many rows the raw table has."""
    progress = Progress.over(table.path, table.name, options.progress)
    schema = pa.schema([(column.lower(), kind) for column, kind in table.types.items() if column != "ERROR"])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for batch in read(table, keep, progress):
            writer.write_table(_without_errors(batch).rename_columns(schema.names))
        writer.add_key_value_metadata({_RAW_ROWS: str(progress.rows)})
    return progress.rows


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


def _without_errors(batch: pa.Table) -> pa.Table:
    """Drop rows marked as errors (MetaVision only), but not SpO2: the source does not filter it."""
    if "ERROR" not in batch.column_names:
        return batch
    keep = pc.fill_null(pc.not_equal(batch["ERROR"], 1), True)
    for fact in facts("items"):
        if fact["signal"] == "spo2":
            keep = pc.or_(keep, pc.equal(batch["ITEMID"], int(fact["itemid"])))
    return batch.filter(keep).drop_columns("ERROR")
