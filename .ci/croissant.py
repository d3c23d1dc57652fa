"""results/croissant.json: the tables of trials as a data set (Croissant 1.0), a look-up table of survival searches.

`make numbers` writes it by .ci/metadata.py. One record set per run that is kept; a run that is added appears by itself.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

VOCABULARY = "http://mlcommons.org/croissant/"
# Terms of Croissant's context that its format wants spelled out, https://docs.mlcommons.org/croissant.
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": VOCABULARY,
    "sc": "https://schema.org/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
TYPES = {"int64": "sc:Integer", "double": "sc:Float"}
# The columns of trials.parquet.
COLUMNS = {
    "dataset": "data set, by its name in the configuration",
    "model": "model, by its name in the configuration",
    "split": "number of the split into train, validation and test, from 1",
    "trial": "number of the trial within its split, from 0; trials of one split are a random search in this order",
    "seed": "seed of the trial: a hash of root seed, data set, model, split and trial",
    "hyper": "hyper-parameters, a JSON object",
    "score": "validation score by which the best trial is chosen, higher is better; none for models without a search",
    "valid_loss": "lowest loss on the validation part",
    "status": "ok, diverged or failed",
    "epochs": "epochs trained",
    "best_epoch": "epoch of the lowest validation loss, whose weights were kept",
    "stopped_by": "what ended the training",
    "message": "why a trial diverged or failed",
    "solver_error": "estimated error of the ODE solver",
    "seconds": "seconds by the clock",
    "cpu_seconds": "seconds of the processor",
    "peak_mb": "highest memory of the process, MB",
    "root_seed": "seed of the run",
    "data": "sha256 of the data set",
    "settings": "hash of the settings of training",
    "space": "hash of the search space",
    "code": "hash of the code that the model imports",
    "numerics": "portable (the same bits on every x86-64 processor) or native",
    "device": "kind of device",
    "split_rows": "hash of the split's row numbers",
    "identity": "hash of all that the row depends on",
    "digest": "hash of the row, which tells an edited row",
    "state": "sha256 of the saved model, if it was kept",
    "traceback": "where a failed trial failed",
    "taken_from": "run that the row was taken from; none where it was trained in this run",
}


def describe(root: Path, cff: dict[str, Any]) -> dict[str, Any]:
    """The description of every kept run's table of trials."""
    kept = [root / "results" / name / "trials.parquet" for name in ("beyond", "reference")]
    kept += sorted((root / "results" / "replications").glob("*/trials.parquet"))
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": f"{VOCABULARY}1.0",
        "name": "soden-survival-searches",
        "description": "Random searches of survival models: hyper-parameters, validation score, cost and outcome of "
        "every trial. No row of a subject: of the data sets only their hashes.",
        "version": cff["version"],
        "datePublished": str(cff["date-released"]),
        "license": f"https://spdx.org/licenses/{cff['license']}",
        "creator": [{"@type": "Organization", "name": author["name"]} for author in cff["authors"]],
        "url": cff["preferred-citation"]["url"],  # the paper's: this copy has no address
        "citeAs": cff["message"],
        "isLiveDataset": False,
        "distribution": [_file(path, root) for path in kept],
        "recordSet": [_records(path, root) for path in kept],
    }


def _file(path: Path, root: Path) -> dict[str, Any]:
    """One parquet file, by its path from this description."""
    name = path.relative_to(root / "results").as_posix()
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": f"{path.stat().st_size} B",
        "encodingFormat": "application/x-parquet",
        "sha256": sha256(path.read_bytes()).hexdigest(),
    }


def _records(path: Path, root: Path) -> dict[str, Any]:
    """Its rows, one per trial."""
    file = path.relative_to(root / "results").as_posix()
    run = path.parent.relative_to(root / "results").as_posix()
    table = pq.ParquetFile(path)
    finished = (path.parent / "conventions.csv").is_file()  # the last file of a search: scores of its chosen trials
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{run}/{column.name}",
            "name": column.name,
            "description": COLUMNS[column.name],
            "dataType": TYPES.get(str(column.type), "sc:Text"),
            "source": {"fileObject": {"@id": file}, "extract": {"column": column.name}},
        }
        for column in table.schema_arrow
    ]
    return {
        "@type": "cr:RecordSet",
        "@id": run,
        "name": run,
        "description": f"{table.metadata.num_rows} trials" + ("" if finished else " of a search that goes on"),
        "key": [{"@id": f"{run}/{name}"} for name in ("dataset", "model", "split", "trial")],
        "field": fields,
    }
