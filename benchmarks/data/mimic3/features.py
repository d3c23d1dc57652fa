"""Third stage: the events become the 26 columns of MIMIC and the series of MIMIC-SEQ, each exclusion counted."""

import csv
import json
import warnings
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.data.files import replacing
from benchmarks.data.mimic3.checks import FILE, write_checks
from benchmarks.data.mimic3.database import count, database, load_facts, run_sql, scan_parquet, write_parquet
from benchmarks.data.mimic3.events import TABLES, raw_rows
from benchmarks.data.mimic3.folder import close
from benchmarks.data.mimic3.options import MimicOptions
from benchmarks.data.mimic3.series import build_series
from benchmarks.data.mimic3.small_cells import HIDDEN, SmallCells
from benchmarks.data.mimic3.tables import facts

COLUMNS = (
    *("age", "heartrate_max", "heartrate_min", "sysbp_max", "sysbp_min", "tempc_max", "tempc_min"),
    *("pao2fio2_vent_min", "urineoutput", "bun_min", "bun_max", "wbc_min", "wbc_max", "potassium_min", "potassium_max"),
    *("sodium_min", "sodium_max", "bicarbonate_min", "bicarbonate_max", "bilirubin_min", "bilirubin_max"),
    *("mingcs", "aids", "hem", "mets", "admissiontype"),
)
PUBLISHED_N, TOLERANCE = 35_304, 0.02
MARKER = "build.json"  # says that a build is finished, and with which options; always the last file


def build_features(out: Path, options: MimicOptions) -> None:
    """Write stays.parquet, mimic.parquet, mimic_seq.parquet, flow.csv, checks.csv and build.json from the events."""
    cohort = json.loads((out / "cohort.json").read_text(encoding="utf-8"))
    (out / MARKER).unlink(missing_ok=True)  # nothing is finished while its parts are replaced
    cohort["rows"] |= {table: raw_rows(out / "events" / f"{table.lower()}.parquet") for table in TABLES}
    with database(options, out) as connection:
        prepare(connection, out)
        run_sql(connection, "labels", options.choices())
        flow = _flow(connection, cohort["left"])
        _complain(flow, cohort["mark"])
        run_sql(connection, "features")
        with replacing(out / "stays.parquet") as part:
            write_parquet(connection, "SELECT * EXCLUDE (place) FROM kept ORDER BY place", part)
        with replacing(out / "mimic.parquet") as part:
            write_parquet(connection, mimic_query(options), part)
        with replacing(out / "mimic_seq.parquet") as part:
            observed = build_series(connection, options, part)
        with replacing(out / FILE) as part:
            write_checks(connection, part, out, cohort, flow, observed)
    with replacing(out / "flow.csv") as part:
        _write_flow(part, flow, SmallCells(not cohort["mark"]))
    with replacing(out / MARKER) as part:
        part.write_text(
            json.dumps({"mark": cohort["mark"], "options": options.choices()}, indent=1) + "\n", encoding="utf-8"
        )
    close(out, cohort["mark"])


def prepare(connection: duckdb.DuckDBPyConnection, out: Path) -> None:
    """Measurements of every kind, from the files of the two stages before."""
    load_facts(connection)
    scan_parquet(connection, "cohort", out / "cohort.parquet")
    scan_parquet(connection, "stay", out / "icustays.parquet")
    for table in TABLES:
        scan_parquet(connection, table.lower(), out / "events" / f"{table.lower()}.parquet")
    terms = facts("arterial")
    run_sql(connection, "exact")
    gases = [term["x"] for term in terms if term["x"] not in ("spo2", "chart_fio2")]
    run_sql(connection, "signals")
    run_sql(connection, "gcs")
    run_sql(
        connection,
        "gases",
        gas_columns=", ".join(f"max(e.valuenum) FILTER (i.signal = '{x}') AS {x}" for x in gases),
        # A missing x contributes coefficient * mean + shift.
        arterial="-0.02544 + 0.04598 * pao2 + "
        + " + ".join(
            "coalesce({coefficient} * {x}, {coefficient} * {mean} + {shift})".format(**term) for term in terms
        ),
    )
    run_sql(connection, "ventilation")
    run_sql(connection, "points")
    run_sql(connection, "lost")
    run_sql(connection, "quality")


def mimic_query(options: MimicOptions) -> str:
    """One row per stay, ordered by subject: ids, time, event, then the columns."""
    chosen = {column: f"{column}::DOUBLE AS {column}" for column in COLUMNS}
    if options.age_over_89 != "keep":
        chosen["age"] = f"CASE WHEN age > 89 THEN {options.age_over_89} ELSE age END::DOUBLE AS age"
    if options.admission_type == "onehot":
        chosen["admissiontype"] = ", ".join(f"(admissiontype = {i})::INT::DOUBLE AS admissiontype_{i}" for i in (1, 2))
    return (
        f"SELECT subject_id, hadm_id, icustay_id, time, event, {', '.join(chosen.values())} "
        "FROM kept JOIN feature USING (hadm_id) ORDER BY place"
    )


def _flow(connection: duckdb.DuckDBPyConnection, left: dict[str, int]) -> list[dict[str, Any]]:
    """How many admissions are left after each rule, and how many it removes."""
    counts = [left["first_admission"], left["first_admission"], left["old_enough"]]
    for n in range(1, 6):
        rules = " AND ".join(("true", "recorded", "spans", "survives", "followed")[:n])
        counts.append(count(connection, f"labelled WHERE {rules}"))
    return [
        {**rule, "left": n, "removed": before - n}
        for rule, n, before in zip(facts("flow"), counts, (counts[0], *counts), strict=False)
    ]


def _complain(flow: list[dict[str, Any]], mark: str) -> None:
    n = int(flow[-1]["left"])
    if n < 2:
        raise ValueError(f"only {n} patients pass all rules; the tables are too small to build a data set from")
    if not mark and abs(n - PUBLISHED_N) > TOLERANCE * PUBLISHED_N:
        warnings.warn(
            f"N = {n:,} leaves the published {PUBLISHED_N:,} +- {TOLERANCE:.0%}; flow.csv shows at which rule",
            stacklevel=3,
        )


def _write_flow(path: Path, flow: list[dict[str, Any]], cells: SmallCells) -> None:
    """Counts beside the published ones; steps that remove few patients cannot be told apart (small_cells.py)."""
    shown = cells.nested([row["left"] for row in flow])
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("step", "rule", "left", "removed", "published", "source"))
        for row, left, before in zip(flow, shown, (shown[0], *shown), strict=False):
            removed = HIDDEN if HIDDEN in (left, before) else row["removed"]
            writer.writerow((row["step"], row["rule"], left, removed, row["published"], row["source"]))
