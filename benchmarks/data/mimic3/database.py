"""A temporary DuckDB database for the MIMIC build: open it, load the item lists, run the files of `sql/`."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.data.mimic3.options import MimicOptions
from benchmarks.data.mimic3.tables import FACTS, MimicError, facts

SQL = Path(__file__).parent / "sql"


@contextmanager
def database(options: MimicOptions, near: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A throw-away database in a temporary folder beside the output: what does not fit in memory goes to that disk."""
    near.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=near, prefix=".duckdb-") as folder:
        connection = duckdb.connect(str(Path(folder) / "work.duckdb"))
        try:
            connection.execute(f"SET memory_limit = '{options.memory_gb * 1000:.0f}MB'")
            connection.execute(f"SET threads = {options.threads}")
            connection.execute("SET preserve_insertion_order = false")
            connection.execute("SET enable_progress_bar = false")
            yield connection
        except duckdb.Error as error:
            # Most messages quote a value, which must not reach a log; full disks and memory are told as they are.
            why = str(error) if isinstance(error, duckdb.IOException | duckdb.OutOfMemoryException) else ""
            raise MimicError(
                f"DuckDB cannot compute with a value of these tables ({type(error).__name__}); "
                "look for impossible numbers or times"
                if not why
                else f"DuckDB: {why.splitlines()[0]}; raise memory_gb or free the disk at {near}"
            ) from None
        finally:
            connection.close()


def load_facts(connection: duckdb.DuckDBPyConnection) -> None:
    """Item ids, ranges and codes from the CSV files; texts stay text, as do ICD-9 codes, which may begin with zeros."""
    numbers = {"itemid": "INTEGER"} | dict.fromkeys(("low", "high"), "DOUBLE")
    numbers |= dict.fromkeys(("low_closed", "high_closed"), "BOOLEAN")
    files = {"item": "items", "text": "texts"} | {name: name for name in ("ventilation", "lab_list", "icd9")}
    for name, source in files.items():
        columns = {key: "VARCHAR" if name == "icd9" else numbers.get(key, "VARCHAR") for key in facts(source)[0]}
        dialect = "header = true, auto_detect = false, delim = ',', quote = '\"'"
        read = f"read_csv('{_quoted(FACTS / f'{source}.csv')}', {dialect}, columns = {columns})"
        connection.execute(f"CREATE TABLE {name} AS FROM {read}")


def run_sql(
    connection: duckdb.DuckDBPyConnection, name: str, parameters: Mapping[str, Any] | None = None, **texts: str
) -> None:
    """Run one of the SQL files, statement by statement; `texts` replace {names}, `parameters` are bound to $names."""
    script = (SQL / f"{name}.sql").read_text(encoding="utf-8")
    for key, text in texts.items():
        script = script.replace("{" + key + "}", text)
    for statement in duckdb.extract_statements(script):
        bound = {key: value for key, value in (parameters or {}).items() if key in statement.named_parameters}
        connection.execute(statement, bound)


def count(connection: duckdb.DuckDBPyConnection, rows: str) -> int:
    """How many rows a table has, or a condition leaves of it: count(c, "kept WHERE event")."""
    return int(connection.execute(f"SELECT count(*) FROM {rows}").fetchall()[0][0])


def write_parquet(connection: duckdb.DuckDBPyConnection, query: str, path: Path) -> None:
    """Write a query's rows in the order it gives."""
    connection.execute("SET preserve_insertion_order = true")
    connection.execute(f"COPY ({query}) TO '{_quoted(path)}' (FORMAT parquet, COMPRESSION zstd)")
    connection.execute("SET preserve_insertion_order = false")


def scan_parquet(connection: duckdb.DuckDBPyConnection, name: str, path: Path) -> None:
    """A view over a Parquet file; brackets in its path are no pattern."""
    connection.execute(f"CREATE VIEW {name} AS FROM read_parquet('{_quoted(escape(str(path)))}')")


def _quoted(path: Path | str) -> str:
    return str(path).replace("'", "''")
