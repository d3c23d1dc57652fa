"""The v1.4 column lists, and CSV text as MIMIC-III ships it: quoted headers and texts, empty for null."""

import io
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
from isal.igzip import IGzipFile

from benchmarks.data.files import replacing

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
LEVEL = 1


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


class TableWriter:
    """One CSV file, plain or gzip, written part by part; it takes its place only if all went well."""

    def __init__(self, out: Path, table: str, compress: bool) -> None:
        self.rows, self._schema = 0, schema_of(table)
        self._path, self._compress = out / (f"{table}.csv.gz" if compress else f"{table}.csv"), compress

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            file: Any = stack.enter_context(stack.enter_context(replacing(self._path)).open("wb"))
            if self._compress:
                # isal takes a fifth of the time of zlib; a header without name and time: equal rows, equal bytes
                packed = IGzipFile("", "wb", LEVEL, file, mtime=0)  # type: ignore[no-untyped-call]
                file = stack.enter_context(packed)
                file = stack.enter_context(io.BufferedWriter(file, 1 << 20))
            options = pyarrow.csv.WriteOptions(batch_size=65536)
            self._csv = stack.enter_context(pyarrow.csv.CSVWriter(file, self._schema, write_options=options))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def write(self, part: pa.Table) -> None:
        """Append; ROW_ID runs from 1 through all parts."""
        row_id = pa.array(np.arange(self.rows + 1, self.rows + len(part) + 1))
        self._csv.write_table(part.set_column(0, "ROW_ID", row_id))
        self.rows += len(part)


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
    code = lab["metavision"].to_numpy()
    category = np.select([lab["kind"] != "panel", code > 51_100], ["Blood Gas", "Hematology"], "Chemistry")
    d_labitems = {"ITEMID": code, "LABEL": lab["label"], "FLUID": np.full(len(lab), "Blood"), "CATEGORY": category}
    return {"D_ITEMS": to_arrow("D_ITEMS", d_items), "D_LABITEMS": to_arrow("D_LABITEMS", d_labitems)}
