"""The v1.4 column lists, and CSV text as MIMIC-III ships it: quoted headers and texts, empty for null."""

import io
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

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


def to_arrow(table: str, columns: Mapping[str, Any]) -> pa.Table:
    """The named columns in the table's order and types; a column not given is null, NaN and NaT are null."""
    schema = schema_of(table)
    n = len(next(iter(columns.values())))
    unknown = set(columns) - set(schema.names)
    if unknown:
        raise KeyError(f"{table} has no column {sorted(unknown)}; its columns are {schema.names}")
    arrays = [_array(columns[f.name], f.type) if f.name in columns else pa.nulls(n, f.type) for f in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    given = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values, from_pandas=True)
    return given.cast(kind)


class TableWriter:
    """One CSV file, written part by part."""

    def __init__(self, csv: pyarrow.csv.CSVWriter) -> None:
        self.rows, self._csv = 0, csv

    def write(self, part: pa.Table) -> None:
        """Append; ROW_ID runs from 1 through all parts."""
        row_id = pa.array(np.arange(self.rows + 1, self.rows + len(part) + 1))
        self._csv.write_table(part.set_column(0, "ROW_ID", row_id))
        self.rows += len(part)


@contextmanager
def writing(out: Path, table: str, compress: bool) -> Iterator[TableWriter]:
    """A new CSV file, plain or gzip; it takes its place only if all goes well."""
    with ExitStack() as stack:
        path = out / (f"{table}.csv.gz" if compress else f"{table}.csv")
        file: Any = stack.enter_context(stack.enter_context(replacing(path)).open("wb"))
        if compress:
            # isal takes a fifth of the time of zlib; a header without name and time: equal rows, equal bytes
            file = stack.enter_context(IGzipFile("", "wb", LEVEL, file, mtime=0))  # type: ignore[no-untyped-call]
            file = stack.enter_context(io.BufferedWriter(file, 1 << 20))
        options = pyarrow.csv.WriteOptions(batch_size=65536)
        yield TableWriter(stack.enter_context(pyarrow.csv.CSVWriter(file, schema_of(table), write_options=options)))


def dictionaries(items: pd.DataFrame) -> dict[str, pa.Table]:
    """D_ITEMS and D_LABITEMS of the items that occur (the real ones also name 12,000 that rarely do)."""
    links = {"chart": "chartevents", "output": "outputevents", "procedure": "procedureevents_mv"}
    d = items[items["table"] != "lab"].melt(["table", "label", "unit"], ["carevue", "metavision"], "source", "itemid")
    d = d.dropna(subset=["itemid"])
    d_items = {
        "ITEMID": d["itemid"],
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
