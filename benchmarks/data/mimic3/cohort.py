"""First stage: who is in, from the small tables (rules 1, 3 and the ICU half of 4), and their outcomes."""

import json
from pathlib import Path

import pyarrow as pa

from benchmarks.data.files import replacing
from benchmarks.data.mimic3.database import count, database, run_sql, write_parquet
from benchmarks.data.mimic3.folder import claim, close
from benchmarks.data.mimic3.options import MimicOptions
from benchmarks.data.mimic3.progress import Progress
from benchmarks.data.mimic3.reader import once, read
from benchmarks.data.mimic3.tables import RawTable, check_ids, check_rows, mark_of, open_tables

SMALL = ("PATIENTS", "ADMISSIONS", "ICUSTAYS")


def build_cohort(raw: Path, out: Path, options: MimicOptions) -> str:
    """Write cohort.parquet (one row per admission), icustays.parquet (all their ICU stays) and cohort.json (counts).

    Returns the mark of the tables: "synthetic", "demo", or nothing for the real ones.
    """
    tables = open_tables(raw)
    claim(raw, out)
    rows = {name: _whole(tables[name], options) for name in SMALL}
    mark = mark_of(raw, rows["PATIENTS"]["subject_id"].to_pylist())
    close(out, mark)
    for name in SMALL:
        check_ids(tables[name], rows[name])
        check_rows(tables[name], rows[name].num_rows, mark, options.row_counts)
    if options.censor_without_dod_hosp and not mark:
        raise ValueError(
            "censor_without_dod_hosp is a test fixture for the demo, whose patients all die; it would falsify the "
            "outcomes of these tables, which are neither the demo nor synthetic. Leave it out"
        )
    with database(options, out) as connection:
        for name in SMALL:
            connection.register(name.lower(), rows[name])
        run_sql(connection, "cohort", {"min_age": options.min_age, "death_time": options.death_time})
        run_sql(connection, "aggregates")
        adults = dict(connection.execute("SELECT name, value FROM aggregate ORDER BY name").fetchall())
        left = {table: count(connection, table) for table in ("first_admission", "old_enough", "cohort")}
        for query, file in (
            ("FROM cohort ORDER BY subject_id", "cohort"),
            ("FROM stay ORDER BY icustay_id", "icustays"),
        ):
            with replacing(out / f"{file}.parquet") as part:
                write_parquet(connection, query, part)
    facts = {"mark": mark, "rows": {name: rows[name].num_rows for name in SMALL}, "left": left}
    facts["adults"] = adults
    with replacing(out / "cohort.json") as part:
        part.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    close(out, mark)
    return mark


def _whole(table: RawTable, options: MimicOptions) -> pa.Table:
    progress = Progress.over(table.path, table.name, options.progress)
    rows = pa.concat_tables(once(table, read(table, {}, progress)))
    return rows.rename_columns([name.lower() for name in rows.column_names])
