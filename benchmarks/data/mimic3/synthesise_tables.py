"""The v1.4 column lists, and CSV text as MIMIC-III ships it: quoted headers and texts, empty for null."""

import gzip
import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv

# i whole number, f decimal, s text, t timestamp; the order is the file's order.
COLUMNS = {
    "PATIENTS": "ROW_ID:i SUBJECT_ID:i GENDER:s DOB:t DOD:t DOD_HOSP:t DOD_SSN:t EXPIRE_FLAG:i",
    "ADMISSIONS": "ROW_ID:i SUBJECT_ID:i HADM_ID:i ADMITTIME:t DISCHTIME:t DEATHTIME:t ADMISSION_TYPE:s "
    "ADMISSION_LOCATION:s DISCHARGE_LOCATION:s INSURANCE:s LANGUAGE:s RELIGION:s MARITAL_STATUS:s ETHNICITY:s "
    "EDREGTIME:t EDOUTTIME:t DIAGNOSIS:s HOSPITAL_EXPIRE_FLAG:i HAS_CHARTEVENTS_DATA:i",
    "ICUSTAYS": "ROW_ID:i SUBJECT_ID:i HADM_ID:i ICUSTAY_ID:i DBSOURCE:s FIRST_CAREUNIT:s LAST_CAREUNIT:s "
    "FIRST_WARDID:i LAST_WARDID:i INTIME:t OUTTIME:t LOS:f",
    "SERVICES": "ROW_ID:i SUBJECT_ID:i HADM_ID:i TRANSFERTIME:t PREV_SERVICE:s CURR_SERVICE:s",
    "DIAGNOSES_ICD": "ROW_ID:i SUBJECT_ID:i HADM_ID:i SEQ_NUM:i ICD9_CODE:s",
    "CHARTEVENTS": "ROW_ID:i SUBJECT_ID:i HADM_ID:i ICUSTAY_ID:i ITEMID:i CHARTTIME:t STORETIME:t CGID:i VALUE:s "
    "VALUENUM:f VALUEUOM:s WARNING:i ERROR:i RESULTSTATUS:s STOPPED:s",
    "LABEVENTS": "ROW_ID:i SUBJECT_ID:i HADM_ID:i ITEMID:i CHARTTIME:t VALUE:s VALUENUM:f VALUEUOM:s FLAG:s",
    "OUTPUTEVENTS": "ROW_ID:i SUBJECT_ID:i HADM_ID:i ICUSTAY_ID:i CHARTTIME:t ITEMID:i VALUE:f VALUEUOM:s STORETIME:t "
    "CGID:i STOPPED:s NEWBOTTLE:i ISERROR:i",
    "PROCEDUREEVENTS_MV": "ROW_ID:i SUBJECT_ID:i HADM_ID:i ICUSTAY_ID:i STARTTIME:t ENDTIME:t ITEMID:i VALUE:f "
    "VALUEUOM:s LOCATION:s LOCATIONCATEGORY:s STORETIME:t CGID:i ORDERID:i LINKORDERID:i ORDERCATEGORYNAME:s "
    "SECONDARYORDERCATEGORYNAME:s ORDERCATEGORYDESCRIPTION:s ISOPENBAG:i CONTINUEINNEXTDEPT:i CANCELREASON:i "
    "STATUSDESCRIPTION:s COMMENTS_EDITEDBY:s COMMENTS_CANCELEDBY:s COMMENTS_DATE:t",
    "D_ITEMS": "ROW_ID:i ITEMID:i LABEL:s ABBREVIATION:s DBSOURCE:s LINKSTO:s CATEGORY:s UNITNAME:s PARAM_TYPE:s "
    "CONCEPTID:i",
    "D_LABITEMS": "ROW_ID:i ITEMID:i LABEL:s FLUID:s CATEGORY:s LOINC_CODE:s",
}
TYPES = {"i": pa.int64(), "f": pa.float64(), "s": pa.string(), "t": pa.timestamp("s")}
LEVEL = 1  # the text compresses about as well as the real tables' at this level, and four times faster than at 6


def schema_of(table: str) -> pa.Schema:
    """The Arrow schema of one table."""
    return pa.schema([(name, TYPES[kind]) for name, kind in (c.split(":") for c in COLUMNS[table].split())])


def to_arrow(table: str, columns: dict[str, Any]) -> pa.Table:
    """The named columns in the table's order and types; a column not given is null, NaN and NaT are null."""
    schema = schema_of(table)
    n = len(next(iter(columns.values())))
    unknown = set(columns) - set(schema.names)
    if unknown:
        raise KeyError(f"{table} has no column {sorted(unknown)}; its columns are {schema.names}")
    arrays = [_array(columns[f.name], f.type) if f.name in columns else pa.nulls(n, f.type) for f in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values.cast(kind)
    if pa.types.is_integer(kind) and getattr(values, "dtype", None) == np.float64:
        missing = np.isnan(values)
        return pa.array(np.where(missing, 0, values).astype(np.int64), mask=np.asarray(missing))
    if pa.types.is_timestamp(kind):
        return pa.array(np.asarray(values, dtype="datetime64[s]"), type=kind)
    if pa.types.is_string(kind):
        return pa.array(np.asarray(values, dtype=object), type=kind, from_pandas=True)
    return pa.array(np.asarray(values), type=kind, from_pandas=True)


@contextmanager
def _target(path: Path, compress: bool) -> Iterator[IO[bytes]]:
    """A plain or gzip file; the gzip header holds neither name nor time, so that equal rows are equal bytes."""
    with path.with_name(path.name + (".gz" if compress else "")).open("wb") as raw:
        if not compress:
            yield raw
            return
        packed = gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=LEVEL, mtime=0)
        with packed, io.BufferedWriter(packed, 1 << 20) as buffered:
            yield buffered


def write_table(out: Path, table: str, parts: Iterable[pa.Table], compress: bool) -> int:
    """Write the parts, one after the other, as one CSV; ROW_ID runs from 1 through all of them. Returns the rows."""
    schema, rows = schema_of(table), 0
    with (
        _target(out / f"{table}.csv", compress) as file,
        pyarrow.csv.CSVWriter(file, schema, write_options=pyarrow.csv.WriteOptions(batch_size=65536)) as writer,
    ):
        for part in parts:
            row_id = pa.array(np.arange(rows + 1, rows + len(part) + 1))
            writer.write_table(part.set_column(0, "ROW_ID", row_id))
            rows += len(part)
    return rows


def dictionaries(items: pd.DataFrame) -> dict[str, pa.Table]:
    """D_ITEMS and D_LABITEMS of the items that occur (the real ones also name 12,000 that rarely do)."""
    links = {"chart": "chartevents", "output": "outputevents", "procedure": "procedureevents_mv"}
    charted = items[items["table"] != "lab"]
    sides = [
        charted.assign(itemid=charted[source], source=source).dropna(subset=["itemid"])
        for source in ("carevue", "metavision")
    ]
    d = pd.concat(sides)
    d_items = {
        "ITEMID": d["itemid"].to_numpy(),
        "LABEL": d["label"],
        "DBSOURCE": d["source"],
        "LINKSTO": d["table"].map(links),
        "UNITNAME": d["unit"].where(d["source"] == "metavision", None),
    }
    lab = items[items["table"] == "lab"]
    d_labitems = {"ITEMID": lab["metavision"].to_numpy(), "LABEL": lab["label"], "FLUID": np.full(len(lab), "Blood")}
    return {"D_ITEMS": to_arrow("D_ITEMS", d_items), "D_LABITEMS": to_arrow("D_LABITEMS", d_labitems)}
