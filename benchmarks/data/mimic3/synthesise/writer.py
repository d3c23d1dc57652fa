"""Write invented MIMIC-III tables, 1,000 patients at a time, so that memory does not grow with their number."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.data.mimic3.synthesise.chart import Ints, chart_rows, ventilation
from benchmarks.data.mimic3.synthesise.fluids import labs, outputs, procedures
from benchmarks.data.mimic3.synthesise.people import People, make_people, small_tables
from benchmarks.data.mimic3.synthesise.tables import COLUMNS, dictionaries, to_arrow, writing
from benchmarks.data.mimic3.tables import SYNTHETIC_MARKER, MimicError, facts, find_table

ITEMS = Path(__file__).with_name("items.csv")
MOST = 1_000_000  # patients, as in the configuration
PATIENTS = 1000  # per block: about a million rows of CHARTEVENTS before they are repeated
SLICE = 500_000  # rows held as text at a time
ROWS = {fact["table"]: int(fact["rows_v1_4"]) for fact in facts("tables")}
ROWS_PER_PATIENT = ROWS["CHARTEVENTS"] / ROWS["PATIENTS"]  # 7,109 in v1.4, several times what the needed items take
LENGTHENED = ("CHARTEVENTS", "LABEVENTS", "OUTPUTEVENTS")


def write(out: Path, patients: int, seed: int = 0, rows_chartevents: int | None = None, compress: bool = True) -> None:
    """Write the eleven tables for so many patients into `out`; equal arguments give equal bytes.

    `rows_chartevents` lengthens CHARTEVENTS to that many rows by charting the same stays more densely, and laboratory
    and output rows with it, as far as v1.4's proportions ask for it.
    """
    if not 1 <= patients <= MOST:
        raise ValueError(f"patients is {patients}; give at least 1 and at most {MOST:,}")
    _claim(out, f"Invented data: {patients} patients, seed {seed}. No row stems from a person or from MIMIC-III.\n")
    items = pd.read_csv(ITEMS)
    rng = np.random.default_rng(seed)
    who = make_people(patients, rng)
    ready = {name: to_arrow(name, columns) for name, columns in small_tables(who, rng).items()} | dictionaries(items)
    with ExitStack() as stack:
        writers = {name: stack.enter_context(writing(out, name, compress)) for name in COLUMNS}
        for name, table in ready.items():
            writers[name].write(table)
        for admissions, stays, share, rng in _blocks(who, seed):
            for name, table in _events(admissions, stays, items, rng).items():
                writer = writers[name]
                wanted = 0
                if rows_chartevents is not None and name in LENGTHENED:
                    wanted = round(rows_chartevents * ROWS[name] / ROWS["CHARTEVENTS"] * share) - writer.rows
                    if name == "CHARTEVENTS" and writer.rows + len(table) > rows_chartevents:
                        raise ValueError(
                            f"rows_chartevents is {rows_chartevents}, but these patients alone need "
                            f"{writer.rows + len(table)} rows or more; ask for more"
                        )
                for part in _lengthened(table, max(wanted, len(table)), rng):
                    writer.write(part)


def _claim(out: Path, text: str) -> None:
    """The mark comes first: an interrupted run must not leave tables that pass for real ones, nor replace real ones."""
    real = [name for name in COLUMNS if find_table(out, name)] if out.is_dir() else []
    if real and not (out / SYNTHETIC_MARKER).exists():
        raise MimicError(f"{out} holds tables that were not invented ({real[0]}, ...); give another folder")
    out.mkdir(parents=True, exist_ok=True)
    (out / SYNTHETIC_MARKER).write_text(text, encoding="utf-8")


def _blocks(who: People, seed: int) -> Iterator[tuple[pd.DataFrame, pd.DataFrame, float, np.random.Generator]]:
    """Some patients at a time, in order of SUBJECT_ID: their admissions, their stays, the share of all hours in
    intensive care up to the end of this block, and a generator of their own.
    """
    rank = np.empty(len(who.patients), dtype=np.int64)
    rank[np.argsort(who.patients["subject_id"].to_numpy())] = np.arange(len(rank))
    stays = who.stays.assign(begin=_seconds(who.stays["intime"]), end=_seconds(who.stays["outtime"]))
    a = who.admissions.assign(begin=_seconds(who.admissions["admittime"]), end=_seconds(who.admissions["dischtime"]))
    a["acute"] = who.patients["acute"].to_numpy()[a["person"]]
    in_block = [rank[table["person"]] // PATIENTS for table in (a, stays)]
    hours = np.bincount(in_block[1], stays["end"] - stays["begin"], minlength=(len(rank) - 1) // PATIENTS + 1)
    for b, share in enumerate(np.cumsum(hours) / max(hours.sum(), 1)):
        mine = [table[block == b].reset_index(drop=True) for table, block in zip((a, stays), in_block, strict=True)]
        yield mine[0], mine[1], float(share), np.random.default_rng([seed, b])


def _events(
    admissions: pd.DataFrame, stays: pd.DataFrame, items: pd.DataFrame, rng: np.random.Generator
) -> dict[str, pa.Table]:
    windows = ventilation(stays["begin"].to_numpy(), stays["end"].to_numpy(), stays["acute"].to_numpy(), rng)
    columns: dict[str, dict[str, Any]] = {
        "CHARTEVENTS": chart_rows(stays, windows, items, rng),
        "LABEVENTS": labs(admissions, stays, windows, items, rng),
        "OUTPUTEVENTS": outputs(stays, items, rng),
        "PROCEDUREEVENTS_MV": procedures(stays, windows, items, rng),
    }
    return {name: to_arrow(name, c) for name, c in columns.items()}


def _lengthened(table: pa.Table, rows: int, rng: np.random.Generator) -> Iterator[pa.Table]:
    """The table in slices, every row repeated so often that there are `rows`, some minutes later each time."""
    if rows == len(table):
        yield table
        return
    copies = np.full(len(table), rows // len(table))
    copies[: rows % len(table)] += 1
    starts = np.searchsorted(np.cumsum(copies), np.arange(0, rows, SLICE), side="right")
    for low, high in zip(starts, [*starts[1:], len(table)], strict=True):
        index = np.repeat(np.arange(low, high), copies[low:high])
        again = np.concatenate([[False], index[1:] == index[:-1]]) if index.size else np.zeros(0, dtype=bool)
        yield _later(table.take(pa.array(index)), np.where(again, 60 * rng.integers(1, 50, index.size), 0))


def _later(table: pa.Table, seconds: Ints) -> pa.Table:
    delay = pa.array(seconds).cast(pa.duration("s"))
    for name in ("CHARTTIME", "STORETIME"):
        if name in table.column_names:
            place = table.column_names.index(name)
            table = table.set_column(place, name, pc.add(table.column(place), delay))
    return table


def _seconds(times: pd.Series) -> npt.NDArray[np.int64]:
    return np.asarray(times.to_numpy().astype("datetime64[s]").astype(np.int64))
